package certify

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/members"
)

// Normal equations of vectors that are far from dependent have the weights that a sum of them was made with; those of vectors that nearly depend on each other are not solved.
func TestNormalEquations(t *testing.T) {
	rng := members.Rand(t, 10)
	for range members.Of(50, 500) {
		n, m := 60+rng.IntN(40), 2+rng.IntN(10)
		vectors := make([][]float64, m+1)
		draw := func() []float64 {
			v := make([]float64, n)
			for i := range v {
				v[i] = rng.NormFloat64()
			}
			floats.Scale(1/floats.Norm(v, 2), v)
			return v
		}
		for k := range vectors {
			vectors[k] = draw()
		}
		// The last is the first one, turned by less than the root of what a condition may be.
		turn := math.Pow(10, -4.5-2*rng.Float64())
		vectors[m] = append([]float64(nil), vectors[0]...)
		floats.AddScaled(vectors[m], turn, draw())
		floats.Scale(1/floats.Norm(vectors[m], 2), vectors[m])
		of, weights, target := make([]int, m), make([]float64, m), make([]float64, n)
		for k := range of {
			of[k], weights[k] = k, rng.NormFloat64()
			floats.AddScaled(target, weights[k], vectors[k])
		}
		e := &normalEquations{vectors: vectors}
		got := e.solve(of, target)
		if len(got) != m || !floats.EqualApprox(got, weights, 1e-12*floats.Norm(weights, 1)) {
			t.Errorf("weights %v, not %v", got, weights)
		}
		if got := e.solve(append(of, m), target); got != nil {
			t.Errorf("two vectors apart by %g have the weights %v", turn, got)
		}
	}
}
