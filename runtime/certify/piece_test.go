package certify

import (
	"math"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// TestThinPieces: with y = max(-x, 0, x - eps) the row y >= 0 alone holds y between 0 and eps. Where that is wide, F = y
// has a gradient of 0 at x = 0, beside that of -1; where it is thinner than any way in leads, only the latter.
func TestThinPieces(t *testing.T) {
	const radius = 1e-3
	for _, c := range []struct {
		eps  float64
		want float64
	}{{radius, 0}, {1e-2 * radius, 0}, {1e-6 * radius, -1}} {
		inf := math.Inf(1)
		p := &problem.Problem{Name: "thin", Dx: 1, Dy: 1,
			F: formula(func(dx, dy, x, y []float64) float64 { dx[0], dy[0] = 0, 1; return y[0] }),
			G: formula(func(dx, dy, x, y []float64) float64 { dx[0], dy[0] = 0, y[0]+1; return (y[0] + 1) * (y[0] + 1) / 2 }),
			Rows: &problem.Rows{Kind: make([]problem.Kind, 3), Rhs: []float64{0, 0, c.eps},
				A: sparse.FromDense(3, 1, []float64{-1, 0, 1}), B: sparse.FromDense(3, 1, []float64{1, 1, 1})},
			X:     &problem.Set{Lo: []float64{-inf}, Hi: []float64{inf}, E: sparse.FromEntries(0, 1, nil)},
			Start: []float64{1}, Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true}}
		d := newDeriver(p, []float64{0}, []float64{0}, []float64{0, 1, 0})
		_, found, err := d.gradientNear([]float64{0}, []float64{0}, [][]int{{1}}, []float64{0}, 1e-6, radius)
		if err != nil || math.Abs(found[0]-c.want) > 1e-6 {
			t.Errorf("eps %g: gradient %v (%v), not %v", c.eps, found, err, c.want)
		}
	}
}
