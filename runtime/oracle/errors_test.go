package oracle

import (
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// y <= x and y >= 2: no y at x < 2. The combination of both rows shows it at one x; it
// shows it everywhere only where the upper level's box ends before 2.
func TestRefuted(t *testing.T) {
	for _, c := range []struct {
		hi   float64
		kind problem.Kind
		u    []float64
		want bool
	}{
		{1, problem.AtMost, []float64{1, 1}, true},
		{2, problem.AtMost, []float64{1, 1}, false},
		{3, problem.AtMost, []float64{1, 1}, false},
		{1, problem.AtMost, []float64{-1, -1}, false},
		{1, problem.AtMost, nil, false},
	} {
		p := &problem.Problem{Dx: 1, Dy: 1,
			Rows: &problem.Rows{Kind: []problem.Kind{c.kind, c.kind}, A: sparse.FromDense(2, 1, []float64{-1, 0}),
				B: sparse.FromDense(2, 1, []float64{-1, 1}), Rhs: []float64{0, -2}},
			X: &problem.Set{Lo: []float64{-5}, Hi: []float64{c.hi}}}
		if got := refuted(p, c.u); got != c.want {
			t.Errorf("X = [-5, %g], u = %v: %v", c.hi, c.u, got)
		}
	}
}

// An x below 2 misses the plane x = 2 by the rounding of its terms, 2 and x, or by more, whatever units the rows are in and however wide X is.
func TestRoundingOfContradictions(t *testing.T) {
	for _, width := range []float64{1, 1e3, 1e13} {
		for _, unit := range []float64{1e-6, 1, 1e6} {
			p := &problem.Problem{Dx: 1, Dy: 1,
				Rows: &problem.Rows{Kind: []problem.Kind{problem.AtMost, problem.AtMost}, A: sparse.FromDense(2, 1, []float64{-unit, 0}),
					B: sparse.FromDense(2, 1, []float64{-unit, 1}), Rhs: []float64{0, -2}},
				X: &problem.Set{Lo: []float64{2 - width}, Hi: []float64{2 + width}}}
			for missed, want := range map[float64]bool{0x1p-51: true, 1e-13: false, 1e-6: false} {
				e := &InfeasibleError{X: []float64{2 - missed}, Farkas: []float64{1, unit}}
				if got := missed <= e.Rounding(p); got != want {
					t.Errorf("X 2 +- %g, unit %g: %g is rounding: %v", width, unit, missed, got)
				}
			}
		}
	}
}
