package problem

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/sparse"
)

// Multipliers of rows that do not depend on each other are told by their forces; of others what makes no force is left out, however long it is, and the forces stay.
func TestShortestMultipliers(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 7))
		n := 2 + rng.IntN(6)
		rows := 1 + rng.IntN(n)
		b := make([]float64, (rows+1)*n)
		for k := range rows * n {
			b[k] = rng.NormFloat64()
		}
		combination, lambda := make([]float64, rows), make([]float64, rows+1) // the last row is one of the others
		for i := range rows {
			combination[i], lambda[i] = rng.NormFloat64(), rng.NormFloat64()
			for j := range n {
				b[rows*n+j] += combination[i] * b[i*n+j]
			}
		}
		r := &Rows{B: sparse.FromDense(rows+1, n, b)}
		for i, got := range r.Shortest(lambda) {
			if math.Abs(got-lambda[i]) > 1e-6 {
				t.Errorf("seed %d: multiplier %d is %g, and not %g", seed, i, got, lambda[i])
			}
		}
		long := math.Pow(10, 6*rng.Float64())
		open := append([]float64{}, lambda...)
		for i, c := range combination {
			open[i] += long * c
		}
		open[rows] = -long
		short, before, after, size := r.Shortest(open), make([]float64, n), make([]float64, n), 0.0
		r.B.AddMulVecT(before, 1, lambda)
		r.B.AddMulVecT(after, 1, short)
		most := 0.0
		for i, v := range short {
			_, vals := r.B.Row(i)
			length := 0.0
			for _, u := range vals {
				length = math.Hypot(length, u)
			}
			size, most = math.Hypot(size, v*length), math.Hypot(most, lambda[i]*length)
		}
		for j := range before { // to a part in 1e13 of what cancels in them
			if math.Abs(before[j]-after[j]) > 1e-6*math.Max(1, most) {
				t.Errorf("seed %d: force %d is %g, and not %g", seed, j, after[j], before[j])
			}
		}
		if size > most*(1+1e-6) {
			t.Errorf("seed %d: a length of %g, where %g does", seed, size, most)
		}
	}
}
