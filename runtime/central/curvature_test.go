package central

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/runtime/linalg"
)

// Products with the second derivative are the differences of gradients.
func TestSecondDerivative(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for k := range 40 {
		p, x := random(rng, k%2 == 1)
		c := New(p, nil)
		c.Begin(make([]float64, p.Dy), barrier(rng, p, k))
		for _, mu := range []float64{3, 1e-2, 1e-3} {
			grad := func(by float64, v []float64) []float64 {
				z, g := append([]float64(nil), x...), make([]float64, p.Dx)
				for j, w := range v {
					z[j] += by * w
				}
				if _, err := c.Evaluate(context.Background(), g, z, mu); err != nil {
					t.Fatalf("problem %d, mu %g: %v", k, mu, err)
				}
				return g
			}
			v := vector(rng, p.Dx)
			step := 1e-4
			ahead, behind := grad(step, v), grad(-step, v)
			grad(0, v)
			product := make([]float64, p.Dx)
			c.Second(x).Apply(product, v)
			for j, h := range product {
				if d := (ahead[j] - behind[j]) / (2 * step); math.Abs(d-h) > 1e-3*(linalg.Norm(product)+1e-3) {
					t.Errorf("problem %d, mu %g: entry %d is %g, differences %g", k, mu, j, h, d)
				}
			}
		}
	}
}
