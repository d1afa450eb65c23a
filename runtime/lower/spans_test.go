package lower

import (
	"math/rand/v2"
	"testing"

	"bilevelc/runtime/linalg"
)

// TestSpans: a row that is a combination of a face's rows is told from one that is not, and is that combination.
func TestSpans(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 514))
		n := 3 + rng.IntN(5)
		k := 1 + rng.IntN(n-2)
		var b [][]float64
		for range k {
			b = append(b, normal(rng, n))
		}
		weights, sum := normal(rng, k), make([]float64, n)
		for i, w := range weights {
			sum = linalg.Plus(sum, w, b[i])
		}
		b = append(b, sum, normal(rng, n)) // row k depends on those before it, row k + 1 does not
		poly, f := &polyhedron{}, &face{}
		poly.set(small(identity(n), make([]float64, n), b, make([]float64, len(b)), nil), nil, nil)
		f.reset(poly)
		for i := range k {
			if !f.add(i) {
				t.Fatalf("seed %d: row %d of normal entries depends on others", seed, i)
			}
		}
		got := make([]float64, len(b))
		if f.spans(k+1, got) {
			t.Errorf("seed %d: a row of normal entries is said to be a combination of %d others in %d dimensions", seed, k, n)
		}
		if !f.spans(k, got) || linalg.Distance(got[:k], weights) > 1e-8*linalg.Norm(weights) {
			t.Errorf("seed %d: the combination %v is found as %v", seed, weights, got)
		}
	}
}
