package activeset

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// outcome is how a phase ended.
type outcome uint8

const (
	done       outcome = iota // the phase has what it looks for
	noPoint                   // dual: a constraint cannot be met
	noEnd                     // primal: the objective falls without end
	beyond                    // dual: the bound is beyond the cutoff
	halted                    // context
	spent                     // limit of pivots
	unreliable                // pivots too small to trust: rebuild and go on
)

// dual makes violated constraints active, one after another, while the
// multipliers of active constraints keep their signs: the dual function rises.
func (s *Solver) dual(ctx context.Context) outcome {
	next := func() (int, outcome) {
		if s.beyondCutoff() {
			return -1, beyond
		}
		return s.mostViolated(), done
	}
	return s.phase(ctx, next, s.enter, s.perturbMultipliers, func() bool {
		s.shiftExcess(func(k int) float64 { return s.st.tolM[k] })
		return true
	})
}

// phase moves by the constraint that next names until that is -1, with the outcome
// beside it. A move reports by how much its function has changed; where that stands
// still perturb is called, and after each comparison with the data keeps has to hold.
func (s *Solver) phase(ctx context.Context, next func() (int, outcome), move func(k int) (float64, outcome), perturb func(), keeps func() bool) outcome {
	s.idle = 0
	for {
		if o := s.tick(ctx); o != done {
			return o
		}
		k, o := next()
		if k < 0 {
			return o
		}
		start := s.iterations
		change, o := move(k)
		if o != done {
			return o
		}
		if s.stalls(change > 0, s.iterations-start) && !s.leastIndex {
			perturb()
		}
		if s.tab.pivots-s.checked > checkEvery {
			if s.tab.sparse && s.tab.worn() && !s.rebuild() {
				return unreliable
			}
			if s.checked = s.tab.pivots; !s.refresh() || !keeps() {
				return unreliable
			}
		}
	}
}

// checkEvery is the number of pivots between two comparisons with the data.
// They cost about as much as one pivot.
const checkEvery = 32

// mostViolated is the inactive constraint that promises most: the square of
// its violation next to the weight of its column, -1 where none is violated.
// Exact weights of the largest violations only keep the choice cheap.
func (s *Solver) mostViolated() int {
	t, st := s.tab, s.st
	s.list = s.list[:0]
	for k := range st.v {
		if t.active[k] {
			continue
		}
		if by, _ := st.violation(k); by > st.tolV[k] {
			if s.leastIndex {
				return k
			}
			s.list = append(s.list, candidate{k: k, size: by})
		}
	}
	return s.best(true)
}

// best is, of the `wide` candidates of largest size, the one with the largest
// square of its size next to its weight; -1 where there are none.
func (s *Solver) best(active bool) int {
	const wide = 16 // weights to compute; a column is 1/n of a pivot
	at, most := -1, -1.0
	if s.tab.sparse { // they are known
		for _, c := range s.list {
			if score := c.size * c.size / s.tab.weight(c.k, active); score > most {
				at, most = c.k, score
			}
		}
		return at
	}
	for n := min(wide, len(s.list)); n > 0; n-- {
		i := 0
		for j, c := range s.list {
			if c.size > s.list[i].size {
				i = j
			}
		}
		c := s.list[i]
		if len(s.list) == 1 && at < 0 {
			return c.k
		}
		if score := c.size * c.size / s.tab.weight(c.k, active); score > most {
			at, most = c.k, score
		}
		s.list[i] = s.list[len(s.list)-1]
		s.list = s.list[:len(s.list)-1]
	}
	return at
}

type candidate struct {
	k    int
	size float64 // violation; or rate, in a ratio test
	room float64 // multiplier, or distance, until it blocks
}

// enter raises the multiplier of the violated constraint p from 0 until its
// value is at its side, and makes it active. Constraints whose multipliers
// reach 0 before leave the working set, or change sides. It returns by how
// much the dual function has risen, 0 where rounding could hide it.
func (s *Solver) enter(p int) (rise float64, o outcome) {
	t, st := s.tab, s.st
	_, sign := st.violation(p)
	target, at := st.lo[p], AtLower
	if sign < 0 {
		target, at = st.hi[p], AtUpper
	}
	for {
		if s.iterations++; s.iterations > s.limit {
			return rise, spent
		}
		col := t.first
		t.column(col, p)
		t.curvature(p, col)
		d := max(-col[p], 0)
		left := sign * (target - st.v[p])
		q, step, flips, full := s.dualRatio(col, sign, d, left)
		proved := false
		if !full && q < 0 && left > st.tolV[p] {
			proved = s.farkas(p, sign, col) // no multiplier ends it and no curvature beyond the bound of its rounding
		}
		if !full && q < 0 && left <= st.tolV[p] {
			// A step before this one, with a rate that was within rounding, has
			// met the side: the rest is an objective with another term.
			st.shiftTo(p, 0)
			return rise, done
		}
		if !full && q < 0 {
			if proved {
				return rise, noPoint
			}
			if t.pivots > 0 {
				return rise, unreliable
			}
			// Of an exact tableau: the violation is within the rounding of the
			// weights that would prove it.
			st.tolV[p] = 2 * left
			return rise, done
		}
		if q >= 0 && t.pivots > checkEvery && math.Abs(col[q]) < tolerance.HalfDigits*(1+linalg.NormInf(col)) {
			return rise, unreliable
		}
		for _, k := range flips {
			s.iterations++
			s.flip(k, t.second)
		}
		s.move(p, -sign*step, col)
		if full || step*math.Abs(col[q]) > st.tolM[q] {
			rise += step * left
		}
		if full {
			st.v[p] = target
			t.pivot1(p, col)
			st.side[p] = at
			return rise, done
		}
		// The multiplier of q is 0, but for rounding and the tolerance of the
		// ratio test: an objective for which it is takes over.
		st.shiftTo(q, 0)
		cq := t.second
		t.column(cq, q)
		if t.curvature(q, cq); cq[q] > 0 {
			t.pivot1(q, cq)
			st.side[q] = Inactive
			continue
		}
		left = target - st.v[p]
		e := col[q]
		tau := 0.0
		if !t.linear {
			// v_p moves by `left`, m_q by 0
			a, d := col[p], cq[q]
			det := a*d - e*e
			tau = left * d / det
			s.move(p, tau, col)
			s.move(q, -left*e/det, cq)
		} else {
			s.move(q, left/e, cq)
		}
		st.v[p], st.m[q] = target, 0
		t.pivot2(p, q, col, cq)
		st.side[p], st.side[q] = at, Inactive
		return rise, done
	}
}

// shiftTo changes the objective's term in the value of k so that the
// multiplier of k is m.
func (s *state) shiftTo(k int, m float64) {
	if s.m[k] != m {
		s.shift[k] += m - s.m[k]
		s.m[k] = m
		s.shifted = true
	}
}

// shiftExcess makes multipliers 0 that have the wrong sign by more than the
// tolerance, by another objective.
func (s *Solver) shiftExcess(tolerance func(k int) float64) {
	for k := range s.st.m {
		if s.tab.active[k] && s.st.excess(k) > tolerance(k) {
			s.st.shiftTo(k, 0)
		}
	}
}

// dualRatio finds how far the multiplier of a violated constraint can rise:
// to where its value meets its side (full), or to where constraint q, whose
// multiplier is 0 there, leaves; q is -1 where nothing ends it. left is the
// violation, d its rate; col is the constraint's column. Constraints with a
// second side whose change of sides leaves a violation change sides instead
// (the long step of Fourer 1994; Maros 2003), where this moves no multiplier.
// Among those that block within the tolerance the largest rate is taken
// (Harris 1973).
func (s *Solver) dualRatio(col []float64, sign, d, left float64) (q int, step float64, flips []int, full bool) {
	t, st := s.tab, s.st
	least := tolerance.SolveAccuracy * (1 + linalg.NormInf(col))
	s.list, s.flips = s.list[:0], s.flips[:0]
	for k, c := range col {
		if !t.active[k] || c < least && c > -least || st.fixed(k) {
			continue
		}
		r := -sign * c // rate of m_k
		room := st.m[k]
		switch st.side[k] {
		case AtLower:
			if r > 0 {
				continue
			}
		case AtUpper:
			if r < 0 {
				continue
			}
			room = -room
		default:
			room = 0
		}
		s.list = append(s.list, candidate{k, math.Abs(r), max(room, 0)})
	}
	if s.leastIndex {
		return s.firstRatio(d, left)
	}
	for {
		reach := math.Inf(1)
		for _, c := range s.list {
			reach = min(reach, (c.room+st.tolM[c.k])/c.size)
		}
		end := math.Inf(1)
		if d > 0 {
			end = max(left, 0) / d
		}
		if end <= reach && d > 0 {
			return -1, end, s.flips, true
		}
		if len(s.list) == 0 {
			return -1, 0, s.flips, false
		}
		// those that block within the reach, and what their change of sides takes
		loss, at := 0.0, -1
		for i, c := range s.list {
			if c.room/c.size > reach {
				continue
			}
			if at < 0 || c.size > s.list[at].size {
				at = i
			}
			width := st.hi[c.k] - st.lo[c.k]
			if t.linear || t.at(c.k, c.k) == 0 {
				loss += width * c.size
			} else {
				loss = math.Inf(1)
			}
		}
		if at < 0 { // a rate or room is not a number
			return -1, 0, s.flips[:0], false
		}
		if left-loss-d*reach > 0 {
			keep := s.list[:0]
			for _, c := range s.list {
				if c.room/c.size > reach {
					keep = append(keep, c)
				} else {
					s.flips = append(s.flips, c.k)
				}
			}
			s.list = keep
			left -= loss
			continue
		}
		c := s.list[at]
		step := c.room / c.size
		if step >= end {
			return -1, end, s.flips, true
		}
		return c.k, step, s.flips, false
	}
}

// firstRatio is the ratio test without tolerance, and the least index of those
// that block first: with it the method ends (Chang, Cottle 1980).
func (s *Solver) firstRatio(d, left float64) (q int, step float64, flips []int, full bool) {
	q, step = -1, math.Inf(1)
	for _, c := range s.list {
		if r := c.room / c.size; r < step {
			q, step = c.k, r
		}
	}
	if d > 0 && max(left, 0)/d <= step {
		return -1, max(left, 0) / d, nil, true
	}
	return q, step, nil, false
}

// stalls reports that the objective has not moved for long: for more pivots
// than a fifth of the constraints, and 10 at least, which small ties take.
func (s *Solver) stalls(moved bool, pivots int) bool {
	s.idle += pivots
	stalled := !moved && s.idle > 10+s.tab.n/5
	if moved || stalled {
		s.idle = 0
	}
	return stalled
}

// perturbMultipliers moves the multipliers of active constraints away from 0 by
// shifts of the objective that differ, so that ratio tests have no ties.
func (s *Solver) perturbMultipliers() {
	st := s.st
	s.perturbed = true
	for k := range st.m {
		if !s.tab.active[k] || st.fixed(k) || st.side[k] == Held {
			continue
		}
		// 1e2 to 2e2 tolerances: far above rounding, and undone at the end.
		by := max(st.tolM[k], tolerance.Sign*st.unitM[k]) * 100 * (1 + s.random())
		if st.side[k] == AtUpper {
			by = -by
		}
		st.shiftTo(k, st.m[k]+by)
	}
}

// random is the next of a fixed sequence in [0, 1): of a linear congruential
// generator modulo 2^64 (Knuth).
func (s *Solver) random() float64 {
	s.seed = s.seed*6364136223846793005 + 1442695040888963407
	return float64(s.seed>>11) / (1 << 53)
}

// unshift gives the objective its own terms back. Where the working set
// determines other values for them, z moves there as far as the sides of
// inactive constraints allow; those in the way become active. z stays feasible.
func (s *Solver) unshift() {
	t, st := s.tab, s.st
	if !st.shifted {
		return
	}
	st.shifted = false
	clear(st.din)
	moves := false
	for k, d := range st.shift {
		if d == 0 {
			continue
		}
		st.shift[k] = 0
		if t.active[k] {
			st.m[k] -= d
			continue
		}
		st.din[k] = -d // in_k = -m_k is d, and goes to 0
		moves = moves || !t.linear
	}
	for left := 1.0; moves && left > 0; {
		s.iterations++
		dir := st.dout
		clear(dir)
		for k, d := range st.din {
			if d != 0 {
				t.column(t.first, k)
				floats.AddScaled(dir, d, t.first)
			}
		}
		p, step := -1, left
		for k, r := range dir {
			if t.active[k] {
				continue
			}
			room := math.Inf(1)
			if r > 0 {
				room = st.hi[k] - st.v[k]
			} else if r < 0 {
				room = st.v[k] - st.lo[k]
			}
			if r = math.Abs(r); r*left > st.tolV[k] && max(room, 0) < step*r {
				p, step = k, max(room, 0)/r
			}
		}
		for k, r := range dir {
			if t.active[k] {
				st.m[k] += step * r
			} else {
				st.v[k] += step * r
			}
		}
		left -= step
		if p < 0 {
			return
		}
		t.column(t.first, p)
		if t.curvature(p, t.first); t.first[p] >= 0 {
			return // the rest is for the phase that follows
		}
		st.side[p] = AtLower
		if dir[p] > 0 {
			st.side[p] = AtUpper
		}
		st.v[p], st.m[p] = st.bound(p), left*st.din[p]
		t.pivot1(p, t.first)
		st.din[p] = 0
	}
}
