package bind

import (
	"math"

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

// sizes are the sums of the absolute values of the terms that the numbers of a
// form were summed from. coef is parallel to form.coef.Val; nil: nothing was
// summed, so that each is the absolute value of its number.
type sizes struct{ coef, rest []float64 }

// sized returns the matrix of the coefficients' sizes, and those of rest.
func (f *form) sized() (*sparse.CSR, []float64) {
	m := *f.coef
	m.Val = f.size.coef
	if m.Val == nil {
		m.Val = magnitudes(f.coef.Val)
	}
	rest := f.size.rest
	if rest == nil {
		rest = magnitudes(f.rest)
	}
	return &m, rest
}

// coefSize is the size of the terms of the n-th coefficient.
func (f *form) coefSize(n int) float64 {
	if f.size.coef == nil {
		return math.Abs(f.coef.Val[n])
	}
	return f.size.coef[n]
}

// restSize is the size of the terms of rest[k].
func (f *form) restSize(k int) float64 {
	if f.size.rest == nil {
		return math.Abs(f.rest[k])
	}
	return f.size.rest[k]
}

// clean makes the numbers of f that are rounding zero.
func (f *form) clean() *form {
	drop(f.coef.Val, f.size.coef)
	drop(f.rest, f.size.rest)
	return f
}

// drop zeroes the entries that are rounding. One that is not finite, or whose
// terms are not, stays.
func drop(vals, size []float64) {
	for k, s := range size {
		if math.Abs(vals[k]) <= cancelled*s && !math.IsInf(s, 0) {
			vals[k] = 0
		}
	}
}

func magnitudes(vals []float64) []float64 {
	return each.Of(vals, math.Abs)
}

// merged makes a matrix of entries as sparse.FromEntries does; sums of entries
// of one place that are rounding are zero.
func merged(rows, cols int, entries []sparse.Entry) *sparse.CSR {
	m := sparse.FromEntries(rows, cols, entries)
	if m.NNZ() == len(entries) { // nothing was summed
		return m
	}
	terms := make([]sparse.Entry, len(entries))
	for k, e := range entries {
		e.Val = math.Abs(e.Val)
		terms[k] = e
	}
	drop(m.Val, sparse.FromEntries(rows, cols, terms).Val)
	return m
}

// multiplications is how many the product a b takes: more than it has entries
// where some are sums.
func multiplications(a, b *sparse.CSR) int {
	n := 0
	for _, l := range a.Col {
		n += b.Ptr[l+1] - b.Ptr[l]
	}
	return n
}
