package linalg

import (
	"math/rand/v2"
	"testing"
)

// Refinement ends with the best solution that it has seen, whatever its solves are worth, and says what that leaves.
func TestRefinementKeepsTheBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 10))
	var f Refinement
	worse := 0
	for range 300 {
		n := 1 + rng.IntN(8)
		d, b, x := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range d {
			d[i], b[i], x[i] = 1+rng.Float64(), rng.NormFloat64(), rng.NormFloat64()
		}
		residual := func(r, x []float64) {
			for i := range r {
				r[i] = b[i] - d[i]*x[i]
			}
		}
		// Solves that are off by a factor: above 2 they lead away.
		off := 3 * rng.Float64()
		least, r := 0.0, make([]float64, n)
		residual(r, x)
		least = NormInf(r)
		before := least
		left := f.Refine(x, func(r, b []float64) {
			for i := range r {
				r[i] = off * b[i] / d[i]
			}
		}, func(r, x []float64) {
			residual(r, x)
			least = min(least, NormInf(r))
		}, 1+rng.IntN(6), 1e-12)
		residual(r, x)
		if NormInf(r) != left || left != least {
			t.Errorf("off by %g: %g is left, %g said, %g seen", off, NormInf(r), left, least)
		}
		if off > 2 {
			worse++
			if left != before {
				t.Errorf("off by %g: %g is left of %g", off, left, before)
			}
		} else if off > 0.6 && off < 1.4 && !(left < before/2) {
			t.Errorf("off by %g: %g is left of %g", off, left, before)
		}
	}
	if worse < 50 {
		t.Errorf("only %d led away", worse)
	}
}
