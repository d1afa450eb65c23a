package runtime

import (
	"math"
	"math/big"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// An answer that is a sum of terms that cancel is off by their rounding, however small it is itself and whatever units its row is in, and F by what it makes of that: as much is granted to documents, and not more for rows that have room.
func TestRoundingOfAnswers(t *testing.T) {
	rng := members.Rand(t, 63)
	most := 0.0
	for k := range members.Of(300, 5000) {
		n, size, unit := 2+rng.IntN(5), math.Pow(10, 8*rng.Float64()), math.Ldexp(1, rng.IntN(41)-20)
		slope, room := rng.NormFloat64(), math.Pow(10, -2+4*rng.Float64())
		x, a := make([]float64, n), make([]float64, 2*n)
		sum, exact, terms := 0.0, new(big.Float).SetPrec(200), 0.0
		for j := range n {
			x[j], a[j] = size*rng.NormFloat64(), rng.NormFloat64()
			if j == n-1 {
				a[j] = -sum / x[j] // what is left of the sum is of the size of its rounding
			}
			sum += a[j] * x[j]
			exact.Add(exact, new(big.Float).SetPrec(200).Mul(big.NewFloat(a[j]), big.NewFloat(x[j])))
			terms += math.Abs(a[j] * x[j])
		}
		y := 0.0 // in another order; of the row unit (y - a'x) >= 0; of the other, y >= a'x - room, nothing is computed
		for j := n - 1; j >= 0; j-- {
			y += a[j] * x[j]
			a[n+j] = a[j]
			a[j] *= unit
		}
		p := &problem.Problem{Dx: n, Dy: 1, F: &kkttest.Quadratic{Nx: n, Ny: 1, M: make([]float64, (n+1)*(n+1)), C: append(make([]float64, n), slope)},
			Rows: &problem.Rows{Kind: make([]problem.Kind, 2), A: sparse.FromDense(2, n, a), B: sparse.FromDense(2, 1, []float64{unit, 1}), Rhs: []float64{0, size * room}}}
		c := &claims{p: &Problem{Numeric: p}}
		granted := c.roundingOfAnswers(x, []float64{y}, make([]float64, 2))
		is, _ := new(big.Float).Sub(big.NewFloat(y), exact).Float64()
		if off := math.Abs(slope * is); off > granted {
			t.Errorf("case %d: terms of %g, units of %g: F is off by %g, and %g is granted", k, terms, unit, off, granted)
		} else {
			most = max(most, off/granted)
		}
		if want := math.Abs(slope) * (terms + math.Abs(y)) * 0x1p-50; math.Abs(granted-want) > 1e-12*want {
			t.Errorf("case %d: terms of %g, units of %g: %g is granted for %g", k, terms, unit, granted, want)
		}
	}
	if most < 0.01 {
		t.Errorf("answers are off by %g of what is granted", most)
	}
}
