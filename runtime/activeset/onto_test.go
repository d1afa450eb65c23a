package activeset

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
)

// TestOntoRows: equations of small coefficients that a point with entries of 0 between its bounds solves exactly: from rounding away from it Onto leads to a point that meets each of them to the rounding of its own terms.
func TestOntoRows(t *testing.T) {
	for seed := range members.SeedsOf(t, 2000, 20000) {
		rng := rand.New(rand.NewPCG(seed, 91))
		n := 2 + rng.IntN(4)
		x, z := make([]float64, n), make([]float64, n)
		b := &Bounds{}
		for j := range x {
			if rng.IntN(2) == 0 {
				x[j] = float64(rng.IntN(9)-4) / 4
			}
			z[j] = x[j]
			if rng.IntN(2) == 0 {
				z[j] += float64(rng.IntN(9)-4) * 0x1p-53
			}
			b.Lo, b.Hi = append(b.Lo, -2), append(b.Hi, 2)
		}
		a := sparse.Empty(n)
		for range 1 + rng.IntN(n-1) {
			side := 0.0
			for j := range n {
				if v := float64(rng.IntN(9)-4) / 2; v != 0 {
					a.Append(j, v)
					side += v * x[j]
				}
			}
			a.EndRow()
			b.RowLo, b.RowHi = append(b.RowLo, side), append(b.RowHi, side)
		}
		at := b.Onto(a, z)
		for i, side := range b.RowLo {
			if off, terms := math.Abs(side-a.RowDot(i, at)), a.AddTerms(math.Abs(side), i, at); off > float64(n+1)*0x1p-53*terms {
				t.Errorf("seed %d: row %d of %v is off by %.3g of %.3g at %v, from %v", seed, i, a, off, terms, at, z)
			}
		}
	}
}
