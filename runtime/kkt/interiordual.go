package kkt

import (
	"math"
	"slices"

	"bilevelc/runtime/activeset"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// dual finds multipliers along the map of a block for those whose y nothing else bounds, positive for all x of their box (Interior.Mult). What moves the force on an entry of y goes to a bound of that entry where there is
// one; where there is none, the linear program is no longer one of the multipliers' middle alone, and is not tried.
func (l *limiter) dual(p Block, in *affine, out *Interior) {
	s, bounded := l.s, out.Curvature != nil
	if !bounded {
		bounded = true
		for _, j := range p.Y {
			lo, hi := l.box(s.Nx + j)
			bounded = bounded && !math.IsInf(lo, 0) && !math.IsInf(hi, 0)
		}
	}
	var costs []int
	for _, j := range p.Y {
		if l.read(s.G, j, &costs) != "" {
			return
		}
	}
	for _, c := range in.entries {
		if !slices.Contains(costs, c) {
			costs = append(costs, c)
		}
	}
	if n := float64(2 * len(p.Rows)); bounded || n*n*n/2 > tolerance.Second/10 {
		return
	}
	at := make([]float64, s.Ny)
	linalg.Scatter(at, p.Y, in.at)
	place := make(map[int]int, len(p.Rows))
	bound := make(map[int]int, len(p.Y)) // the row that bounds an entry
	for r, i := range p.Rows {
		place[i] = r
		if j, _ := s.P.Rows.Bound(i); j >= 0 && s.P.Rows.Kind[i] == problem.AtMost {
			bound[j] = r
		}
	}
	force, moves, by := make([]float64, len(p.Y)), make([]float64, len(p.Rows)), map[int][]float64{}
	for k, j := range p.Y {
		mid, slopes := l.force(in, at, j, costs)
		force[k] = mid
		for t, c := range costs {
			slope := slopes[t]
			if slope == 0 {
				continue
			}
			r, ok := bound[j]
			if !ok {
				return
			}
			if by[c] == nil {
				by[c] = make([]float64, len(p.Rows))
			}
			_, coef := s.P.Rows.Bound(p.Rows[r])
			by[c][r] += slope / coef
			moves[r] += math.Abs(slope / coef)
		}
	}
	mu := l.positive(p, place, force, moves)
	if mu == nil {
		return
	}
	out.Mult, out.MultBy = mu, by
	for c, slopes := range by {
		lo, hi := l.box(c)
		for r := range slopes {
			if hi > lo {
				slopes[r] /= (hi - lo) / 2
			} else {
				slopes[r] = 0
			}
			mu[r] -= slopes[r] * (lo + hi) / 2
		}
	}
}

// positive are multipliers of a block's rows (place: in its order) with B'mu = force, which are more than `moves` on inequalities: as many as can be, where all cannot; nil where none are known.
func (l *limiter) positive(p Block, place map[int]int, force, moves []float64) []float64 {
	s, rows := l.s, len(p.Rows)
	bt := s.P.Rows.B.T()
	for _, sum := range [2]bool{false, true} {
		m := newSlackProgram(rows, 0, rows, sum)
		for k, j := range p.Y {
			for i, v := range bt.Nonzeros(j) {
				m.A.Append(place[i], v*s.ColScale[s.Nx+s.Ny+i]*s.RowScale[j])
			}
			m.end(force[k]*s.RowScale[j], 0, 0)
		}
		for r, i := range p.Rows {
			if s.P.Rows.Kind[i] != problem.AtMost {
				continue
			}
			m.A.Append(r, 1)
			if sum {
				m.A.Append(rows+r, -1)
			} else {
				m.A.Append(rows, -1)
			}
			m.end(moves[r]/s.ColScale[s.Nx+s.Ny+i], 0, math.Inf(1))
		}
		sol := l.solveOnce(&m.Program)
		if sol.Status != activeset.Optimal {
			return nil
		}
		if !sum && !(-sol.Value > tolerance.Target) {
			continue
		}
		mu, factor := make([]float64, rows), m.factor(sol)
		for r, i := range p.Rows {
			if mu[r] = sol.Z[r] / factor * s.ColScale[s.Nx+s.Ny+i]; sum && !(sol.Z[rows+r] > tolerance.Sign) && moves[r] == 0 && s.P.Rows.Kind[i] == problem.AtMost {
				mu[r] = 0
			}
		}
		return mu
	}
	return nil
}
