package paper

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/method"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/status"
)

// However far from 0 a box is, pgd says that it is solved only where F falls, to first order, by no
// more over the box than its target allows: by m (s + D) for a mapping m with steps of up to s and
// a diameter D. The minimum of a separable quadratic over a box is known.
func TestProjectedGradientWhereverXIs(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 11))
	solved := 0
	for trial := range 300 {
		n := 1 + rng.IntN(3)
		unit, away := math.Pow(10, float64(rng.IntN(9)-4)), math.Pow(10, float64(rng.IntN(11)))
		a, to, start := make([]float64, n), make([]float64, n), make([]float64, n)
		h := &formula{n: n, box: &problem.Set{Lo: make([]float64, n), Hi: make([]float64, n)},
			value: func(x []float64) float64 {
				s := 0.0
				for j := range x {
					s += a[j] / 2 * (x[j] - to[j]) * (x[j] - to[j])
				}
				return s
			},
			grad: func(x []float64) []float64 {
				g := make([]float64, n)
				for j := range x {
					g[j] = a[j] * (x[j] - to[j])
				}
				return g
			}}
		best, largest := make([]float64, n), 0.0
		for j := range n {
			h.box.Lo[j] = unit * away * (2*rng.Float64() - 1)
			h.box.Hi[j] = h.box.Lo[j] + unit*(0.5+rng.Float64())
			a[j] = (0.1 + rng.Float64()) / (unit * unit)
			to[j] = h.box.Lo[j] + 3*unit*rng.NormFloat64()
			start[j] = h.box.Lo[j] + (h.box.Hi[j]-h.box.Lo[j])*rng.Float64()
			best[j] = math.Max(h.box.Lo[j], math.Min(h.box.Hi[j], to[j]))
			largest = math.Hypot(largest, a[j]*math.Max(math.Abs(h.box.Lo[j]-to[j]), math.Abs(h.box.Hi[j]-to[j])))
		}
		diameter := linalg.Distance(h.box.Lo, h.box.Hi)
		for _, epsilon := range []float64{1e-8, 1e-3} {
			r := ran(t, h, "pgd", made(t, "pgd", method.Values{"epsilon": epsilon}), outer.Options{Start: start, Limits: outer.Limits{Iterations: 1000}})
			// Values of F are known to its gradient times a rounding of x.
			left, known := r.Best.F-h.value(best), largest*0x1p-50*linalg.Norm(best)
			if r.Status != status.Solved {
				continue
			}
			if solved++; left > 2*epsilon*largest*diameter+known {
				t.Errorf("trial %d, box %v to %v, epsilon %g: %v (%s), F could fall by %g of %g", trial, h.box.Lo, h.box.Hi, epsilon, r.Status, r.Reason, left, largest*diameter)
			}
		}
	}
	if solved < 500 {
		t.Errorf("%d of 600 runs are solved", solved)
	}
}
