package problem

import (
	"math"
	"testing"

	"bilevelc/internal/sparse"
)

// bilinear is x y, both of length 1.
type bilinear struct{}

func (bilinear) Value(x, y []float64) float64           { return x[0] * y[0] }
func (bilinear) GradX(dst, x, y []float64)              { dst[0] = y[0] }
func (bilinear) GradY(dst, x, y []float64)              { dst[0] = x[0] }
func (bilinear) ValueGradY(dst, x, y []float64) float64 { dst[0] = x[0]; return x[0] * y[0] }
func (bilinear) ValueGrad(dx, dy, x, y []float64) float64 {
	dx[0], dy[0] = y[0], x[0]
	return x[0] * y[0]
}
func (bilinear) Clone() Function { return bilinear{} }

func sample() *Problem {
	inf := math.Inf(1)
	return &Problem{Name: "sample", Dx: 1, Dy: 1, F: bilinear{}, G: bilinear{},
		Rows: &Rows{Kind: []Kind{Equal, AtMost}, A: sparse.FromDense(2, 1, []float64{1, 0}),
			B: sparse.FromDense(2, 1, []float64{2, -3}), Rhs: []float64{1, 2}, Name: []string{"", "cap"}},
		X: &Set{Lo: []float64{-inf}, Hi: []float64{inf}}}
}

func TestCallsAreCounted(t *testing.T) {
	p := sample().Counted()
	x, y, d := []float64{2}, []float64{3}, []float64{0}
	p.F.Value(x, y)
	p.F.GradX(d, x, y)
	p.F.GradY(d, x, y)
	p.G.ValueGradY(d, x, y)
	before := p.Calls()
	if before != (Calls{F: 1, GradF: 2, G: 1, GradG: 1}) {
		t.Errorf("calls %+v", before)
	}
	q := p.Clone()
	if v := q.G.ValueGrad(d, d, x, y); v != 6 {
		t.Errorf("a counted clone gives %v", v)
	}
	q.G.Clone().Value(x, y)
	if got := p.Calls().Sub(before); got != (Calls{G: 2, GradG: 1}) {
		t.Errorf("calls of clones %+v", got)
	}
	if got := q.Counted().Calls(); got != (Calls{G: 2, GradG: 1}) {
		t.Errorf("a clone counts %+v, counting again must not start over", got)
	}
	if got := (Calls{1, 2, 3, 4}).Add(Calls{1, 1, 1, 1}); got != (Calls{2, 3, 4, 5}) {
		t.Errorf("sum %+v", got)
	}
}

func TestRows(t *testing.T) {
	p := sample()
	h := make([]float64, 2)
	p.Rows.Residual(h, []float64{5}, []float64{7}) // 5 - 14 - 1, 21 - 2
	if h[0] != -10 || h[1] != 19 {
		t.Errorf("h = %v", h)
	}
	if j, c := p.Rows.Bound(1); j != 0 || c != -3 {
		t.Errorf("bound %d, %v", j, c)
	}
	if p.Rows.RowName(0) != "row 0" || !p.HasInequalities() {
		t.Errorf("name %q", p.Rows.RowName(0))
	}
}
