package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/runtime"
)

// Beside a pole towards which F falls nothing is solved, whatever the measure is relative to the
// gradients there; and where F has a limit at the edge of its domain, the minimum near it is one.
func TestPoles(t *testing.T) {
	named := 0
	for seed := uint64(0); seed < 40; seed++ {
		rng := rand.New(rand.NewPCG(seed, 37))
		lo, width := math.Round(40*rng.NormFloat64())/10, math.Pow(10, float64(rng.IntN(5)-2))
		c := 1 + rng.IntN(9)
		u := fmt.Sprintf("((x[1] - (%g)) / %g)", lo, width)
		if rng.IntN(3) == 0 { // the other end
			u = fmt.Sprintf("((%g - x[1]) / %g)", lo+width, width)
		}
		falls := seed%2 == 0
		kind := rng.IntN(3)
		term := []string{"log(%s)", "(-1) / %s", "(-1) * %s^(-0.5)"}[kind]
		if !falls {
			// u log(u) + k u has its minimum at exp(-1-k).
			term = fmt.Sprintf("%%[1]s * log(%%[1]s) + %d * %%[1]s", 1+rng.IntN(12))
		}
		text := fmt.Sprintf("model pole\nupper {\nvar x: vector[2] in box([%g, -1], [%g, 1])\nminimize %d * (%s) + x[2]^2 + 0.1 * y\n}\n"+
			"lower {\nvar y: real in nonneg\nminimize 0.5 * y^2 - x[2] * y\n}\n", lo, lo+width, c, fmt.Sprintf(term, u))
		r, err := bindText(t, text).Solve(t.Context(), runtime.Options{Seed: seed, Starts: 2})
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case falls && r.Status == runtime.Solved:
			t.Errorf("seed %d: solved (%s) at F = %v\n%s", seed, r.Reason, r.Upper.Objective, text)
		case !falls && r.Status != runtime.Solved:
			t.Errorf("seed %d: %s (%s)\n%s", seed, r.Status, r.Reason, text)
		case falls && strings.Contains(r.Reason, "F falls without a limit"):
			named++
		}
	}
	if named < 15 {
		t.Errorf("the pole was named in %d of 20 models", named)
	}
}
