package qp

import (
	"cmp"
	"context"
	"math"
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// guessed is how near dependence a guess of the working set is taken.
var guessed = math.Sqrt(tolerance.Dependence)

// solve finds the minimizer from the state, a guess. It returns Solved, Stopped or
// Failed, for numerical reasons; rows and bounds must have a common point.
func (q *master) solve() Status {
	if q.ctx == nil {
		q.ctx = context.Background()
	}
	q.tolerance = tolerance.Feasibility
	q.admit()
	if !q.load(guessed) || !q.restore() {
		return Failed
	}
	var kept state
	var broken []breach
	best, portion := math.Inf(-1), math.MaxInt
	for limit := 100 + 4*(q.n+len(q.pieces)+len(q.side)); limit > 0; limit-- {
		if q.ctx.Err() != nil {
			return Stopped
		}
		now := q.objective()
		if math.IsNaN(now) {
			return Failed
		}
		if now > best {
			if broken = q.violated(broken); len(broken) == 0 {
				return Solved
			}
			q.furthest(broken)
			best, kept = now, q.state()
			if portion < len(broken) {
				portion *= 2
			}
		} else {
			q.reset(kept)
			if portion = min(portion, len(broken)) / 2; portion == 0 {
				break
			}
		}
		q.take(broken[:min(portion, len(broken))])
		if !q.load(guessed) || !q.restore() {
			return Failed
		}
	}
	q.reset(kept)
	if !q.load(guessed) || !q.restore() {
		return Failed
	}
	return q.ascend()
}

// furthest sorts breaches by their distances, those of equalities first.
func (q *master) furthest(broken []breach) {
	for i := range broken {
		b := &broken[i]
		b.away = b.by
		if l := q.length(&b.member); l > 0 {
			b.away /= l
		}
		if b.kind == ofRow && q.equal[b.index] {
			b.away = math.Inf(1)
		}
	}
	slices.SortStableFunc(broken, func(a, b breach) int { return cmp.Compare(b.away, a.away) })
}

// state is a copy of what a master begins from.
type state struct {
	fixed []int8
	set   []member
}

func (q *master) state() state {
	return state{slices.Clone(q.fixed), slices.Clone(q.set)}
}

func (q *master) reset(s state) {
	q.fixed, q.set = slices.Clone(s.fixed), slices.Clone(s.set)
}

// admit makes a guess one that a solve may begin from: entries without room are fixed,
// equalities take part, and one piece at least.
func (q *master) admit() {
	for j := range q.fixed {
		switch {
		case q.lo[j] >= q.hi[j]:
			q.fixed[j] = -1
		case q.fixed[j] < 0 && math.IsInf(q.lo[j], -1), q.fixed[j] > 0 && math.IsInf(q.hi[j], 1):
			q.fixed[j] = 0
		}
	}
	var set []member
	for i, eq := range q.equal {
		if eq {
			set = append(set, member{constraint: constraint{ofRow, i}, sign: 1})
		}
	}
	pieces := 0
	for _, m := range q.set {
		if m.kind == ofRow && q.equal[m.index] {
			continue
		}
		if m.kind == ofPiece {
			pieces++
		}
		set = append(set, m)
	}
	if pieces == 0 {
		// The largest one at d = 0; of equals the first.
		first := 0
		for i := range q.pieces {
			if q.pieces[i].Offset > q.pieces[first].Offset {
				first = i
			}
		}
		set = append([]member{{constraint: constraint{ofPiece, first}, sign: 1}}, set...)
	}
	q.set = set
}

// slack is the multiplier of a fixed entry's bound, and rounding its size of nothing.
func (q *master) slack(j int) (multiplier, rounding float64) {
	m := q.force[j]
	if q.fixed[j] > 0 {
		m = -m
	}
	return m, tolerance.Feasibility * q.sizes[j]
}

// restore leaves out of the working set, in blocks, what has a multiplier of the wrong
// sign, until none has: the point is then the solution of a subproblem, from which a
// dual method may go on. It reports false where numbers fail.
func (q *master) restore() bool {
	for {
		if len(q.set) == 0 || !slices.ContainsFunc(q.set, func(m member) bool { return m.kind == ofPiece }) {
			return false
		}
		q.refresh()
		freed := false
		var out []int
		for i := range q.set {
			m := &q.set[i]
			if math.IsNaN(m.z) {
				return false
			}
			if m.kind == ofRow && q.equal[m.index] {
				continue
			}
			if m.z < 0 {
				out = append(out, i)
			}
		}
		for j, f := range q.fixed {
			if f == 0 || q.lo[j] >= q.hi[j] {
				continue
			}
			if m, rounding := q.slack(j); m < -rounding {
				q.fixed[j], freed = 0, true
			}
		}
		if len(out) == 0 && !freed {
			return true
		}
		q.changes += len(out)
		for i := len(out) - 1; i >= 0; i-- {
			if freed {
				q.set = append(q.set[:out[i]], q.set[out[i]+1:]...)
			} else {
				q.drop(out[i])
			}
		}
		if freed && !q.load(guessed) {
			return false
		}
	}
}

// breach is a constraint that d violates, by more than rounding.
type breach struct {
	member
	by   float64 // > 0
	away float64 // see furthest
}

// violated lists the breaches at d in the order of constraints; dst is overwritten.
func (q *master) violated(dst []breach) []breach {
	dst = dst[:0]
	consider := func(m member, by, terms float64) {
		if !(by > q.tolerance*terms) || q.inSet[m.constraint] || q.ignored[m.constraint] {
			return
		}
		dst = append(dst, breach{member: m, by: by})
	}
	for i := range q.pieces {
		m := member{constraint: constraint{ofPiece, i}, sign: 1}
		if q.inSet[m.constraint] {
			continue
		}
		a := &q.pieces[i]
		if by := q.value(&m, q.d) - q.level; by > 0 {
			consider(m, by, math.Abs(a.Offset)+math.Abs(q.level)+q.extent(a.Gradient))
		}
	}
	for i := range q.side {
		m := member{constraint: constraint{ofRow, i}, sign: 1}
		if q.inSet[m.constraint] {
			continue
		}
		by := q.value(&m, q.d)
		if q.equal[i] && by < 0 {
			m.sign, by = -1, -by
		}
		if by <= 0 {
			continue
		}
		terms := math.Max(math.Abs(q.side[i]), q.terms[i])
		terms = q.rows.AddTerms(terms, i, q.d)
		consider(m, by, terms)
	}
	for _, j := range q.free {
		switch {
		case q.d[j] < q.lo[j]:
			consider(member{constraint: constraint{ofBound, j}, sign: -1}, q.lo[j]-q.d[j], math.Abs(q.lo[j])+math.Abs(q.d[j]))
		case q.d[j] > q.hi[j]:
			consider(member{constraint: constraint{ofBound, j}, sign: 1}, q.d[j]-q.hi[j], math.Abs(q.hi[j])+math.Abs(q.d[j]))
		}
	}
	return dst
}

// extent is sum_j |g_j d_j|.
func (q *master) extent(g []float64) float64 {
	s := 0.0
	for j, v := range g {
		s += math.Abs(v * q.d[j])
	}
	return s
}

// length is the Euclidean norm of a constraint's gradient.
func (q *master) length(m *member) float64 {
	switch m.kind {
	case ofPiece:
		return linalg.Norm(q.pieces[m.index].Gradient)
	case ofRow:
		_, vals := q.rows.Row(m.index)
		return linalg.Norm(vals)
	}
	return 1
}

// take puts violated bounds and rows into the working set, and the first one of the
// pieces: two pieces of much the same gradient would only be in each other's way.
func (q *master) take(broken []breach) {
	taken := false
	for i := range broken {
		b := &broken[i]
		switch b.kind {
		case ofPiece:
			if taken {
				continue
			}
			taken = true
		case ofBound:
			q.fixed[b.index] = int8(b.sign)
			continue
		}
		q.set = append(q.set, member{constraint: b.constraint, sign: 1})
	}
	q.changes += len(broken)
}
