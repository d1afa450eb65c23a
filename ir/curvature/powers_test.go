package curvature

import (
	"math"
	"testing"

	"bilevelc/ir/data"
	"bilevelc/ir/expr"
)

// TestPowersOfOneBase: one number with several exponents has to be in the domain of each of them,
// in whatever order they stand: u^-2 curves upwards on both sides of its pole, across which it is
// not convex, and u^1.5 has no value below 0.
func TestPowersOfOneBase(t *testing.T) {
	for _, c := range []struct {
		exponents []float64
		lo, hi    float64
		smooth    Outcome
		convex    bool
	}{
		{[]float64{2, 4}, -1, 1, proved, true},
		{[]float64{2, -2}, -1, 1, unknown, false},
		{[]float64{-2, 2}, -1, 1, unknown, false},
		{[]float64{2, -2}, 0.5, 1, proved, true},
		{[]float64{2, 1.5}, -1, 1, unknown, false},
		{[]float64{1.5, 2}, -1, 1, unknown, false},
		{[]float64{2, 1.5}, 0.5, 1, proved, true},
	} {
		b := expr.NewBuilder()
		y := b.Var("y", true, 0, expr.ScalarShape(), noSpan)
		powers := b.Binary(expr.Pow, y, b.Const("p", data.Vector(c.exponents), noSpan), noSpan)
		root := b.Reduce(expr.Sum, powers, noSpan)
		dom := domain{y: []Interval{{c.lo, c.hi}}}
		s := newStudy(b, root, expr.DependsY, dom, &budget{left: 1e9})
		if _, outcome := s.obstacle(powers); outcome != c.smooth {
			t.Errorf("%v over [%v, %v]: smooth %v", c.exponents, c.lo, c.hi, outcome)
		}
		terms := s.differentiate(false).terms
		least := s.below(terms, false).least(s.work, effort{}).bound
		if convex := s.escapeOf() == nil && least > 0 && !math.IsInf(least, 0); convex != c.convex {
			t.Errorf("%v over [%v, %v]: convex %v, least second derivative %v", c.exponents, c.lo, c.hi, convex, least)
		}
	}
}
