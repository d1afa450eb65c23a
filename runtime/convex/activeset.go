package convex

import (
	"math"

	"bilevelc/internal/each"
	"bilevelc/runtime/tolerance"
)

// ActiveSet solves on the face of the guess and moves rows and bounds whose signs
// are wrong, all at once, until none is or the number of wrong ones has not
// fallen for a few rounds: the primal-dual active-set method, a semismooth
// Newton method, which ends in a few rounds from a good guess but need not
// from another. Where no sign is wrong and the rows contradict each other on the face, one
// gives way. It reports whether the point is the minimizer.
func (s *Solver) ActiveSet(rounds int) bool {
	least, patience := math.MaxInt, 3
	for range rounds {
		if !s.onFace() {
			return false
		}
		wrong := s.exchange(true)
		if wrong == 0 {
			if s.met() {
				return true
			}
			if s.lenient || !s.yield() {
				return false
			}
			continue
		}
		if wrong < least {
			least, patience = wrong, 3
		} else if patience--; patience == 0 {
			return false
		}
	}
	return false
}

// met reports whether the active rows hold to rounding, as they do unless the face is
// empty: where a bound or a row too many is held, the rows say so by what they are off.
func (s *Solver) met() bool {
	tolerance := tolerance.Feasibility
	if s.lenient {
		tolerance *= 1e3
	}
	size := s.size()
	for i, active := range s.active {
		if !active {
			continue
		}
		terms := s.rowSize(i, size)
		if s.sides != nil {
			terms += s.sides[i]
		}
		if v := math.Abs(s.r[i] - s.rowDot(i, s.y)); !(v <= tolerance*terms) {
			return false
		}
	}
	return true
}

// yield lets go of the bound or row that keeps the active rows from holding. What least
// squares leave of them, v, is orthogonal to the free variables: multipliers may move along v,
// up to where that of a bound or of an inequality is 0 (the ratio test of the dual simplex
// method), which is the one to let go. It reports whether there is one.
func (s *Solver) yield() bool {
	v, largest := make([]float64, s.m), 0.0
	for i, active := range s.active {
		if active {
			v[i] = s.r[i] - s.rowDot(i, s.y)
			largest = math.Max(largest, math.Abs(v[i]))
		}
	}
	rowForces := make([]float64, s.n)
	s.subtractRowForces(rowForces, v) // -B'v
	copy(s.rest, s.grad)
	s.subtractRowForces(s.rest[:s.n], s.lambda)
	least, bound, row := math.Inf(1), -1, -1
	for j, at := range s.state {
		if p := -rowForces[j]; (at == Lower && p > tolerance.Sign*largest || at == Upper && p < -tolerance.Sign*largest) && s.rest[j]/p < least {
			least, bound = s.rest[j]/p, j
		}
	}
	for i, active := range s.active {
		if active && !s.equal[i] && v[i] < -tolerance.Sign*largest && s.lambda[i]/-v[i] < least {
			least, bound, row = s.lambda[i]/-v[i], -1, i
		}
	}
	switch {
	case bound >= 0:
		s.put(bound, Free)
	case row >= 0:
		s.hold(row, false)
	default:
		return false
	}
	return true
}

// exchange returns how many signs are wrong at the present point, and moves what
// has them where move is set.
func (s *Solver) exchange(move bool) (wrong int) {
	put := func(j int, state int8) {
		wrong++
		if move {
			s.put(j, state)
		}
	}
	hold := func(i int, active bool) {
		wrong++
		if move {
			s.hold(i, active)
		}
	}
	slack := tolerance.Feasibility * s.size()
	copy(s.rest, s.grad)
	s.subtractRowForces(s.rest[:s.n], s.lambda)
	for j, at := range s.state {
		switch at {
		case Free:
			switch v := s.y[j]; {
			case v < s.lo[j]-slack-tolerance.FewRoundings*math.Abs(s.lo[j]):
				put(j, Lower)
			case v > s.hi[j]+slack+tolerance.FewRoundings*math.Abs(s.hi[j]):
				put(j, Upper)
			}
		case Lower:
			if s.rest[j] < -tolerance.Rounded*s.own[j] {
				put(j, Free)
			}
		case Upper:
			if s.rest[j] > tolerance.Rounded*s.own[j] {
				put(j, Free)
			}
		}
	}
	for i := range s.active {
		if s.equal[i] {
			continue
		}
		if s.active[i] {
			// A multiplier is made of the terms in the gradient's entries that its row involves.
			cols, _ := s.rows.Row(i)
			if s.lambda[i] < -tolerance.Rounded*each.Largest(cols, func(j int) float64 { return s.own[j] }) {
				hold(i, false)
			}
		} else if v := s.rowDot(i, s.y) - s.r[i]; v < -slack-tolerance.FewRoundings*math.Abs(s.r[i]) {
			hold(i, true)
		}
	}
	return wrong
}
