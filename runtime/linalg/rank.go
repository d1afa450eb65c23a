package linalg

import (
	"math"

	"bilevelc/internal/sparse"
)

// Independent sorts the given rows of b, on the columns that are not fixed and
// each scaled to unit length on all columns, by the angle with the span of those
// before it in an order of its own, from the factors of their Gram matrix. It
// returns the rows that depend on others and the least sine of the rest (1
// where there is none).
func Independent(b *sparse.CSR, rows []int, fixed func(j int) bool) (dependent []int, least float64) {
	sub := sparse.Empty(b.Cols)
	for _, i := range rows {
		cols, vals := b.Row(i)
		size := 0.0
		for _, v := range vals {
			size = math.Hypot(size, v)
		}
		for t, j := range cols {
			if vals[t] != 0 && !fixed(j) {
				sub.Append(j, vals[t]/size)
			}
		}
		sub.EndRow()
	}
	gram := sparse.Mul(sub, sub.T())
	row, col := make([]int32, 0, (gram.NNZ()+len(rows))/2), make([]int32, 0, (gram.NNZ()+len(rows))/2)
	val := make([]float64, 0, (gram.NNZ()+len(rows))/2)
	for a := range rows {
		diagonal := false
		for c, v := range gram.Entries(a) {
			if c <= a {
				row, col, val = append(row, int32(a)), append(col, int32(c)), append(val, v)
				diagonal = diagonal || c == a
			}
		}
		if !diagonal { // nothing is left of the row
			row, col, val = append(row, int32(a)), append(col, int32(a)), append(val, 0)
		}
	}
	factors := NewLDL(Analyze(len(rows), row, col), nil)
	// 1e-12 is the square of the sine of the angle between a row and the span of others from which it counts as dependent on them: products
	// of rows of unit length carry 1e-16, and the factorization divides that by the pivots before, so that angles below 1e-6 cannot be told
	// from 0 in this way.
	smallest := factors.factorSemidefinite(val, 1e-12, func(a int) { dependent = append(dependent, rows[a]) })
	return dependent, math.Min(1, math.Sqrt(smallest))
}
