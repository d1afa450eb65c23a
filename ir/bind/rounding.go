package bind

import (
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
)

// This file tells the coefficients of affine forms from the rounding of the
// terms that they were summed from: 0.1*y + 0.2*y - 0.3*y leaves 3e-17 y, and
// a row that says 3e-17 y = 0 would hold y at 0 where the model says nothing.

// cancelled is the relative size up to which a sum is what rounding has left of
// terms that cancel: four units in the last place of the sum of their
// absolute values. Summing n doubles, each rounded once from the decimals of
// the model, in any order, errs by at most n 2^-53 of that sum (Higham,
// Accuracy and Stability of Numerical Algorithms, section 4.2), and by about
// its root where errors are independent: eight times 2^-53 covers any sum of
// 8 terms and the typical one of 64. A sum that is smaller has no digit
// that the data give.
const cancelled = 4 * 0x1p-52

// coefficient is a number in a column, with the size of the terms that it was summed from:
// the sum of their absolute values.
type coefficient struct {
	col       int
	val, size float64
}

// number is a coefficient that nothing was summed up for.
func number(col int, v float64) coefficient { return coefficient{col, v, math.Abs(v)} }

// plus is the sum of two coefficients of one column.
func (c coefficient) plus(d coefficient) coefficient {
	return coefficient{c.col, c.val + d.val, c.size + d.size}.clean()
}

// clean is 0 in the place of what is rounding.
func (c coefficient) clean() coefficient {
	if rounding(c.val, c.size) {
		c.val = 0
	}
	return c
}

// rounding reports what rounding has left of terms of a size. A number that is not finite, or
// whose terms are not, is none.
func rounding(v, size float64) bool {
	return math.Abs(v) <= cancelled*size && !math.IsInf(size, 0)
}

// byColumn puts coefficients in the order of their columns.
func byColumn(list []coefficient) {
	order := func(c, d coefficient) int { return c.col - d.col }
	if !slices.IsSortedFunc(list, order) {
		slices.SortFunc(list, order)
	}
}

// merged makes a matrix of entries as sparse.FromEntries does; sums of entries
// of one place that are rounding are zero.
func merged(rows, cols int, entries []sparse.Entry) *sparse.CSR {
	m := sparse.FromEntries(rows, cols, entries)
	if m.NNZ() == len(entries) { // nothing was summed
		return m
	}
	terms := each.Of(entries, func(e sparse.Entry) sparse.Entry {
		e.Val = math.Abs(e.Val)
		return e
	})
	for k, size := range sparse.FromEntries(rows, cols, terms).Val {
		if rounding(m.Val[k], size) {
			m.Val[k] = 0
		}
	}
	return m
}
