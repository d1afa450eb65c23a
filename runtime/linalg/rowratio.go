package linalg

import (
	"slices"

	"bilevelc/internal/sparse"
)

// RowRatio is the median of |A_i| / |B_i| over the rows where neither is 0; 1 where there are none. Of the rows of
// a lower level it goes with the units of x and y, and not with those of rows.
func RowRatio(a, b *sparse.CSR) float64 {
	var ratios []float64
	for i := range a.Rows {
		_, u := a.Row(i)
		_, v := b.Row(i)
		if p, q := Norm(u), Norm(v); p > 0 && q > 0 {
			ratios = append(ratios, p/q)
		}
	}
	if len(ratios) == 0 {
		return 1
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}
