package lower

import (
	"context"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// Rows that read x alone are no rows of a face: they are not among those that depend on others,
// whichever solver lists them, so that faces may be compared by those.
func TestRowsOnXAloneAreOfNoFace(t *testing.T) {
	p := &problem.Problem{Dx: 1, Dy: 2, G: bowl{},
		Rows: &problem.Rows{Kind: []problem.Kind{problem.AtMost, problem.Equal, problem.AtMost},
			A: sparse.FromDense(3, 1, []float64{0, 2, 2}), B: sparse.FromDense(3, 2, []float64{1, 0, 0, 0, 0, 0}),
			Rhs: []float64{0, 1, 1}},
		Facts: problem.Facts{StrongConvexity: 1, Smoothness: 1, QuadraticInY: true, FixedHessian: true}}
	x := []float64{0.5}
	s := NewFaceSolver().OnFace(context.Background(), p, G(p, x), x, []int{0, 1}, nil)
	if s.Status != Solved || len(s.Dependent) != 0 {
		t.Errorf("%v, dependent %v", s.Status, s.Dependent)
	}
	s = NewFaceSolver().OnFace(context.Background(), p, G(p, []float64{0.75}), []float64{0.75}, []int{0, 1}, nil)
	if s.Status != Dependent {
		t.Errorf("where the condition fails: %v", s.Status)
	}
}

// bowl is |y|^2/2.
type bowl struct{}

func (bowl) Value(_, y []float64) float64             { return (y[0]*y[0] + y[1]*y[1]) / 2 }
func (bowl) GradX(dst, _, _ []float64)                { clear(dst) }
func (bowl) GradY(dst, _, y []float64)                { copy(dst, y) }
func (b bowl) ValueGradY(dst, x, y []float64) float64 { b.GradY(dst, x, y); return b.Value(x, y) }
func (b bowl) ValueGrad(dx, dy, x, y []float64) float64 {
	clear(dx)
	return b.ValueGradY(dy, x, y)
}
func (b bowl) Clone() problem.Function { return b }
