package oracle

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/problem"
)

// TestWithin: an answer on another face meets the rows as a lower solution does, to 1e-7 of y and of the terms of the row, of which that in x
// and the right side may be by far the largest.
func TestWithin(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 5))
	for trial := range 300 {
		n := 1 + rng.IntN(4)
		far := math.Pow(10, float64(rng.IntN(7)))
		y, row := make([]float64, n), make([]float64, n)
		inY, terms, size, square := 0.0, 0.0, 0.0, 0.0
		var entries []sparse.Entry
		for j := range y {
			y[j], row[j] = rng.NormFloat64(), rng.NormFloat64()
			entries = append(entries, sparse.Entry{Row: 0, Col: j, Val: row[j]})
			inY += row[j] * y[j]
			terms += math.Abs(row[j] * y[j])
			size = math.Max(size, math.Abs(y[j]))
			square += row[j] * row[j]
		}
		x := far * rng.NormFloat64()
		p := &problem.Problem{Dx: 1, Dy: n, Rows: &problem.Rows{Kind: []problem.Kind{problem.AtMost}, A: sparse.FromEntries(1, 1, []sparse.Entry{{Val: 1}}),
			B: sparse.FromEntries(1, n, entries), Rhs: []float64{x - inY}}} // x - B y <= rhs holds with equality
		terms += math.Abs(x) + math.Abs(p.Rows.Rhs[0])
		h, pt := &Hyper{p: p}, &Point{X: []float64{x}, Lower: &lower.Solution{Y: y}}
		near := 1e-7 * (size*math.Sqrt(square) + terms)
		for _, share := range []float64{-1e3, 0, 0.9, 1.1, 1e3} {
			moved := make([]float64, n)
			for j := range y {
				moved[j] = y[j] - share*near*row[j]/square
			}
			if got := h.within(pt, moved); got != (share < 1) {
				t.Errorf("trial %d: %v where the row is missed by %v of what it may be, beside terms of %v", trial, got, share, terms)
			}
		}
	}
}
