package linalg

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestKept: of two directions at an angle a, the second keeps the square of its sine beside the first, in any units; of
// a singular matrix nothing is kept but rounding.
func TestKept(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		u, v := math.Exp(10*rng.NormFloat64()), math.Exp(10*rng.NormFloat64())
		sine := math.Exp(-8 * rng.Float64())
		cosine := math.Sqrt(1 - sine*sine)
		h := []float64{u * u, u * v * cosine, u * v * cosine, v * v}
		c, ok := NewCholesky(2, append([]float64(nil), h...))
		if !ok {
			t.Fatal("not definite")
		}
		if kept := c.Kept(func(i int) float64 { return h[3*i] }); math.Abs(kept-sine*sine) > 1e-14 {
			t.Errorf("%g of a direction at a sine of %g", kept, sine)
		}
	}
	n := 6
	h := make([]float64, n*n)
	for range n - 1 {
		v := make([]float64, n)
		for j := range v {
			v[j] = rng.NormFloat64()
		}
		for i := range n {
			for j := range n {
				h[i*n+j] += v[i] * v[j]
			}
		}
	}
	if c, ok := NewCholesky(n, append([]float64(nil), h...)); ok {
		if kept := c.Kept(func(i int) float64 { return h[i*(n+1)] }); kept > 1e-12 {
			t.Errorf("a singular matrix keeps %g", kept)
		}
	}
}
