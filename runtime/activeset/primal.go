package activeset

import (
	"context"
	"math"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// primal releases constraints whose multipliers have the wrong sign, one after
// another, while z stays feasible: the objective falls.
func (s *Solver) primal(ctx context.Context) outcome {
	next := func() (int, outcome) { return s.mostWrong(), done }
	return s.phase(ctx, next, s.release, s.perturbSides, func() bool {
		for k := range s.st.v {
			if by, _ := s.st.violation(k); !s.tab.active[k] && by > s.st.tolV[k] {
				return false
			}
		}
		return true
	})
}

// mostWrong is the active constraint whose release promises most: the square
// of its multiplier next to the weight of its column, -1 where all signs are right.
func (s *Solver) mostWrong() int {
	s.list = s.list[:0]
	for k := range s.st.m {
		if !s.tab.active[k] {
			continue
		}
		if by := s.st.excess(k); by > s.st.tolM[k] {
			if s.leastIndex {
				return k
			}
			s.list = append(s.list, candidate{k: k, size: by})
		}
	}
	return s.best(false)
}

// release moves the value of the active constraint q from its side until its
// multiplier is 0, where it leaves the working set, or until it is at its
// other side. Constraints in the way become active. It returns by how much the
// objective has fallen, 0 where rounding could hide it.
func (s *Solver) release(q int) (fall float64, o outcome) {
	t, st := s.tab, s.st
	s.released = q
	sign := 1.0
	if st.m[q] > 0 {
		sign = -1
	}
	for {
		if s.iterations++; s.iterations > s.limit {
			return fall, spent
		}
		col := t.first
		t.column(col, q)
		t.curvature(q, col)
		curvature := max(col[q], 0)
		wrong := max(-sign*st.m[q], 0)
		var own float64
		if sign > 0 {
			own = st.hi[q] - st.v[q]
		} else {
			own = st.v[q] - st.lo[q]
		}
		p, step, full := s.primalRatio(col, sign, curvature, wrong)
		if !full && step >= own && !math.IsInf(own, 1) || full && own < step {
			s.move(q, sign*own, col)
			st.side[q] = AtUpper
			if sign < 0 {
				st.side[q] = AtLower
			}
			st.v[q] = st.bound(q)
			return fall + wrong*own, done
		}
		if !full && p < 0 {
			if s.endless(q, sign, col) {
				return fall, noEnd
			}
			if t.pivots > 0 {
				return fall, unreliable
			}
			st.tolM[q] = 2 * wrong // of an exact tableau: rounding
			return fall, done
		}
		if p >= 0 && t.pivots > checkEvery && math.Abs(col[p]) < tolerance.HalfDigits*(1+linalg.NormInf(col)) {
			return fall, unreliable
		}
		s.move(q, sign*step, col)
		if full || step*math.Abs(col[p]) > st.tolV[p] {
			fall += step * wrong
		}
		if full {
			st.m[q] = 0
			t.pivot1(q, col)
			st.side[q] = Inactive
			return fall, done
		}
		at := AtLower
		if sign*col[p] > 0 {
			at = AtUpper
		}
		cp := t.second
		t.column(cp, p)
		if t.curvature(p, cp); cp[p] < 0 {
			t.pivot1(p, cp)
			st.side[p], st.m[p] = at, 0
			s.toSide(p, cp)
			continue
		}
		e, rest := col[p], -st.m[q]
		if !t.linear {
			// m_q moves by `rest`, v_p by 0
			a, d := col[q], cp[p]
			det := a*d - e*e
			s.move(q, rest*d/det, col)
			s.move(p, -rest*e/det, cp)
		} else {
			s.move(p, rest/e, cp)
		}
		st.m[q] = 0
		t.pivot2(q, p, col, cp)
		st.side[p], st.side[q] = at, Inactive
		s.toSide(p, cp)
		return fall, done
	}
}

// primalRatio finds how far the value of a constraint that is released can
// move: to where its multiplier, which is wrong by `wrong` and changes at the
// rate `curvature`, is 0 (full), or to where the inactive constraint p meets
// its side; p is -1 where nothing ends it. Of those that block within the
// tolerance the largest rate is taken.
func (s *Solver) primalRatio(col []float64, sign, curvature, wrong float64) (p int, step float64, full bool) {
	t, st := s.tab, s.st
	least := tolerance.SolveAccuracy * (1 + linalg.NormInf(col))
	s.list = s.list[:0]
	reach := math.Inf(1)
	for k, c := range col {
		if t.active[k] || c < least && c > -least {
			continue
		}
		room := st.hi[k] - st.v[k]
		if sign*c < 0 {
			room = st.v[k] - st.lo[k]
		}
		if math.IsInf(room, 1) {
			continue
		}
		c = math.Abs(c)
		reach = min(reach, (max(room, 0)+st.tolV[k])/c)
		s.list = append(s.list, candidate{k, c, max(room, 0)})
	}
	end := math.Inf(1)
	if curvature > 0 {
		end = wrong / curvature
	}
	p, step = -1, math.Inf(1)
	size := 0.0
	for _, c := range s.list {
		ratio := c.room / c.size
		switch {
		case s.leastIndex:
			if ratio < step {
				p, step = c.k, ratio
			}
		case ratio <= reach && c.size > size:
			p, step, size = c.k, ratio, c.size
		}
	}
	if end <= step || !s.leastIndex && end <= reach {
		return -1, end, curvature > 0
	}
	return p, step, false
}

// perturbSides moves the sides of inactive constraints outward by amounts that
// differ, so that ratio tests have no ties. Solve puts them back.
func (s *Solver) perturbSides() {
	st := s.st
	s.perturbed = true
	for k := range st.v {
		if s.tab.active[k] || st.fixed(k) {
			continue
		}
		by := max(st.tolV[k], tolerance.Sign*st.unit[k]) * 100 // as in perturbMultipliers
		st.lo[k] -= by * (1 + s.random())
		st.hi[k] += by * (1 + s.random())
	}
}
