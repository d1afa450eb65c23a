package oracle

import (
	"math"
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// angles keeps the independence of the last face, which points next to each other share. It is a function of the
// face alone, so that what is kept does not show in results.
type angles struct {
	face  []int
	value float64
}

// least is the independence of a face.
func (a *angles) least(r *problem.Rows, face []int) float64 {
	if a.face == nil || !slices.Equal(a.face, face) {
		a.face, a.value = face, independence(r, face)
	}
	return a.value
}

// sine is the least singular value of the rows of a face, each of length 1.
func (h *Hyper) sine(s *lower.Solution, face []int) float64 {
	if s.Sine > 0 && slices.Equal(s.Working, face) {
		return s.Sine
	}
	return h.angles.least(h.p.Rows, face)
}

// independence estimates the least singular value of the rows of B in a face,
// scaled to length 1: the least sine of an angle between a row and those before it,
// bounds, which are orthogonal to each other, first. Dependent rows do not count.
func independence(r *problem.Rows, face []int) float64 {
	n := r.B.Cols
	fixed, general := parts(r, face)
	if len(general)*len(general)*n > tolerance.Second/100 {
		_, least := linalg.Independent(r.B, general, func(j int) bool { return fixed[j] })
		return least
	}
	_, least := span(r, general, fixed)
	return least
}

// freedom returns |P B_i| as a function of the row i, where P projects onto the
// complement of the rows of B in a face. Rows of faces that are costly to
// orthogonalize count as free.
func freedom(r *problem.Rows, face []int) func(i int) float64 {
	n := r.B.Cols
	fixed, general := parts(r, face)
	basis := new(linalg.QR)
	if len(general)*len(general)*n <= tolerance.Second/100 {
		basis, _ = span(r, general, fixed)
	}
	v := make([]float64, n)
	return func(i int) float64 {
		clear(v)
		r.B.AddRow(v, i, 1)
		release(v, fixed)
		return basis.Split(v, nil, v)
	}
}

// parts splits a face into the entries that its bounds fix and its other rows.
func parts(r *problem.Rows, face []int) (fixed []bool, general []int) {
	fixed = make([]bool, r.B.Cols)
	for _, i := range face {
		if j, _ := r.Bound(i); j >= 0 {
			fixed[j] = true
		} else {
			general = append(general, i)
		}
	}
	return fixed, general
}

// span is an orthonormal basis of the rows of B on the entries that are not fixed, and
// the least sine of an angle between one and those before it. Dependent rows do not count.
func span(r *problem.Rows, general []int, fixed []bool) (basis *linalg.QR, least float64) {
	basis, least = new(linalg.QR), 1
	basis.Reset(r.B.Cols)
	v, coef := make([]float64, r.B.Cols), make([]float64, r.B.Cols)
	for _, i := range general {
		size := linalg.RowNorm(r.B, i)
		if size == 0 {
			continue
		}
		clear(v)
		r.B.AddRow(v, i, 1/size)
		release(v, fixed)
		if !basis.Append(v) {
			rest := basis.Split(v, coef, v)
			if rest <= tolerance.Dependence { // the lower solvers leave the row out of the face
				continue
			}
			basis.Push(coef, v, rest)
		}
		last := basis.Size() - 1
		least = math.Min(least, basis.Triangle(last)[last])
	}
	return basis, least
}

// release takes what is fixed out of v.
func release(v []float64, fixed []bool) {
	for j, held := range fixed {
		if held {
			v[j] = 0
		}
	}
}
