package relaxation

import (
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// unit is the median of |A_i| / |B_i| over the rows that involve both x and y; 1
// where there are none. It goes with the units of x and y and not with those of rows.
func unit(rows *problem.Rows) float64 {
	var ratios []float64
	for i := range rows.Kind {
		_, a := rows.A.Row(i)
		_, b := rows.B.Row(i)
		if u, v := linalg.Norm(a), linalg.Norm(b); u > 0 && v > 0 {
			ratios = append(ratios, u/v)
		}
	}
	if len(ratios) == 0 {
		return 1
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}
