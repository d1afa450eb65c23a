package certify

import (
	"math/rand/v2"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/tolerance"
)

// sparseCurvature is the Hessian of g in y by differences. The pattern
// is the compiler's; one product along a random direction tries it. nil where that
// differs, or where the curvature is not sparse.
func (h *hessian) sparseCurvature(pattern *sparse.CSR) *sparse.CSR {
	n := h.p.Dy
	if pattern == nil || pattern.Rows != n || pattern.Cols != n {
		return nil
	}
	colour, count := colours(pattern)
	if count > tolerance.DenseOrder {
		return nil
	}
	var entries []sparse.Entry
	h.curvature(colour, count, func(j int) []int { cols, _ := pattern.Row(j); return cols }, func(i, j int, v float64) {
		entries = append(entries, sparse.Entry{Row: i, Col: j, Val: v})
	})
	m := sparse.FromEntries(n, n, entries)
	rng := rand.New(rand.NewPCG(4, uint64(n)))
	v := each.Below(n, func(j int) float64 { return rng.NormFloat64() * h.size(j) })
	image, found := make([]float64, n), make([]float64, n)
	h.mul(image, v)
	m.MulVec(found, v)
	if !(distance(image, found) <= tolerance.Weak*norm(image)) {
		return nil
	}
	return m
}

// trySparse takes the curvature as sparse where it is, and positive definite.
func (h *hessian) trySparse(parts [][]int) bool {
	if h.sparse = h.sparseCurvature(h.p.Facts.HessianPattern); h.sparse == nil {
		return false
	}
	h.divide(parts)
	for k := range h.comps {
		if _, err := h.componentSystem(k, nil); err != nil {
			h.sparse, h.comps, h.parts = nil, nil, nil
			return false
		}
	}
	return true
}

// colours gives each column the least number that no column it shares a row with has.
func colours(pattern *sparse.CSR) (of []int, count int) {
	n := pattern.Cols
	colour, taken := slices.Repeat([]int{-1}, n), make([]int, n+1)
	for j := range n {
		rows, _ := pattern.Row(j)
		for _, i := range rows {
			cols, _ := pattern.Row(i)
			for _, k := range cols {
				if c := colour[k]; c >= 0 {
					taken[c] = j + 1
				}
			}
		}
		c := 0
		for taken[c] == j+1 {
			c++
		}
		colour[j], count = c, max(count, c+1)
		if count > tolerance.DenseOrder {
			return nil, count
		}
	}
	return colour, count
}
