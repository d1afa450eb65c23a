package curvature

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
)

// rankTolerance is how small a row of length 1 may become, by subtracting the
// rows before it, to count as their combination. Rounding leaves at most
// 1e-16 times the number of rows and their condition; true data that is
// independent by less than this would make multipliers meaningless.
const rankTolerance = 1e-10

// rows examines rows of a matrix for linear independence. Columns that a bound
// row stands for are left out: they are in its span.
type rows struct {
	b        *sparse.CSR
	standing []int // of each column: the bound row that stands for it, or -1; nil: none
	work     *budget
	rank     int // of the rows examined so far
}

func newRows(b *sparse.CSR, standing []int, work *budget) *rows {
	return &rows{b: b, standing: standing, work: work}
}

func (r *rows) free(j int) bool { return r.standing == nil || r.standing[j] < 0 }

// examine calls found with every row of the list that is a combination of
// those before it and of the bounds, and with what gives its coefficients,
// until found returns false: then the rest may be left out of the count. It
// reports false where the work runs out.
func (r *rows) examine(list []int, found func(i int, coefs func() map[int]float64) bool) bool {
	core := r.peel(list)
	if len(core) > smallOrder && r.independent(core) {
		r.rank += len(core)
		return true
	}
	o := newOrthogonalizer(r, core)
	for _, i := range core {
		along, ok := o.add(i)
		if !ok {
			return false
		}
		if along == nil {
			r.rank++
		} else if !found(i, func() map[int]float64 { return o.coefficients(i, along) }) {
			break
		}
	}
	return true
}

// pivotTolerance is how large the entry of a row in a column of its own must
// be, relative to the row, for the row to count as independent without a
// computation. It is so in exact arithmetic whatever the entry is; the root of
// rankTolerance leaves two such steps above it.
const pivotTolerance = 1e-5

// peel takes rows out of a list, in any order, that have an entry in a column
// which no other row has that is left: no combination of rows that gives 0
// contains them. It counts them and returns the rest, in order. The time is
// linear: chains, trees and rows with slacks of their own go at once.
func (r *rows) peel(list []int) []int {
	users := make([]int32, r.b.Cols) // rows left that have an entry in the column
	among := make([]int, r.b.Cols)   // the sum of their places in the list: of one row, its place
	visit := func(i int, do func(j int)) {
		visitRow(r.b, i, 1, func(j int, _ float64) {
			if r.free(j) {
				do(j)
			}
		})
	}
	for at, i := range list {
		visit(i, func(j int) {
			users[j]++
			among[j] += at
		})
	}
	gone := make([]bool, len(list))
	queue := each.WhereBelow(len(users), func(j int) bool { return users[j] == 1 })
	for len(queue) > 0 {
		column := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if users[column] != 1 {
			continue
		}
		at := among[column]
		pivot := math.Abs(r.b.At(list[at], column))
		if !(pivot >= pivotTolerance*r.size(list[at])) {
			continue
		}
		gone[at] = true
		r.rank++
		visit(list[at], func(j int) {
			users[j]--
			among[j] -= at
			if users[j] == 1 {
				queue = append(queue, j)
			}
		})
	}
	var core []int
	for at, i := range list {
		if !gone[at] {
			core = append(core, i)
		}
	}
	return core
}

// independent reports that no row of a list comes as near as pivotTolerance to a
// combination of the others and of the bounds, as a factorization shows: the least
// eigenvalue of the Gram matrix of the rows, each of length 1, is at most the square of
// each such distance. It is not where that is not shown, or would cost too much.
func (r *rows) independent(list []int) bool {
	o, m := newOrthogonalizer(r, list), len(list)
	trial := *r.work // what comes next has all of the work
	if m > o.width || m > maxDense || !trial.spend(float64(m)*float64(m)*float64(o.width)) {
		return false
	}
	unit := make([]float64, m*o.width)
	for k, i := range list {
		size := r.size(i)
		if size == 0 {
			return false
		}
		visitRow(r.b, i, 1/size, func(j int, v float64) {
			if c := o.place[j]; c >= 0 {
				unit[k*o.width+c] = v
			}
		})
	}
	gram := make([]float64, m*m)
	blas64.Syrk(blas.NoTrans, 1, blas64.General{Rows: m, Cols: o.width, Stride: o.width, Data: unit}, 0,
		blas64.Symmetric{Uplo: blas.Upper, N: m, Stride: m, Data: gram})
	// An entry of the Gram matrix is wrong by gamma, so its eigenvalues are by m of
	// these; the factorization takes its own from the bound, and needs room for it.
	least, rounding := pivotTolerance*pivotTolerance, float64(m)*gamma(o.width)
	bound, _, ok := certify(gram, m, 2*(least+rounding)+4*float64(m)*gamma(m), &trial)
	return ok && bound-rounding >= least
}

// orthogonalizer is the modified Gram-Schmidt process on rows, repeated once
// for accuracy.
type orthogonalizer struct {
	*rows
	place []int       // of each column among those that the rows have, or -1
	width int         // how many there are
	taken []int       // rows in the basis
	basis [][]float64 // orthonormal, of length width
	along [][]float64 // row taken[k] is the sum of along[k][l] basis[l], l <= k
	spare []float64   // zeros of length width, of a row that did not come into the basis; or nil
}

func newOrthogonalizer(r *rows, list []int) *orthogonalizer {
	o := &orthogonalizer{rows: r}
	if len(list) == 0 {
		return o
	}
	o.place = slices.Repeat([]int{-1}, r.b.Cols)
	for _, i := range list {
		visitRow(r.b, i, 1, func(j int, _ float64) {
			if o.place[j] < 0 && r.free(j) {
				o.place[j] = o.width
				o.width++
			}
		})
	}
	return o
}

// add takes row i into the basis and returns nil, or, where it depends on the
// rows before it, what it is along the basis; not ok where the work runs out.
func (o *orthogonalizer) add(i int) (along []float64, ok bool) {
	v, size := o.spare, 0.0
	if o.spare = nil; v == nil {
		v = make([]float64, o.width)
	}
	visitRow(o.b, i, 1, func(j int, e float64) {
		size = math.Hypot(size, e)
		if k := o.place[j]; k >= 0 {
			v[k] = e
		}
	})
	along = make([]float64, len(o.basis)+1)
	for range 2 {
		if !o.work.spend(4 * float64(o.width) * float64(len(o.basis)+1)) {
			return nil, false
		}
		for k, q := range o.basis {
			c := floats.Dot(v, q)
			if c != 0 {
				along[k] += c
				floats.AddScaled(v, -c, q)
			}
		}
	}
	left := floats.Norm(v, 2)
	if !(left > rankTolerance*size) {
		clear(v)
		o.spare = v
		return along[:len(o.basis)], true
	}
	floats.Scale(1/left, v)
	along[len(o.basis)] = left
	o.taken, o.basis, o.along = append(o.taken, i), append(o.basis, v), append(o.along, along)
	return nil, true
}

// coefficients are those of row i in the rows taken and, for what is left in
// their columns, in the bounds. What is left out is rounding: parts of row i that
// are small beside it, whatever units the rows are in.
func (o *orthogonalizer) coefficients(i int, along []float64) map[int]float64 {
	out, rest := map[int]float64{}, map[int]float64{}
	spread := func(row int, by float64) {
		visitRow(o.b, row, by, func(j int, v float64) {
			if !o.free(j) {
				rest[j] += v
			}
		})
	}
	spread(i, 1)
	negligible := 10 * rankTolerance * o.size(i)
	c := slices.Clone(along)
	for l := len(c) - 1; l >= 0; l-- { // triangular: row taken[l] is the last with a part along basis[l]
		a := c[l] / o.along[l][l]
		for k, e := range o.along[l][:l] {
			c[k] -= a * e
		}
		if math.Abs(a)*o.size(o.taken[l]) > negligible {
			out[o.taken[l]] = a
			spread(o.taken[l], -a)
		}
	}
	for j, v := range rest {
		bound := o.standing[j]
		visitRow(o.b, bound, 1, func(_ int, b float64) {
			if math.Abs(v) > negligible {
				out[bound] = v / b
			}
		})
	}
	return out
}

// size is the length of row i.
func (r *rows) size(i int) float64 {
	size := 0.0
	visitRow(r.b, i, 1, func(_ int, v float64) { size = math.Hypot(size, v) })
	return size
}
