package qp

import (
	"math"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// ascend brings the violated constraints in one by one, the furthest first, each by
// steps that raise the dual objective.
func (q *master) ascend() Status {
	limit := q.changes + 100 + 40*(q.n+len(q.pieces)+len(q.side))
	var broken []breach
	best, stalls := q.objective(), 0
	for {
		if q.ctx.Err() != nil {
			return Stopped
		}
		if broken = q.violated(broken); len(broken) == 0 {
			return Solved
		}
		q.furthest(broken)
		if q.changes > limit || !q.enter(broken[0]) {
			return Failed
		}
		// A step that does not raise the dual objective is a violation at the level of
		// rounding: widen that, at most to where constraints are anyhow undecided.
		if now := q.objective(); now > best {
			best, stalls = now, 0
		} else if stalls++; stalls > 3 && q.tolerance < tolerance.Contradiction {
			q.tolerance *= 10
			stalls = 0
		}
	}
}

// enter takes steps in the dual space until the constraint holds, and is in the
// working set. With b its column, oriented by its sign, and
// QR those of the working set, raising its multiplier by t moves
//
//	z by t (-R^-1 Q'b - sigma R^-1 R^-T o),  U d by t (-rest + sigma Q R^-T o),
//
// sigma = (its own price - o'R^-1 Q'b) / |R^-T o|^2, until it holds, or the multiplier
// of another one is 0. It reports false where numbers fail.
func (q *master) enter(b breach) bool {
	m, by := b.member, b.by
	first := true
	for {
		q.changes++
		f, k := len(q.free), len(q.set)
		column := q.column(&m)
		turned := m.sign
		if m.kind == ofBound {
			turned = 1 // column minds the sign
		}
		for a := range column {
			column[a] *= turned
		}
		norm := m.norm
		coef, rest := make([]float64, f+1), make([]float64, f+1)
		left := 0.0
		if norm > 0 {
			left = q.factor.Split(column, coef, rest)
			// 32 is how many more of them the products with the data take, of which feasibility allows for hundreds, than those with the
			// columns.
			if first && by <= q.tolerance/32*q.size*norm {
				q.ignored[m.constraint] = true // within what rounding of w makes of it
				return true
			}
		} else {
			norm = 1 // it reads fixed entries alone
		}
		first = false
		if left <= tolerance.Dependence {
			left = 0
			clear(rest)
		}
		cost := make([]float64, k)
		for i := range q.set {
			cost[i] = q.set[i].one
		}
		q.factor.SolveT(cost)
		own := linalg.Dot(cost, cost)
		sigma := (m.one - linalg.Dot(cost, coef[:k])) / own
		if left == 0 {
			sigma = 0
		}
		move := make([]float64, k)
		for i := range move {
			move[i] = -coef[i] - sigma*cost[i]
		}
		q.factor.Solve(move)
		for a := range rest {
			rest[a] = -rest[a]
		}
		for i, p := range cost {
			linalg.Axpy(rest, sigma*p, q.factor.Column(i))
		}
		q.metric.solve(rest[:f])
		step := make([]float64, q.n)
		for a, j := range q.free {
			step[j] = rest[a]
		}
		rate := left*left + sigma*sigma*own // of by/norm
		pieces := 0
		for i := range q.set {
			if q.set[i].kind == ofPiece {
				pieces++
			}
		}
		only := pieces == 1
		for i := range q.set {
			s := &q.set[i]
			if s.move = move[i] / s.norm; s.kind == ofPiece && only && m.kind != ofPiece {
				s.move = 0 // the weight of one piece is 1
			}
		}
		// What the multipliers of fixed entries follow from.
		force := q.shift(&m, turned/norm, step)
		full := math.Inf(1)
		if rate > 0 {
			full = by / norm / rate
		}
		t, leaving, freeing := math.Inf(1), -1, -1
		for i := range q.set {
			s := &q.set[i]
			if s.kind == ofRow && q.equal[s.index] {
				continue
			}
			if s.move < 0 {
				if at := math.Max(s.z, 0) / -s.move; at < t {
					t, leaving = at, i
				}
			}
		}
		for j, fx := range q.fixed {
			if fx == 0 || q.lo[j] >= q.hi[j] {
				continue
			}
			v, change := q.force[j], force[j]
			if fx > 0 {
				v, change = -v, -change
			}
			if change < -tolerance.Feasibility*q.sizes[j]/norm {
				if at := math.Max(v, 0) / -change; at < t {
					t, leaving, freeing = at, -1, j
				}
			}
		}
		if full <= t {
			if math.IsInf(full, 1) {
				return q.give(&m, by)
			}
			if m.kind != ofBound {
				m.sign = 1
			}
			// The unoriented column.
			column = q.column(&m)
			left = q.factor.Split(column, coef, rest)
			q.push(m, coef, rest, left)
			return q.refreshed()
		}
		for i := range q.set {
			q.set[i].z += t * q.set[i].move
		}
		linalg.Axpy(q.force, t, force)
		by -= t * rate * norm
		switch {
		case freeing >= 0:
			q.fixed[freeing] = 0
			if !q.reload() {
				return false
			}
		default:
			s := q.set[leaving]
			if s.kind == ofPiece && only {
				// The whole weight is on the entering one now.
				q.drop(leaving)
				column = q.column(&m)
				left = q.factor.Split(column, coef, rest)
				q.push(m, coef, rest, left)
				return q.refreshed()
			}
			q.drop(leaving)
		}
	}
}

// shift is the change of force in a step, the entering constraint's multiplier growing
// by t.
func (q *master) shift(m *member, t float64, step []float64) []float64 {
	kept, sizes := q.force, q.sizes
	q.force, q.sizes = make([]float64, q.n), make([]float64, q.n)
	q.h.multiply(q.force, step)
	for i := range q.set {
		q.add(&q.set[i], q.set[i].move)
	}
	q.add(m, t)
	out := q.force
	q.force, q.sizes = kept, sizes
	return out
}

// refreshed recomputes what follows from a working set that has changed, and reports
// whether the numbers hold.
func (q *master) refreshed() bool {
	q.refresh()
	return !math.IsNaN(q.level)
}

// reload factorizes for other free entries, with the multipliers as they are.
func (q *master) reload() bool {
	d, force := q.d, q.force
	k := 0
	for _, m := range q.set {
		if m.kind != ofBound {
			k++
		}
	}
	if !q.load(tolerance.Dependence) {
		return false
	}
	q.d, q.force = d, force
	// All members stay independent where entries become free.
	return len(q.set) == k
}

// give deals with a constraint that nothing can satisfy any more: to rounding it is
// satisfied, or numbers have failed.
func (q *master) give(m *member, by float64) bool {
	terms := math.Abs(q.value(m, q.at))
	switch m.kind {
	case ofPiece:
		terms += math.Abs(q.level) + q.extent(q.pieces[m.index].Gradient)
	case ofRow:
		terms += math.Max(math.Abs(q.side[m.index]), q.terms[m.index])
		terms = q.rows.AddTerms(terms, m.index, q.d)
	default:
		terms += math.Abs(q.d[m.index])
	}
	if by > tolerance.Contradiction*terms {
		return false
	}
	q.refresh()
	q.ignored[m.constraint] = true
	return true
}
