package qp

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/runtime/linalg"
)

// load factorizes for the state: bounds in the working set become fixed entries where H
// lets them, and members whose columns are within a sine of least of the others' span are
// left out.
func (ws *Workspace) load(least float64) bool {
	p := ws.p
	dense, old := p.H.dense(), ws.set
	ws.set, ws.free = ws.set[:0], ws.free[:0]
	for _, a := range old {
		if j, sign := ws.entry(a.number); j >= dense {
			ws.fixed[j] = int8(sign)
		} else {
			ws.set = append(ws.set, a)
		}
	}
	for j, f := range ws.fixed {
		if ws.at[j] = 0; f != 0 {
			ws.at[j] = ws.bound(ws.boundOf(j))
		} else {
			ws.free = append(ws.free, j)
		}
	}
	if !ws.metric.restrict(p.H, ws.free) {
		return false
	}
	f := len(ws.free)
	ws.rhs, ws.w = linalg.Cleared(ws.rhs, f+1), linalg.Cleared(ws.w, f+1)
	p.H.multiply(ws.bend, ws.at)
	for a, j := range ws.free {
		ws.rhs[a] = p.C[j] + ws.bend[j]
	}
	ws.metric.solveT(ws.rhs[:f])
	ws.reach()
	ws.factor.Reset(f + 1)
	clear(ws.member)
	clear(ws.ignored)
	ws.include(0, least)
	return true
}

// include factorizes the members from a place on, of which it leaves out those that are next to dependent (see load).
func (ws *Workspace) include(from int, least float64) {
	added := ws.set[from:]
	ws.set = ws.set[:from]
	for _, a := range added {
		ws.orient(&a)
		if a.norm == 0 || len(ws.set) > len(ws.free) {
			continue
		}
		if left := ws.split(); left > least {
			ws.push(a, left)
		}
	}
}

// reach chooses the lift, as long as the longest gradient of a piece, and the origin: values that pieces have in common say
// nothing of their weights, which rounding of them would hide where fixed entries make the values and the free gradients are next to 0.
func (ws *Workspace) reach() {
	ws.lift, ws.origin = 0, 0
	for _, a := range ws.set {
		if !ws.isPiece(a.number) {
			continue
		}
		ws.gather(a.number)
		if ws.lift = math.Max(ws.lift, linalg.Norm(ws.column)); ws.origin == 0 {
			ws.origin = ws.value(a.number, ws.at)
		}
	}
	if ws.lift == 0 {
		ws.lift = 1
	}
}

// gather sets column to U^-T of the gradient of constraint k on the free entries, and 0.
func (ws *Workspace) gather(k int) {
	clear(ws.normal)
	ws.addGradient(ws.normal, nil, k, 1)
	f := len(ws.free)
	ws.column = ws.column[:f+1]
	for a, j := range ws.free {
		ws.column[a] = ws.normal[j]
	}
	ws.column[f] = 0
	ws.metric.solveT(ws.column[:f])
}

// orient makes the unit column of a member, and sets what goes with it.
func (ws *Workspace) orient(a *active) {
	ws.gather(a.number)
	a.equal, a.one, a.side, a.terms = ws.isEqual(a.number), 0, ws.value(a.number, ws.at), ws.sideTerms(a.number)
	if ws.isPiece(a.number) {
		ws.column[len(ws.free)], a.one = ws.lift, 1
		a.side -= ws.origin
	}
	if a.norm = linalg.Norm(ws.column); a.norm == 0 {
		return
	}
	a.side, a.terms, a.one = a.side/a.norm, a.terms/a.norm, a.one/a.norm
	for i := range ws.column {
		ws.column[i] /= a.norm
	}
}

// split writes column as Q coef + rest and returns |rest|.
func (ws *Workspace) split() float64 {
	ws.rest = ws.rest[:len(ws.column)]
	return ws.factor.Split(ws.column, ws.coef, ws.rest)
}

// push adds a member whose column has just been split.
func (ws *Workspace) push(a active, left float64) {
	ws.factor.Push(ws.coef, ws.rest, left)
	ws.set = append(ws.set, a)
	ws.member[a.number] = true
}

// drop takes member i out. A constraint ignored as dependent on it counts again.
func (ws *Workspace) drop(i int) {
	ws.factor.Drop(i)
	ws.member[ws.set[i].number] = false
	ws.set = append(ws.set[:i], ws.set[i+1:]...)
	clear(ws.ignored)
}

// refresh computes z and the multipliers that go with the working set: with the
// columns QR, their sides s and prices o (see active.one),
//
//	R u = v,  w = -rhs - Q v,  v = R^-T s - Q'rhs - tau R^-T o,
//
// where tau makes the weights add up to 1. What rhs leaves of rounding in the members'
// own values is taken out by the same formula with these values for s.
func (ws *Workspace) refresh() {
	k, f := len(ws.set), len(ws.free)
	ws.move, ws.cost = linalg.Cleared(ws.move, k), linalg.Cleared(ws.cost, k)
	v, o := ws.move, ws.cost
	for i, a := range ws.set {
		v[i], o[i] = a.side, a.one
	}
	ws.factor.SolveT(v)
	oo, tau := 0.0, 0.0
	if len(ws.p.Pieces) > 0 {
		ws.factor.SolveT(o)
		oo = linalg.Dot(o, o)
		tau = (linalg.Dot(o, v) - 1) / oo
		for i, c := range o {
			tau -= c * linalg.Dot(ws.factor.Column(i), ws.rhs) / oo
		}
		ws.level = ws.origin + tau + ws.lift*ws.lift
	}
	for a, p := range ws.rhs {
		ws.w[a], ws.step[a] = -p, math.Abs(p)
	}
	sides := 0.0 // the largest of the terms of the sides so far
	for i, a := range ws.set {
		sides = math.Max(sides, a.terms)
		column := ws.factor.Column(i)
		size := math.Max(math.Abs(v[i]), sides) + math.Abs(tau*o[i])
		v[i] -= linalg.Dot(column, ws.rhs) + tau*o[i]
		for t, p := range ws.rhs {
			size += math.Abs(column[t] * p)
		}
		for t, c := range column {
			if c != 0 {
				// 1/64 is the error of the entries of the orthonormal basis, in units of tolerance.Feasibility: about ten roundings. Where
				// it is 0 nothing was added up.
				ws.step[t] += size * (math.Abs(c) + 1.0/64)
			}
		}
		linalg.Axpy(ws.w, -v[i], column)
	}
	ws.size = linalg.Norm(ws.step[:f+1])
	ws.leave()
	left := ws.coef[:k]
	for i, a := range ws.set {
		left[i] = ws.value(a.number, ws.z)/a.norm - ws.level*a.one
	}
	ws.factor.SolveT(left)
	if oo > 0 {
		tau = linalg.Dot(o, left) / oo
		linalg.Axpy(left, -tau, o)
		ws.level += tau
	}
	for i, t := range left {
		linalg.Axpy(ws.w[:f], -t, ws.factor.Column(i)[:f])
		v[i] += t
	}
	ws.leave()
	ws.factor.Solve(v)
	for i := range ws.set {
		ws.set[i].u = v[i] / ws.set[i].norm
	}
	for j, v := range ws.z {
		ws.termSizes[j] = math.Abs(v)
	}
	if !ws.p.H.couples() {
		for a, j := range ws.free {
			ws.termSizes[j] = ws.step[a] / ws.metric.root[a]
		}
	}
	ws.lagrangian(ws.force, ws.sizes, ws.z, 1, func(a *active) float64 { return a.u })
}

// leave computes z from w.
func (ws *Workspace) leave() {
	v := ws.rest[:len(ws.free)]
	copy(v, ws.w)
	ws.metric.solve(v)
	copy(ws.z, ws.at)
	linalg.Scatter(ws.z, ws.free, v)
}

// lagrangian sets force, at the entries that are fixed or would be, to H z + c t and the gradients of members that are no bounds times their weights, and sizes to
// the sizes of the terms.
func (ws *Workspace) lagrangian(force, sizes, z []float64, t float64, weight func(*active) float64) {
	if len(ws.free) == ws.n {
		return
	}
	ws.p.H.multiply(force, z)
	for j, v := range force {
		c := t * ws.p.C[j]
		force[j], sizes[j] = v+c, math.Abs(v)+math.Abs(c)
	}
	for i := range ws.set {
		if a := &ws.set[i]; !ws.isBound(a.number) {
			ws.addGradient(force, sizes, a.number, weight(a))
		}
	}
}

// objective is the dual objective where the multipliers are feasible: the Lagrangian, from its least value without constraints and pieces.
func (ws *Workspace) objective() float64 {
	k := ws.metric.k
	s := 0.0
	for a, v := range ws.w[:k] {
		d := v + ws.rhs[a]
		s += d * d
	}
	floats.SubTo(ws.normal, ws.z, ws.z0)
	ws.p.H.multiply(ws.bend, ws.normal)
	return ws.level + (s+linalg.Dot(ws.bend[k:], ws.normal[k:]))/2
}
