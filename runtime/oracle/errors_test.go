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
