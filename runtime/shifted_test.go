package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// shiftedModel is a random program with kinks in a box of width 1, at a distance from 0.
func shiftedModel(r *rand.Rand, away float64) string {
	n, m := 1+r.IntN(3), 1+r.IntN(3)
	number := func() float64 { return float64(r.IntN(17)-8) / 4 }
	var b strings.Builder
	fmt.Fprintf(&b, "model shifted\nupper {\n  var x: vector[%d] in box(%f, %f)\n  minimize 0", n, away, away+1)
	for j := 1; j <= n; j++ {
		fmt.Fprintf(&b, " + 0.5 * (x[%d] - %f)^2", j, away+0.25*float64(r.IntN(5)))
	}
	for i := 1; i <= m; i++ {
		fmt.Fprintf(&b, " + (%g) * y[%d]", number(), i)
	}
	fmt.Fprintf(&b, "\n}\nlower {\n  var y: vector[%d]\n  minimize 0.5 * sumsq(y)", m)
	for i := 1; i <= m; i++ {
		for j := 1; j <= n; j++ {
			fmt.Fprintf(&b, " - (%g) * y[%d] * (x[%d] - %f)", number(), i, j, away)
		}
	}
	b.WriteString("\n  subject to\n")
	for i := 1; i <= m; i++ {
		fmt.Fprintf(&b, "    y[%d] >= %g\n", i, number()/8)
	}
	b.WriteString("}\n")
	return b.String()
}

// TestShiftedSets: a program and its copy far from 0 have the same answer: X says how far pieces of F reach, and not
// how far it is from 0.
func TestShiftedSets(t *testing.T) {
	count := members.Count(40)
	others := 0 // that end at another local answer
	for trial := range members.Known(t, 40) {
		text := func(away float64) string { return shiftedModel(rand.New(rand.NewPCG(trial, 905)), away) }
		here := solveText(t, text(0), runtime.Options{Seed: 1})
		for _, away := range []float64{1e3, 1e6} {
			there := solveText(t, text(away), runtime.Options{Seed: 1})
			// x is known to a rounding, F to what it changes by over that.
			off := math.Abs(float64(there.Upper.Objective - here.Upper.Objective))
			if off > 1e-6+100*0x1p-52*away {
				others++
			}
			if here.Status != runtime.Solved || there.Status != runtime.Solved {
				t.Errorf("trial %d: %v, F %v; at %g: %v (%s), F %v\n%s", trial, here.Status, here.Upper.Objective, away, there.Status, there.Reason, there.Upper.Objective, text(away))
			}
		}
	}
	if others > 2*members.Misses(count, 0.05) {
		t.Errorf("%d of %d have another answer", others, 2*count)
	}
}
