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

// TestResultsWithoutAPoint: that linear constraints of both levels contradict each other is verified from the model alone, and
// not believed of others. Rows hold at a drawn point by a margin; two more leave no point where their sides cross.
func TestResultsWithoutAPoint(t *testing.T) {
	verified, refused := 0, 0
	for k := range members.Seeds(t, 60) {
		rng := rand.New(rand.NewPCG(k, 513))
		dx, dy := 2+rng.IntN(3), 1+rng.IntN(3)      // bounds that cross are refused before there is a result
		none, side := rng.IntN(2) == 0, rng.IntN(2) // of which level the contradiction is
		point := func(n int) []float64 {
			z := make([]float64, n)
			for j := range z {
				z[j] = rng.Float64()
			}
			return z
		}
		x, y := point(dx), point(dy)
		row := func(withY bool) (string, float64) {
			var terms []string
			at := 0.0
			for j := range x {
				a := rng.NormFloat64()
				terms, at = append(terms, fmt.Sprintf("%.17g * x[%d]", a, j+1)), at+a*x[j]
			}
			for j := range y {
				if a := rng.NormFloat64(); withY {
					terms, at = append(terms, fmt.Sprintf("%.17g * y[%d]", a, j+1)), at+a*y[j]
				}
			}
			return strings.Join(terms, " + "), at
		}
		levels := [2]string{}
		for level := range levels {
			for range rng.IntN(3) {
				r, at := row(level == 1)
				levels[level] += fmt.Sprintf("    %s <= %.17g\n", r, at+rng.Float64())
			}
			if r, at := row(level == 1); level == side {
				gap := 0.01 + rng.Float64()
				if none {
					gap = -gap
				}
				levels[level] += fmt.Sprintf("    %s <= %.17g\n    %s >= %.17g\n", r, at+0.5*gap, r, at-0.5*gap)
			}
			if levels[level] != "" {
				levels[level] = "  subject to\n" + levels[level]
			}
		}
		p := bindText(t, fmt.Sprintf("model none\nupper {\n  var x: vector[%d] in box(0, 1)\n  minimize sumsq(x) + sum(y)\n%s}\nlower {\n  var y: vector[%d]\n  minimize sumsq(y - 0.5)\n%s}\n",
			dx, levels[0], dy, levels[1]))
		r, err := p.Solve(t.Context(), runtime.Options{})
		if err != nil || r.HasPoint() == none {
			t.Errorf("member %d: %v, %v without a point is %v", k, err, r.Status, none)
			continue
		}
		if !none {
			r.NoPoint()
			r.Status = runtime.Infeasible
		}
		report, err := p.Verify(r)
		if passes := err == nil && report.OK(); passes != none {
			t.Errorf("member %d: passes is %v, %v", k, passes, err)
		} else if passes {
			verified++
			number := *r
			number.Upper.Objective = 1
			if report, err := p.Verify(&number); err != nil || report.OK() {
				t.Errorf("member %d: an F without a point passes, %v", k, err)
			}
		} else {
			refused++
			bounded := *r
			bounded.Global = &runtime.Global{Bound: runtime.Number(math.Inf(1))}
			_, other := p.Verify(&bounded)
			if hint := "--proof"; err == nil || other == nil || strings.Contains(err.Error(), hint) || !strings.Contains(other.Error(), hint) {
				t.Errorf("member %d: %v; of a search for the global optimum: %v", k, err, other)
			}
		}
	}
	if least := members.Count(60) / 6; verified < least || refused < least {
		t.Errorf("%d verified, %d refused", verified, refused)
	}
}
