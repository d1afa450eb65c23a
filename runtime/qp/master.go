package qp

import (
	"context"
	"math"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
)

// master is the quadratic program of a bundle method, over steps d of n entries:
//
//	minimize  max_i piece_i(d) + linear'd + 1/2 d'Hd
//	subject to  rows d <= side or = side,  lo <= d <= hi.
//
// Its dual is over convex weights of the pieces and multipliers, and the method is a
// dual active-set method on it (Goldfarb and Idnani 1983; for max functions Kiwiel
// 1989), so that the pieces' common value needs no variable and no curvature of its
// own. Entries at a bound are eliminated before anything is factorized, rows that are
// not active take no part. With f free entries, a members of the working set and the
// rank r of H, a change of the working set costs O(f (a + r) + a^2), one of the free
// entries O(f (a + r)^2), and a look at what is violated O(n pieces) and the entries
// of the rows.
//
// Changes come in blocks while these raise the dual objective (see settle), one by
// one after that (see enter), which ends for every program.
type master struct {
	ctx         context.Context
	h           *Curvature
	n           int
	pieces      []Affine  // gradients of len <= n; at least one
	linear      []float64 // len n, or nil
	rows        *sparse.CSR
	side, terms []float64 // terms: the sizes of what the sides are sums of
	equal       []bool
	lo, hi      []float64 // len n, lo <= hi, infinite where free

	// The state: fixed entries and the working set.
	fixed []int8 // -1 at lo, 1 at hi, 0 free
	set   []member

	// What follows from it.
	free   []int
	metric metric
	factor linalg.QR // of the members' columns, len(free)+1 each
	lift   float64   // the last entry of a piece's column
	origin float64   // the value of a piece of the working set at d = at, from which the sides of pieces are taken
	base   []float64 // len n: linear
	at     []float64 // len n: fixed entries at their bounds, 0 elsewhere
	rhs    []float64 // len(free)+1: U^-T (base + H at) on the free entries, and 0
	w      []float64 // len(free)+1: U d on the free entries, and -lift
	d      []float64 // len n
	level  float64   // the common value of the pieces in the working set
	force  []float64 // len n: the gradient of the Lagrangian without bounds
	sizes  []float64 // len n: the sizes of its terms
	size   float64   // of the terms that w is a sum of, in the norm

	tolerance float64 // violation, relative to the size of terms, that counts as none

	inSet   map[constraint]bool
	ignored map[constraint]bool // satisfied to rounding although dependent
	changes int
}

// constraint is what may enter the working set.
type constraint struct {
	kind  constraintKind
	index int
}

type constraintKind uint8

const (
	ofPiece constraintKind = iota
	ofRow
	ofBound // of entry index, at the side that member.sign says
)

// member of the working set: a piece of the common value, an active row or bound. Its column is U^-T of its gradient on the free entries, and lift for a
// piece, over norm. The lift makes the columns of pieces independent where their
// differences are, and changes nothing, as the weights add up to 1.
type member struct {
	constraint
	sign float64 // of the column: -1 for a lower bound
	norm float64
	side float64 // the constraint's value at d = at, for a piece less origin, over norm
	one  float64 // 1/norm for a piece, 0 for others
	z    float64 // its multiplier
	move float64 // of z, in a step of enter
}

// load factorizes for the state: bounds in the working set become fixed entries, and
// members whose columns are within a sine of least of the others' span are left out.
func (q *master) load(least float64) bool {
	q.free = q.free[:0]
	for _, m := range q.set {
		if m.kind == ofBound {
			q.fixed[m.index] = int8(m.sign)
		}
	}
	q.at, q.d = linalg.Cleared(q.at, q.n), linalg.Cleared(q.d, q.n)
	for j, f := range q.fixed {
		switch {
		case f < 0:
			q.at[j] = q.lo[j]
		case f > 0:
			q.at[j] = q.hi[j]
		default:
			q.free = append(q.free, j)
		}
	}
	if !q.metric.restrict(q.h, q.free) {
		return false
	}
	f := len(q.free)
	q.w = linalg.Cleared(q.w, f+1)
	q.factor.Reset(f + 1)
	q.reach()
	q.rebase()
	old := q.set
	q.set = nil
	q.inSet, q.ignored = map[constraint]bool{}, map[constraint]bool{}
	coef, rest := make([]float64, f+1), make([]float64, f+1)
	for _, m := range old {
		if m.kind == ofBound {
			continue
		}
		column := q.column(&m)
		if q.factor.Size() > f || m.norm == 0 {
			continue
		}
		if left := q.factor.Split(column, coef, rest); left > least {
			q.push(m, coef, rest, left)
		}
	}
	return true
}

// reach chooses the lift, as long as the longest gradient of a piece, and the origin: values that pieces have in common say
// nothing of their weights, which rounding of them would hide where fixed entries make the values and the free gradients are next to 0.
func (q *master) reach() {
	q.lift, q.origin = 0, 0
	v := make([]float64, len(q.free)+1)
	for _, m := range q.set {
		if m.kind == ofPiece {
			q.gather(v, &m)
			q.metric.solveT(v[:len(q.free)])
			if q.lift = math.Max(q.lift, linalg.Norm(v)); q.origin == 0 {
				q.origin = q.value(&m, q.at)
			}
		}
	}
	if q.lift == 0 {
		q.lift = 1
	}
}

// rebase computes what follows from the fixed entries.
func (q *master) rebase() {
	q.base = linalg.Cleared(q.base, q.n)
	copy(q.base, q.linear)
	h := make([]float64, q.n)
	q.h.multiply(h, q.at)
	f := len(q.free)
	q.rhs = linalg.Cleared(q.rhs, f+1)
	for a, j := range q.free {
		q.rhs[a] = q.base[j] + h[j]
	}
	q.metric.solveT(q.rhs[:f])
}

// gather sets dst, of len(free) at least, to the gradient of a member on the free
// entries.
func (q *master) gather(dst []float64, m *member) {
	clear(dst)
	switch m.kind {
	case ofPiece:
		g := q.pieces[m.index].Gradient
		for a, j := range q.free {
			if j < len(g) {
				dst[a] = g[j]
			}
		}
	case ofRow:
		whole := make([]float64, q.n)
		q.rows.AddRow(whole, m.index, 1)
		for a, j := range q.free {
			dst[a] = whole[j]
		}
	case ofBound:
		for a, j := range q.free {
			if j == m.index {
				dst[a] = m.sign
			}
		}
	}
}

// column returns the unit column of a member, and sets its norm and side.
func (q *master) column(m *member) []float64 {
	f := len(q.free)
	v := make([]float64, f+1)
	q.gather(v, m)
	q.metric.solveT(v[:f])
	if m.kind == ofPiece {
		v[f] = q.lift
	}
	m.norm = linalg.Norm(v)
	m.one, m.side = 0, q.value(m, q.at)
	if m.norm == 0 {
		return v
	}
	if m.kind == ofPiece {
		m.one = 1 / m.norm
		m.side -= q.origin
	}
	m.side /= m.norm
	for a := range v {
		v[a] /= m.norm
	}
	return v
}

// value is the value of a constraint at d: of an affine function, a row's h, or how
// far a bound is crossed.
func (q *master) value(m *member, d []float64) float64 {
	switch m.kind {
	case ofPiece:
		a := &q.pieces[m.index]
		return a.Offset + linalg.Dot(a.Gradient, d[:len(a.Gradient)])
	case ofRow:
		return q.rows.RowDot(m.index, d) - q.side[m.index]
	}
	if m.sign < 0 {
		return q.lo[m.index] - d[m.index]
	}
	return d[m.index] - q.hi[m.index]
}

// push adds a member whose column has just been split.
func (q *master) push(m member, coef, rest []float64, left float64) {
	q.factor.Push(coef, rest, left)
	q.set = append(q.set, m)
	q.inSet[m.constraint] = true
}

// drop takes member i out. A constraint ignored as dependent on it counts again.
func (q *master) drop(i int) {
	q.factor.Drop(i)
	delete(q.inSet, q.set[i].constraint)
	q.set = append(q.set[:i], q.set[i+1:]...)
	clear(q.ignored)
}

// refresh computes d and the multipliers that go with the working set: with the
// columns QR, their sides s and prices o (see member.one),
//
//	R z = v,  w = -rhs - Q v,  v = R^-T s - Q'rhs - tau R^-T o,
//
// where tau makes the weights add up to 1. What rhs leaves of rounding in the members'
// own values is taken out by the same formula with these values for s.
func (q *master) refresh() {
	k, f := len(q.set), len(q.free)
	v, o := make([]float64, k), make([]float64, k)
	sides := 0.0
	for i, m := range q.set {
		v[i], o[i] = m.side, m.one
		sides = math.Max(sides, math.Abs(m.side)+math.Abs(q.origin)*m.one)
	}
	q.factor.SolveT(v)
	q.factor.SolveT(o)
	oo := linalg.Dot(o, o)
	q.size = linalg.Norm(q.rhs) + sides
	for i := range v {
		v[i] -= linalg.Dot(q.factor.Column(i), q.rhs)
	}
	tau := (linalg.Dot(o, v) - 1) / oo
	linalg.Axpy(v, -tau, o)
	q.level = q.origin + tau + q.lift*q.lift
	for a, p := range q.rhs {
		q.w[a] = -p
	}
	for i, t := range v {
		linalg.Axpy(q.w, -t, q.factor.Column(i))
		q.size += math.Abs(t)
	}
	q.leave()
	left := make([]float64, k)
	for i := range q.set {
		m := &q.set[i]
		left[i] = q.value(m, q.d) / m.norm
		if m.kind == ofPiece {
			left[i] -= q.level / m.norm
		}
	}
	q.factor.SolveT(left)
	tau = linalg.Dot(o, left) / oo
	linalg.Axpy(left, -tau, o)
	q.level += tau
	for i, t := range left {
		linalg.Axpy(q.w[:f], -t, q.factor.Column(i)[:f])
		v[i] += t
	}
	q.leave()
	q.factor.Solve(v)
	for i := range q.set {
		q.set[i].z = v[i] / q.set[i].norm
	}
	q.lagrangianGradient()
}

// leave computes d from w.
func (q *master) leave() {
	f := len(q.free)
	step := append(make([]float64, 0, f), q.w[:f]...)
	q.metric.solve(step)
	copy(q.d, q.at)
	for a, j := range q.free {
		q.d[j] = step[a]
	}
}

// lagrangianGradient computes the gradient of the Lagrangian without bounds.
func (q *master) lagrangianGradient() {
	q.force, q.sizes = linalg.Cleared(q.force, q.n), linalg.Cleared(q.sizes, q.n)
	q.h.multiply(q.force, q.d)
	for j, v := range q.force {
		q.sizes[j] = math.Abs(v) + math.Abs(q.base[j])
		q.force[j] = v + q.base[j]
	}
	for i := range q.set {
		m := &q.set[i]
		q.add(m, m.z)
	}
}

// add adds t times the gradient of a piece or row to force.
func (q *master) add(m *member, t float64) {
	switch m.kind {
	case ofPiece:
		for j, g := range q.pieces[m.index].Gradient {
			q.force[j] += t * g
			q.sizes[j] += math.Abs(t * g)
		}
	case ofRow:
		cols, vals := q.rows.Row(m.index)
		for k, j := range cols {
			q.force[j] += t * vals[k]
			q.sizes[j] += math.Abs(t * vals[k])
		}
	}
}

// objective is the dual objective where the multipliers are feasible: the Lagrangian.
func (q *master) objective() float64 {
	v := q.level
	for j, c := range q.linear {
		v += c * q.d[j]
	}
	h := make([]float64, q.n)
	q.h.multiply(h, q.d)
	return v + linalg.Dot(h, q.d)/2
}
