package convex

import "math"

// Tolerances of signs, relative to the size of the point and to the terms of the
// entry of the gradient: a little above what rounding leaves on a face, so that
// it does not move rows in and out for ever. Below it a row is as good as on
// its bound, and a multiplier as good as 0.
const (
	slackTolerance      = 1e-13
	multiplierTolerance = 1e-12
)

// ActiveSet solves on the face of the guess and moves rows and bounds whose signs
// are wrong, all at once, until none is or the number of wrong ones has not
// fallen for a few rounds: the primal-dual active-set method, a semismooth
// Newton method, which ends in a few rounds from a good guess but need not
// from another. It reports whether the point is the minimizer.
func (s *Solver) ActiveSet(rounds int) bool {
	least, patience := math.MaxInt, 3
	for range rounds {
		if !s.onFace() {
			return false
		}
		wrong := s.exchange(true)
		if wrong == 0 {
			return s.met()
		}
		if wrong < least {
			least, patience = wrong, 3
		} else if patience--; patience == 0 {
			return false
		}
	}
	return false
}

// met reports whether the active rows hold to rounding, as they do unless the
// face is empty.
func (s *Solver) met() bool {
	_, primal := s.correct(false)
	return primal <= 1e3*slackTolerance
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
	slack := slackTolerance * s.size()
	copy(s.rest, s.grad)
	s.subtractPull(s.rest[:s.n], s.lambda)
	for j, at := range s.state {
		switch at {
		case Free:
			switch v := s.y[j]; {
			case v < s.lo[j]-slack-rounding*math.Abs(s.lo[j]):
				put(j, Lower)
			case v > s.hi[j]+slack+rounding*math.Abs(s.hi[j]):
				put(j, Upper)
			}
		case Lower:
			if s.rest[j] < -multiplierTolerance*s.own[j] {
				put(j, Free)
			}
		case Upper:
			if s.rest[j] > multiplierTolerance*s.own[j] {
				put(j, Free)
			}
		}
	}
	for i := range s.active {
		if s.equal[i] {
			continue
		}
		if s.active[i] {
			if s.lambda[i] < -multiplierTolerance*s.around(i) {
				hold(i, false)
			}
		} else if v := s.rowDot(i, s.y) - s.r[i]; v < -slack-rounding*math.Abs(s.r[i]) {
			hold(i, true)
		}
	}
	return wrong
}

// around is the largest size of the terms in the gradient's entries that row i
// involves: what its multiplier is made of.
func (s *Solver) around(i int) float64 {
	most := 0.0
	for _, j := range s.b.Col[s.b.Ptr[i]:s.b.Ptr[i+1]] {
		most = math.Max(most, s.own[j])
	}
	return most
}
