package reduced

import (
	"errors"
	"math"
	"slices"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// sparseFollower takes the place of the dense H^-1, E, Y and Z of a follower whose Hessian is known to be sparse: products with them are solves with
// sparse factors (linalg.LDL), of H and of
//
//	[ H    B_S' ]
//	[ B_S  -r   ],
//
// r the regularization of quasi-definite systems (Vanderbei 1995), whose effect refinement takes out again. Rows that are not in S stay in the pattern, without
// entries and with -1 on the diagonal, so that there is one symbolic factor.
type sparseFollower struct {
	h       *sparse.CSR // of the problem
	b       *sparse.CSR // m x n, the rows in their units
	n, m    int
	hessian *linalg.LDL
	joint   *linalg.LDL
	saddle  *linalg.Saddle
	values  []float64 // of joint
	set     []bool    // the rows in S that joint holds
	factors int
	failed  bool
	z, r    []float64
}

// mostFactors bounds the factors of a run: the methods that take over where it ends have each a factor or more in a lower solve, and some hundred of those. Where a
// factor is small they are bounded by the work of all of them instead, a second with the solves that belong to each.
const mostFactors = 300

// ErrFactors says that the pieces of F are too many for a sparse factor each.
var ErrFactors = errors.New("more pieces than sparse factors are made for")

func newSparseFollower(h *sparse.CSR, n int, least float64) *sparseFollower {
	q := &sparseFollower{h: h, n: n}
	own := linalg.NewSaddle(h, sparse.Empty(n))
	q.hessian = linalg.NewLDL(own.Symbolic, nil)
	smallest := math.Inf(1)
	for j := range n {
		smallest = math.Min(smallest, h.At(j, j))
	}
	q.hessian.Factor(linalg.Gather(h.Val, own.Lower), least*math.Max(smallest, 0))
	return q
}

// take sets the rows, in their units.
func (q *sparseFollower) take(b *sparse.CSR) {
	q.b, q.m, q.saddle = b, b.Rows, linalg.NewSaddle(q.h, b)
	q.values = make([]float64, len(q.saddle.Row))
	copy(q.values, linalg.Gather(q.h.Val, q.saddle.Lower))
	for at := q.saddle.First[q.n+q.m]; at < len(q.values); at++ {
		q.values[at] = -1
	}
	q.joint = linalg.NewLDL(q.saddle.Symbolic, func(i int) bool { return i >= q.n })
	q.set = make([]bool, q.m)
	q.z, q.r = make([]float64, q.n+q.m), make([]float64, q.n+q.m)
	q.factors = 0
	q.joint.Factor(q.values, 0)
}

// hold makes S the rows with at[r] > 0 in the factor.
func (q *sparseFollower) hold(at []int) {
	changed := false
	for r := range q.set {
		now := at != nil && at[r] > 0
		if now == q.set[r] {
			continue
		}
		changed, q.set[r] = true, now
		diagonal, by := -1.0, 0.0
		if now {
			diagonal, by = -tolerance.HalfDigits, 1
		}
		q.values[q.saddle.First[q.n+q.m]+r] = diagonal
		_, vals := q.b.Row(r)
		first := q.saddle.First[q.n+r]
		for t, v := range vals {
			q.values[first+t] = by * v
		}
	}
	if !changed {
		return
	}
	if q.factors++; q.factors > mostFactors && solves*q.factors*q.joint.Entries() > tolerance.Second {
		q.failed = true
	}
	if !q.failed && !q.joint.Factor(q.values, tolerance.HalfDigits*tolerance.HalfDigits) {
		q.failed = true
	}
}

// solve is u (len n) and l (len m, 0 but on S) with H u - B_S'l = a, B_S u = c (len m); it reports false where they are not found: rows of S depend on each other.
func (q *sparseFollower) solve(at []int, a, c []float64) (u, l []float64, ok bool) {
	q.hold(at)
	u, l = make([]float64, q.n), make([]float64, q.m)
	if q.failed {
		return u, l, false
	}
	rhs := func(r, x []float64) {
		copy(r, a)
		if a == nil {
			clear(r[:q.n])
		}
		for i := range q.n {
			r[i] -= q.h.RowDot(i, x)
		}
		for i, in := range q.set {
			r[q.n+i] = 0
			if in {
				q.b.AddRow(r[:q.n], i, -x[q.n+i])
				if c != nil {
					r[q.n+i] = c[i]
				}
				r[q.n+i] -= q.b.RowDot(i, x[:q.n])
			}
		}
	}
	clear(q.z)
	rhs(q.r, q.z)
	size := linalg.NormInf(q.r)
	left := q.joint.Refine(q.z, rhs, math.MaxInt, 0x1p-50*size) // each halves what is left, or is the last
	copy(u, q.z)
	for i, in := range q.set {
		if in {
			l[i] = -q.z[q.n+i]
		}
	}
	return u, l, left <= tolerance.Parted*math.Max(size, linalg.NormInf(q.z))
}

// solves are the multiplications that a solve with refinement and its part of a factor count as, for each entry of L: two for a solve, three of these, and as many for the residuals, of which each
// takes as long as ten of dense products, for its index and from memory (measured with 300 and with 1e5 entries).
const solves = 120

// solveH overwrites v with H^-1 v.
func (q *sparseFollower) solveH(v []float64) {
	b := slices.Clone(v)
	clear(v)
	q.hessian.Refine(v, func(r, x []float64) {
		copy(r, b)
		for i := range r {
			r[i] -= q.h.RowDot(i, x)
		}
	}, 2, 0)
}

// addE adds E g to dst (len m).
func (f *follower) addE(dst, g []float64) {
	if f.sparse == nil {
		for k := range f.blocks {
			b := &f.blocks[k]
			if b.e == nil {
				linalg.Axpy(b.rows(dst), 1, b.rows(g))
				continue
			}
			linalg.Gemv(b.rows(dst), 1, b.e, b.m, len(b.ys), false, b.gather(g))
			f.work += int64(b.m * len(b.ys))
		}
		return
	}
	t := slices.Clone(g)
	f.solveH(t)
	for r := range dst {
		dst[r] += f.sparse.b.RowDot(r, t)
	}
}

// pushed is H^-1 B'lambda over the given rows.
func (f *follower) pushed(rows []int, lambda func(a, r int) float64) []float64 {
	t := make([]float64, f.n)
	for a, r := range rows {
		if v := lambda(a, r); v != 0 {
			f.sparse.b.AddRow(t, r, v)
		}
	}
	f.solveH(t)
	return t
}

// addET adds E'lambda over the given rows to y.
func (f *follower) addET(y []float64, rows []int, lambda func(a, r int) float64) {
	if f.sparse == nil {
		for a, r := range rows {
			if v := lambda(a, r); v != 0 {
				b := f.blockOf(r)
				b.axpy(y, v, r)
				f.work += perCall + int64(b.width())
			}
		}
		return
	}
	linalg.Axpy(y, 1, f.pushed(rows, lambda))
}

// addY adds Y lambda over the given rows to dst (len m).
func (f *follower) addY(dst []float64, rows []int, lambda func(a, r int) float64) {
	if f.sparse == nil {
		for a, r := range rows {
			b := f.blockOf(r)
			linalg.Axpy(b.rows(dst), lambda(a, r), b.rowY(r))
			f.work += perCall + int64(b.m)
		}
		return
	}
	t := f.pushed(rows, lambda)
	for r := range dst {
		dst[r] += f.sparse.b.RowDot(r, t)
	}
}
