package certify

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// TestRoundingOfLargeForces: where forces of 2^k that cancel are rounded to more of y than Newton's method asks
// for, its steps are rounding in the end, and y*(x) is found: y = (1/3, 5/6, 0) here.
func TestRoundingOfLargeForces(t *testing.T) {
	rng := rand.New(rand.NewPCG(72, 1))
	for trial := range 300 {
		k := math.Ldexp(1, 20+trial%13)
		inf := math.Inf(1)
		p := &problem.Problem{Name: "large", Dx: 1, Dy: 3, F: formula(func(dx, dy, x, y []float64) float64 {
			dx[0] = 1
			clear(dy)
			return x[0]
		}), G: formula(func(dx, dy, x, y []float64) float64 {
			dx[0] = -2 * y[0]
			dy[0], dy[1], dy[2] = y[0]+k-2*(x[0]-1), 2*y[1]-k-1, 3*y[2]
			return 0.5*y[0]*y[0] + k*y[0] - 2*(x[0]-1)*y[0] + y[1]*y[1] - (k+1)*y[1] + 1.5*y[2]*y[2]
		}), Rows: &problem.Rows{Kind: []problem.Kind{problem.Equal, problem.AtMost, problem.AtMost, problem.AtMost}, Rhs: []float64{0.5, 0, 0, 0},
			A: sparse.FromEntries(4, 1, nil), B: sparse.FromDense(4, 3, []float64{1, -1, -1, 1, 0, 0, 0, 1, 0, 0, 0, 1})},
			X:     &problem.Set{Lo: []float64{-inf}, Hi: []float64{inf}, E: sparse.FromEntries(0, 1, nil)},
			Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true}}
		off := 1e-8 * rng.NormFloat64()
		x, y := []float64{1.5}, []float64{1./3 + off, 5./6 + off, 0}
		d := newDeriver(p, x, y, []float64{-k, 0, 0, k})
		at, err := d.lower(x, y, []int{0, 3})
		if err != nil {
			t.Errorf("forces of %v, from %v: %v", k, y, err)
			continue
		}
		for j, v := range []float64{1. / 3, 5. / 6, 0} {
			if math.Abs(at.y[j]-v) > 16*k*0x1p-52 {
				t.Errorf("forces of %v: y_%d is %v, truly %v", k, j, at.y[j], v)
			}
		}
	}
}
