package certify

import (
	"math"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime/problem"
)

// A constraint of a single entry of x leaves it what is between its roots, and no less: of roots that are known, whatever the sign of an equation.
func TestConstraintsOfSingleEntries(t *testing.T) {
	rng := members.Rand(t, 11)
	for k := range 200 {
		r, s := float64(rng.IntN(65)-32)/8, float64(rng.IntN(65)-32)/8
		a, kind := float64(1+rng.IntN(5)), problem.AtMost
		if rng.IntN(2) == 0 {
			kind = problem.Equal
			if rng.IntN(2) == 0 {
				a = -a
			}
		}
		o := newTreeObjective(1)
		o.addQ(0, 0, num(2*a))
		o.addC(0, num(-a*(r+s)))
		o.konst = point(a * r * s)
		model := &treeModel{nx: 1, p: &problem.Problem{X: &problem.Set{}, Coupled: &problem.Coupled{Kind: []problem.Kind{kind}}}, constraints: []*treeObjective{o}}
		model.alone()
		lo, hi := model.boxOfX(0)
		lower, upper := math.Min(r, s), math.Max(r, s)
		if near := 0x1p-40 + 0x1p-22*(upper-lower); lo > lower || hi < upper || lo < lower-near || hi > upper+near {
			t.Errorf("case %d: %g times (x - %g)(x - %g): between %.17g and %.17g", k, a, r, s, lo, hi)
		}
	}
	o := newTreeObjective(1) // -(x^2 - 1) <= 0 leaves what is outside
	o.addQ(0, 0, num(-2))
	o.konst = point(1)
	model := &treeModel{nx: 1, p: &problem.Problem{X: &problem.Set{}, Coupled: &problem.Coupled{Kind: []problem.Kind{problem.AtMost}}}, constraints: []*treeObjective{o}}
	if model.alone(); len(model.between) > 0 {
		t.Errorf("a concave constraint bounds %v", model.between)
	}
}
