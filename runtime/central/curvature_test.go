package central

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// Products with the second derivative are the differences of gradients.
func TestSecondDerivative(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for k := range 40 {
		p, x := random(rng, k%2 == 1)
		if k%3 > 0 {
			p.G.(*quadratic).bend = rng.NormFloat64()
		}
		b := barrier(rng, p, k)
		if k%5 == 4 {
			b = Barrier{}
			withoutInequalities(p)
		}
		c := New(p, nil)
		c.Begin(make([]float64, p.Dy), b)
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
			ahead, behind, far, back := grad(step, v), grad(-step, v), grad(2*step, v), grad(-2*step, v)
			grad(0, v)
			product := make([]float64, p.Dx)
			c.Second(x).Apply(product, v)
			for j, h := range product {
				if d := (8*(ahead[j]-behind[j]) - far[j] + back[j]) / (12 * step); math.Abs(d-h) > 1e-3*(linalg.Norm(product)+1e-3) {
					t.Errorf("problem %d, mu %g: entry %d is %g, differences %g", k, mu, j, h, d)
				}
			}
		}
	}
}

// withoutInequalities leaves a problem its equality row alone, so that F_mu is F whatever mu.
func withoutInequalities(p *problem.Problem) {
	var a, b []sparse.Entry
	kept := &problem.Rows{}
	for i, kind := range p.Rows.Kind {
		if kind != problem.Equal {
			continue
		}
		add := func(to *[]sparse.Entry, m *sparse.CSR) {
			cols, vals := m.Row(i)
			for t, j := range cols {
				*to = append(*to, sparse.Entry{Row: kept.Len(), Col: j, Val: vals[t]})
			}
		}
		add(&a, p.Rows.A)
		add(&b, p.Rows.B)
		kept.Kind, kept.Rhs, kept.Name = append(kept.Kind, kind), append(kept.Rhs, p.Rows.Rhs[i]), append(kept.Name, "")
	}
	kept.A, kept.B = sparse.FromEntries(kept.Len(), p.Dx, a), sparse.FromEntries(kept.Len(), p.Dy, b)
	p.Rows = kept
}
