package lower

import (
	"bilevelc/runtime/linalg"
	"math"
	"slices"
)

// tie finds a weak row where an equality row was let go because inequality rows hold what it holds,
// but move otherwise with x: they hold together at this x alone, and beside it one of the
// inequalities has to give way. Multipliers are a choice there; the one taken gives the equality a
// multiplier, by an exchange in which one of the inequalities loses its own, and that row is weak. Where it
// depends on equalities alone, which then tie x, or on rows that pin an entry of y wherever x is,
// nothing gives way.
func (s *Solution) tie(q *polyhedron, working workingSet) (exchanged bool) {
	for _, i := range s.Dependent {
		if !q.equal(i) || s.redundant(q, working, i) {
			continue
		}
		combination := make([]float64, q.m)
		if !working.spans(i, combination) {
			continue
		}
		leaving, least := -1, math.Inf(1)
		for t, c := range combination {
			force := math.Abs(c) * q.norm[t]
			if q.equal(t) || force <= math.Sqrt(dependence)*q.norm[i] || !slices.Contains(s.Active, t) || q.pinned(t) {
				continue
			}
			if ratio := s.Lambda[t] / math.Abs(c); ratio < least {
				leaving, least = t, ratio
			}
		}
		if leaving < 0 {
			continue
		}
		step := s.Lambda[leaving] / combination[leaving]
		for t, c := range combination {
			if s.Lambda[t] -= step * c; !q.equal(t) {
				s.Lambda[t] = math.Max(0, s.Lambda[t])
			}
		}
		s.Lambda[i] += step
		s.Lambda[leaving] = 0
		at := slices.Index(s.Active, leaving)
		s.Active = slices.Delete(s.Active, at, at+1)
		s.Dependent = slices.DeleteFunc(s.Dependent, func(k int) bool { return k == i })
		s.Weak = append(s.Weak, leaving)
		slices.Sort(s.Weak)
		return true
	}
	return false
}

// pinned reports that row i is a bound of an entry of y of which the other bound is the same
// function of x.
func (q *polyhedron) pinned(i int) bool {
	j := q.bound[i]
	if j < 0 {
		return false
	}
	others, _ := q.cols.Row(j)
	for _, t := range others {
		if q.bound[t] != j || t == i || q.coef[t]*q.coef[i] > 0 && !q.equal(t) {
			continue
		}
		ratio := q.coef[t] / q.coef[i]
		moves := map[int]float64{}
		for row, c := range map[int]float64{i: ratio, t: -1} {
			cols, vals := q.rows.A.Row(row)
			for k, col := range cols {
				moves[col] += c * vals[k]
			}
		}
		same := q.rhs[t] == q.rhs[i]*ratio
		for _, d := range moves {
			same = same && d == 0
		}
		if same {
			return true
		}
	}
	return false
}

// settle sets what follows from other multipliers and active rows.
func (s *Solution) settle(q *polyhedron, grad, rest []float64) {
	q.subtractPull(rest, grad, s.Lambda)
	s.Residuals.Stationarity = linalg.NormInf(rest)
	s.MinMultiplier, s.Residuals.Complementarity = math.Inf(1), 0
	for _, i := range s.Active {
		if !q.equal(i) {
			s.MinMultiplier = math.Min(s.MinMultiplier, s.Lambda[i])
			s.Residuals.Complementarity = math.Max(s.Residuals.Complementarity, math.Abs(s.Lambda[i]*q.slack(i, s.Y)*q.norm[i]))
		}
	}
}
