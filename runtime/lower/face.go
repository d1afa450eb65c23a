package lower

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"bilevelc/runtime/linalg"
)

// dependence is the sine of the angle between a row and the span of the
// others below which it counts as dependent on them. Rounding makes 1e-15
// times a modest factor, rows that differ on purpose far more.
const dependence = 1e-10

// face is an affine set { y : B_i y = r_i, i in a working set of independent
// rows }, kept as an orthogonal factorization. Rows that fix one entry of y
// are a mask where they can be; the others (members) are factorized on the
// entries that are left, scaled to unit norm, B_i/|B_i| = sum_j R_ji q_j, by
// Gram-Schmidt with reorthogonalization (Daniel, Gragg, Kaufman, Stewart
// 1976), with orthonormal q_j.
type face struct {
	poly    *polyhedron
	in      []bool    // len m: the rows of the working set
	fixer   []int     // len n: the row that fixes y_j by the mask, or -1
	fixed   int       // number of masked entries
	members []int     // len k: the other rows, in the order of the factorization
	q       []float64 // k x n, row-major: orthonormal rows, 0 on masked entries
	r       []float64 // columns of R packed: column j has its j+1 entries from j(j+1)/2
	coef    []float64 // len n: scratch
	vec     []float64 // len n: scratch
	work    []float64 // len n: scratch of orthogonalize
	order   []int     // scratch
	open    []bool    // len m, or nil: rows that are kept out (activeSet.open)
}

// reset empties the face.
func (f *face) reset(poly *polyhedron) {
	f.poly = poly
	f.in = resizeBool(f.in, poly.m)
	if cap(f.fixer) < poly.n {
		f.fixer = make([]int, poly.n)
	}
	f.fixer = f.fixer[:poly.n]
	for j := range f.fixer {
		f.fixer[j] = -1
	}
	f.fixed = 0
	f.members = f.members[:0]
	f.q = f.q[:0]
	f.r = f.r[:0]
	f.coef = resize(f.coef, poly.n)
	f.vec = resize(f.vec, poly.n)
	f.work = resize(f.work, poly.n)
}

// size is the number of rows in the working set, and the codimension.
func (f *face) size() int { return f.fixed + len(f.members) }

func (f *face) holds(i int) bool { return f.in[i] }

// spans implements workingSet.
func (f *face) spans(i int, combination []float64) bool {
	if f.split(i) > math.Sqrt(dependence) {
		return false
	}
	f.combination(combination, i)
	return true
}

// rows appends the rows of the working set, ascending.
func (f *face) rows(dst []int) []int {
	for i, in := range f.in {
		if in {
			dst = append(dst, i)
		}
	}
	return dst
}

// column returns the packed column j of R, len j+1.
func (f *face) column(j int) []float64 { return f.r[j*(j+1)/2 : (j+1)*(j+2)/2] }

// basis is the k x n matrix of the q_j.
func (f *face) basis() blas64.General {
	n := f.poly.n
	return blas64.General{Rows: len(f.members), Cols: n, Stride: max(1, n), Data: f.q}
}

// add puts row i into the working set and reports true, or false where the
// row depends on those in it (or does not involve y): then coef[:k] combines
// the members to it on the entries not masked.
func (f *face) add(i int) bool {
	if f.in[i] {
		return true
	}
	if f.open != nil && f.open[i] {
		return false
	}
	rest := f.split(i)
	if rest <= dependence {
		return false
	}
	f.in[i] = true
	if j := f.poly.bound[i]; j >= 0 && len(f.members) == 0 {
		f.fixer[j] = i
		f.fixed++
		return true
	}
	k := len(f.members)
	f.r = append(f.r, f.coef[:k]...)
	f.r = append(f.r, rest)
	for _, t := range f.vec {
		f.q = append(f.q, t/rest)
	}
	f.members = append(f.members, i)
	return true
}

// split decomposes the unit normal of row i, on the entries not masked, into
// coef[:k] along the q_j and vec orthogonal to them, and returns the norm of
// vec.
func (f *face) split(i int) float64 {
	for j := range f.vec {
		f.vec[j] = 0
	}
	if f.poly.norm[i] == 0 {
		return 0
	}
	cols, vals := f.poly.rows.B.Row(i)
	for k, j := range cols {
		if f.fixer[j] < 0 {
			f.vec[j] = vals[k] / f.poly.norm[i]
		}
	}
	k := len(f.members)
	coef := f.coef[:k]
	for j := range coef {
		coef[j] = 0
	}
	if k == 0 {
		return linalg.Norm(f.vec)
	}
	f.orthogonalize(f.vec, coef)
	return linalg.Norm(f.vec)
}

// orthogonalize subtracts from v its part in the span of the q_j, twice
// (which is enough), and adds the coefficients to coef where it is not nil.
func (f *face) orthogonalize(v, coef []float64) {
	k := len(f.members)
	if k == 0 {
		return
	}
	q := f.basis()
	c := blas64.Vector{N: k, Inc: 1, Data: f.work[:k]}
	x := blas64.Vector{N: len(v), Inc: 1, Data: v}
	for pass := 0; pass < 2; pass++ {
		blas64.Gemv(blas.NoTrans, 1, q, x, 0, c)
		blas64.Gemv(blas.Trans, -1, q, c, 1, x)
		if coef != nil {
			linalg.Axpy(coef, 1, c.Data)
		}
	}
}

// drop takes row i out of the working set.
func (f *face) drop(i int) {
	f.in[i] = false
	if j := f.poly.bound[i]; j >= 0 && f.fixer[j] == i {
		f.fixer[j] = -1
		f.fixed--
		f.rebuild()
		return
	}
	at := 0
	for f.members[at] != i {
		at++
	}
	f.order = append(f.order[:0], f.members[at+1:]...)
	f.truncate(at)
	for _, t := range f.order {
		f.in[t] = false
	}
	for _, t := range f.order {
		f.add(t)
	}
}

// truncate keeps the first k members.
func (f *face) truncate(k int) {
	f.members = f.members[:k]
	f.q = f.q[:k*f.poly.n]
	f.r = f.r[:k*(k+1)/2]
}

// gather makes the face that of the Equal rows and some others, as far as they are
// independent and may be held, the Equal rows first and bounds before what is no
// bound: these are masked and so cost nothing. known, unless nil, may have the
// factorization of a face that begins with the same rows. The rows that depend on
// others are handed to dependent, unless that is nil.
func (f *face) gather(poly *polyhedron, known *whole, rows []int, dependent func(i int)) {
	f.reset(poly)
	f.order = f.order[:0]
	kinds := [4]int{} // how many rows of each kind, in the order above
	for kind := range kinds {
		for i := 0; i < poly.m && kind < 2; i++ {
			if poly.equal(i) && (poly.bound[i] < 0) == (kind == 1) {
				f.order = append(f.order, i)
			}
		}
		for _, i := range rows {
			if kind >= 2 && !poly.equal(i) && (poly.bound[i] < 0) == (kind == 3) {
				f.order = append(f.order, i)
			}
		}
		kinds[kind] = len(f.order)
	}
	for t, i := range f.order {
		// Members so far are Equal rows: bounds that follow change them.
		if known != nil && len(f.members) == 0 && poly.bound[i] < 0 && (t >= kinds[2] || kinds[2] == kinds[1]) {
			known.recall(f, f.order[t:])
		}
		if !f.add(i) && dependent != nil {
			dependent(i)
		}
	}
	f.refactor()
}

// refactor moves every bound row into the mask.
func (f *face) refactor() {
	if slices.ContainsFunc(f.members, func(i int) bool { return f.poly.bound[i] >= 0 }) {
		f.rebuild()
	}
}

// rebuild builds the factorization anew, with every bound row in the mask.
func (f *face) rebuild() {
	f.order = append(f.order[:0], f.members...)
	f.truncate(0)
	for _, i := range f.order {
		f.in[i] = false
	}
	for pass := 0; pass < 2; pass++ {
		for _, i := range f.order {
			if (f.poly.bound[i] >= 0) == (pass == 0) {
				f.add(i)
			}
		}
	}
}

// sine is the least sine of the angle between a row of the face and those before it,
// bounds being orthogonal to each other.
func (f *face) sine() float64 {
	least := 1.0
	for j := range f.members {
		least = math.Min(least, f.column(j)[j])
	}
	return least
}

// project overwrites v with its part in the face's directions.
func (f *face) project(v []float64) {
	if f.fixed > 0 {
		for j, i := range f.fixer {
			if i >= 0 {
				v[j] = 0
			}
		}
	}
	f.orthogonalize(v, nil)
}

// restore moves y to the nearest point of the face. A second pass removes
// what rounding left of the first.
func (f *face) restore(y []float64) {
	for j, i := range f.fixer {
		if i >= 0 {
			y[j] = f.poly.rhs[i] / f.poly.coef[i]
		}
	}
	k := len(f.members)
	if k == 0 {
		return
	}
	c := f.coef[:k]
	for pass := 0; pass < 2; pass++ {
		for j, i := range f.members {
			c[j] = -f.poly.slack(i, y)
		}
		// R' z = c, then y += Q' z.
		for j := range c {
			col := f.column(j)
			c[j] = (c[j] - linalg.Dot(col[:j], c[:j])) / col[j]
		}
		blas64.Gemv(blas.Trans, 1, f.basis(), blas64.Vector{N: k, Inc: 1, Data: c}, 1,
			blas64.Vector{N: len(y), Inc: 1, Data: y})
	}
}

// multipliers sets lambda (len m) to the least-squares solution of
// grad = B' lambda over the working set, zero on other rows
// (eq:approximate-lam-hat).
func (f *face) multipliers(lambda, grad []float64) {
	for i := range lambda {
		lambda[i] = 0
	}
	k := len(f.members)
	if k > 0 {
		copy(f.vec, grad)
		f.mask(f.vec)
		c := f.coef[:k]
		blas64.Gemv(blas.NoTrans, 1, f.basis(), blas64.Vector{N: len(f.vec), Inc: 1, Data: f.vec}, 0,
			blas64.Vector{N: k, Inc: 1, Data: c})
		f.solveR(c)
		for j, i := range f.members {
			lambda[i] = c[j] / f.poly.norm[i]
		}
	}
	f.maskedMultipliers(lambda, grad)
}

// maskedMultipliers sets the multipliers of the masked rows from those of the
// members, so that grad = B' lambda holds exactly on the masked entries.
func (f *face) maskedMultipliers(lambda, grad []float64) {
	if f.fixed == 0 {
		return
	}
	for j, i := range f.fixer {
		if i < 0 {
			continue
		}
		s := grad[j]
		rows, vals := f.poly.cols.Row(j)
		for t, row := range rows {
			if row != i {
				s -= vals[t] * lambda[row]
			}
		}
		lambda[i] = s / f.poly.coef[i]
	}
}

// solveR overwrites c (len k) with R^-1 c.
func (f *face) solveR(c []float64) {
	for j := len(c) - 1; j >= 0; j-- {
		col := f.column(j)
		c[j] /= col[j]
		linalg.Axpy(c[:j], -c[j], col[:j])
	}
}

// combination sets dst (len m) to the coefficients that combine the rows of
// the working set to row i, which depends on them: B_i = sum_k dst_k B_k.
func (f *face) combination(dst []float64, i int) {
	for t := range dst {
		dst[t] = 0
	}
	f.split(i)
	k := len(f.members)
	c := f.coef[:k]
	f.solveR(c)
	for j, t := range f.members {
		dst[t] = c[j] * f.poly.norm[i] / f.poly.norm[t]
	}
	// The masked rows take what is left on the masked entries.
	cols, vals := f.poly.rows.B.Row(i)
	for j := range f.vec {
		f.vec[j] = 0
	}
	for t, j := range cols {
		f.vec[j] = vals[t]
	}
	f.maskedMultipliers(dst, f.vec)
}

// mask zeroes the masked entries of v.
func (f *face) mask(v []float64) {
	if f.fixed == 0 {
		return
	}
	for j, i := range f.fixer {
		if i >= 0 {
			v[j] = 0
		}
	}
}

func resize(v []float64, n int) []float64 {
	if cap(v) < n {
		return make([]float64, n)
	}
	return v[:n]
}

func resizeBool(v []bool, n int) []bool {
	if cap(v) < n {
		return make([]bool, n)
	}
	v = v[:n]
	for i := range v {
		v[i] = false
	}
	return v
}
