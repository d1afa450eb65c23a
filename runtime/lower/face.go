package lower

import (
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// face is an affine set { y : B_i y = r_i, i in a working set of independent
// rows }, kept as an orthogonal factorization. Rows that fix one entry of y
// are a mask where they can be; the others (members) are factorized on the
// entries that are left, scaled to unit norm, B_i/|B_i| = sum_j R_ji q_j.
type face struct {
	poly    *polyhedron
	in      []bool    // len m: the rows of the working set
	fixer   []int     // len n: the row that fixes y_j by the mask, or -1
	fixed   int       // number of masked entries
	members []int     // len k: the other rows, in the order of the factorization
	qr      linalg.QR // of the members' unit normals, 0 on masked entries
	rotated bool      // a member has left: qr is not what adding the members makes
	coef    []float64 // len n: scratch
	vec     []float64 // len n: scratch
	order   []int     // scratch
	open    []bool    // len m, or nil: rows that are kept out (activeSet.open)
}

// reset empties the face.
func (f *face) reset(poly *polyhedron) {
	f.poly = poly
	f.in = linalg.Cleared(f.in, poly.m)
	if cap(f.fixer) < poly.n {
		f.fixer = make([]int, poly.n)
	}
	f.fixer = f.fixer[:poly.n]
	for j := range f.fixer {
		f.fixer[j] = -1
	}
	f.fixed = 0
	f.empty()
	room(poly.n, &f.coef, &f.vec)
}

// size is the number of rows in the working set, and the codimension.
func (f *face) size() int { return f.fixed + len(f.members) }

func (f *face) holds(i int) bool { return f.in[i] }

// spans implements workingSet.
func (f *face) spans(i int, combination []float64) bool {
	if f.split(i) > math.Sqrt(tolerance.Dependence) {
		return false
	}
	f.combination(combination, i)
	return true
}

// rows are those of the working set, ascending.
func (f *face) rows() []int {
	return each.WhereBelow(len(f.in), func(i int) bool { return f.in[i] })
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
	j, alone := f.poly.bound[i], len(f.members) == 0
	if f.normal(i); j < 0 || !alone {
		if f.qr.Append(f.vec) {
			f.in[i] = true
			f.members = append(f.members, i)
			return true
		}
	}
	rest := f.qr.Split(f.vec, f.coef, f.vec)
	if rest <= tolerance.Dependence {
		return false
	}
	f.in[i] = true
	if j >= 0 && alone {
		f.fixer[j] = i
		f.fixed++
		return true
	}
	f.qr.Push(f.coef, f.vec, rest)
	f.members = append(f.members, i)
	return true
}

// split decomposes the unit normal of row i, on the entries not masked, into
// coef[:k] along the q_j and vec orthogonal to them, and returns the norm of
// vec.
func (f *face) split(i int) float64 {
	f.normal(i)
	return f.qr.Split(f.vec, f.coef, f.vec)
}

// normal sets vec to the unit normal of row i on the entries not masked; 0 of a row without y.
func (f *face) normal(i int) {
	clear(f.vec)
	if f.poly.norm[i] == 0 {
		return
	}
	f.poly.rows.B.AddRow(f.vec, i, 1/f.poly.norm[i])
	f.mask(f.vec)
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
	at := slices.Index(f.members, i)
	f.rotated = f.rotated || at < len(f.members)-1
	f.members = slices.Delete(f.members, at, at+1)
	f.qr.Drop(at)
}

// empty takes all members out of the factorization, but not of the working set.
func (f *face) empty() {
	f.members, f.rotated = f.members[:0], false
	f.qr.Reset(f.poly.n)
}

// gather makes the face that of the Equal rows and some others, as far as they are
// independent and may be held, the Equal rows first and bounds before what is no
// bound: these are masked and so cost nothing. known, unless nil, may have the
// factorization of a face that begins with the same rows. The rows that depend on
// others are handed to dependent, unless that is nil.
func (f *face) gather(poly *polyhedron, known *denseHessian, rows []int, dependent func(i int)) {
	f.reset(poly)
	f.order = slices.Grow(f.order[:0], len(rows))
	kinds := [4]int{} // how many rows of each kind, in the order above
	for kind := range kinds {
		for i := 0; i < poly.m && kind < 2; i++ {
			if poly.equal(i) && (poly.bound[i] < 0) == (kind == 1) {
				f.order = append(f.order, i)
			}
		}
		f.order = append(f.order, each.Where(rows, func(i int) bool { return kind >= 2 && !poly.equal(i) && (poly.bound[i] < 0) == (kind == 3) })...)
		kinds[kind] = len(f.order)
	}
	for t, i := range f.order {
		// Members so far are Equal rows: bounds that follow change them.
		if known != nil && len(f.members) == 0 && poly.bound[i] < 0 && (t >= kinds[2] || kinds[2] == kinds[1]) {
			known.recall(f, f.order[t:])
		}
		if poly.bound[i] < 0 && !f.in[i] {
			f.qr.Reserve(len(f.members) + len(f.order) - t)
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
	f.empty()
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
		least = math.Min(least, f.qr.Triangle(j)[j])
	}
	return least
}

// project overwrites v with its part in the face's directions.
func (f *face) project(v []float64) {
	f.mask(v)
	f.qr.Split(v, nil, v)
}

// restore moves y to the nearest point of the face. A second pass removes what rounding left of the first, unless that was so short
// that its rounding, over the square of the sine, is none of any entry of y.
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
		f.qr.SolveT(c)
		f.qr.AddScaled(y, 1, c)
		move, sine := linalg.Norm(c), f.sine()
		if !slices.ContainsFunc(y, func(v float64) bool { return move > sine*sine*math.Abs(v) }) {
			break
		}
	}
}

// multipliers sets lambda (len m) to the least-squares solution of
// grad = B' lambda over the working set, zero on other rows
// (eq:approximate-lam-hat).
func (f *face) multipliers(lambda, grad []float64) {
	clear(lambda)
	if k := len(f.members); k > 0 {
		copy(f.vec, grad)
		f.mask(f.vec)
		c := f.coef[:k]
		f.qr.Coordinates(c, f.vec)
		f.qr.Solve(c)
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
	columns := f.poly.transposed()
	for j, i := range f.fixer {
		if i < 0 {
			continue
		}
		s := grad[j]
		for row, v := range columns.Entries(j) {
			if row != i {
				s -= v * lambda[row]
			}
		}
		lambda[i] = s / f.poly.coef[i]
	}
}

// combination sets dst (len m) to the coefficients that combine the rows of
// the working set to row i, which depends on them: B_i = sum_k dst_k B_k.
func (f *face) combination(dst []float64, i int) {
	clear(dst)
	f.split(i)
	c := f.coef[:len(f.members)]
	f.qr.Solve(c)
	for j, t := range f.members {
		dst[t] = c[j] * f.poly.norm[i] / f.poly.norm[t]
	}
	// The masked rows take what is left on the masked entries.
	clear(f.vec)
	for j, v := range f.poly.rows.B.Entries(i) {
		f.vec[j] = v
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
	room(n, &v)
	return v
}

// room gives vectors, which it is always given together, n entries each: of one array where they have too few.
func room(n int, vectors ...*[]float64) {
	if cap(*vectors[0]) < n {
		all := make([]float64, n*len(vectors))
		for k, v := range vectors {
			*v = all[k*n : (k+1)*n : (k+1)*n]
		}
		return
	}
	for _, v := range vectors {
		*v = (*v)[:n]
	}
}
