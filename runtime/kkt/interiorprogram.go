package kkt

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// slackProgram is a linear program that maximizes the least of some slacks, at most 1. Or it maximizes the sum of all of them, each at most 1, of a multiple of its solution, of which the last variable, from 1 to 1/tolerance.Target, is
// the factor: a slack that can be positive is 1 then.
type slackProgram struct {
	activeset.Program
	sum bool
}

// newSlackProgram has so many free variables, then such that are not negative, then the slacks.
func newSlackProgram(free, nonnegative, slacks int, sum bool) slackProgram {
	n, inf := free+nonnegative+1, math.Inf(1)
	if sum {
		n += slacks
	}
	m := slackProgram{activeset.Program{N: n, C: make([]float64, n), A: sparse.Empty(n)}, sum}
	m.Lo, m.Hi = make([]float64, n), make([]float64, n)
	for j := range n {
		if m.Hi[j] = inf; j < free {
			m.Lo[j] = -inf
		} else if j >= free+nonnegative {
			m.Hi[j], m.C[j] = 1, -1
		}
	}
	if sum {
		m.Lo[n-1], m.Hi[n-1], m.C[n-1] = 1, 1/tolerance.Target, 0
	}
	return m
}

// end ends a row: lo <= row - side <= hi.
func (m *slackProgram) end(side, lo, hi float64) {
	if m.sum {
		m.A.Append(m.N-1, -side)
		side = 0
	}
	m.A.EndRow()
	m.RowLo, m.RowHi = append(m.RowLo, lo+side), append(m.RowHi, hi+side)
}

// factor is that of a solution.
func (m *slackProgram) factor(sol *activeset.Solution) float64 {
	if m.sum {
		return sol.Z[m.N-1]
	}
	return 1
}

// interiorProgram is the linear program for the affine map of a block: its variables are the map's middle, its slopes, how far each inequality's slack moves with each entry of x, and the slacks;
// each relative to the coefficients of its row. Where that is too large, slopes are the shortest that equations have, and moves are numbers.
type interiorProgram struct {
	slackProgram
	owner  []int // the lower row that each row is of
	slacks []int // of inequalities, in the order of the block's: the rows in which the least slack stands
	slopes bool  // false: they are fixed
	fixed  [][]float64
}

func (l *limiter) interiorProgram(p Block, entries []int, sum bool) *interiorProgram {
	s, inf := l.s, math.Inf(1)
	ny, inequalities := len(p.Y), 0
	for _, i := range p.Rows {
		if s.P.Rows.Kind[i] == problem.AtMost {
			inequalities++
		}
	}
	m, wide, deviations := &interiorProgram{slopes: true}, ny*(1+len(entries)), inequalities*len(entries)
	if n := float64(wide + deviations + 1); n*n*n/2 > tolerance.Second/10 {
		m.slopes, wide, deviations = false, ny, 0
		m.fixed = l.shortest(p, entries)
	}
	m.slackProgram = newSlackProgram(wide, deviations, inequalities, sum)
	next, own := wide, wide+deviations // the next of the moves, and of the slacks
	for _, i := range p.Rows {
		_, e := math.Frexp(1 / s.rowUnit(i)) // a power of two, so that rows that depend on each other still do
		unit := math.Ldexp(1, e)
		put := func(shift int) {
			for j, v := range s.P.Rows.B.Nonzeros(i) {
				m.A.Append(shift+s.inBlock[j], v*s.ColScale[s.Nx+j]/unit)
			}
		}
		end := func(side, lo, hi float64) {
			m.owner = append(m.owner, i)
			m.end(side, lo, hi)
		}
		equal, side := s.P.Rows.Kind[i] == problem.Equal, -s.P.Rows.Rhs[i]/unit
		for e, c := range entries {
			lo, hi := l.box(c)
			side += s.P.Rows.A.At(i, c) * (lo + hi) / 2 / unit
			moves := s.P.Rows.A.At(i, c) * (hi - lo) / 2 / unit
			if !m.slopes {
				if !equal {
					for j, v := range s.P.Rows.B.Nonzeros(i) {
						moves -= v * s.ColScale[s.Nx+j] / unit * m.fixed[e][s.inBlock[j]]
					}
					side += math.Abs(moves)
				}
				continue
			}
			for _, sign := range [2]float64{1, -1} { // the deviation is at least that of both signs
				put(ny * (1 + e))
				if equal {
					end(moves, 0, 0)
					break
				}
				if m.A.Append(next+e, sign); sign > 0 {
					end(moves, 0, inf)
				} else {
					end(moves, -inf, 0)
				}
			}
		}
		put(0)
		if equal {
			end(side, 0, 0)
			continue
		}
		if m.slopes {
			for range entries {
				m.A.Append(next, -1)
				next++
			}
		}
		m.A.Append(own, -1)
		if sum {
			own++
		}
		m.slacks = append(m.slacks, len(m.RowLo))
		end(side, 0, inf)
	}
	return m
}

// shortest are the shortest slopes, by half of the range of each entry of x, with which a map stays on the equations of a block that do not depend on each other.
func (l *limiter) shortest(p Block, entries []int) [][]float64 {
	s := l.s
	var factors linalg.QR
	factors.Reset(len(p.Y))
	out, moves := make([][]float64, len(entries)), make([][]float64, len(entries))
	for _, i := range p.Rows {
		row := make([]float64, len(p.Y))
		for j, v := range s.P.Rows.B.Nonzeros(i) {
			row[s.inBlock[j]] = v * s.ColScale[s.Nx+j]
		}
		size := linalg.Norm(row)
		if s.P.Rows.Kind[i] != problem.Equal || size == 0 {
			continue
		}
		floats.Scale(1/size, row)
		if !factors.Extend(row, tolerance.Target) {
			continue
		}
		for e, c := range entries {
			lo, hi := l.box(c)
			moves[e] = append(moves[e], s.P.Rows.A.At(i, c)*(hi-lo)/2/size)
		}
	}
	for e := range out {
		out[e] = make([]float64, len(p.Y))
		if factors.Size() > 0 {
			factors.SolveT(moves[e])
			factors.AddScaled(out[e], 1, moves[e])
		}
	}
	return out
}

// solveOnce solves a linear program.
func (l *limiter) solveOnce(p *activeset.Program) *activeset.Solution {
	sol := activeset.Once(l.ctx, p)
	if l.work += sol.Work; sol.Status == activeset.Stopped {
		must.Do(l.ctx.Err())
	}
	return sol
}

// interior is y(x) of a block with the largest slack, relative to the coefficients of each row, that all inequalities have for all x of their box.
func (l *limiter) interior(p Block, entries []int) (*affine, *NoLimit) {
	m := l.interiorProgram(p, entries, false)
	sol := l.solveOnce(&m.Program)
	if l.edges && sol.Status == activeset.Optimal && -sol.Value <= tolerance.Target {
		m = l.interiorProgram(p, entries, true)
		sol = l.solveOnce(&m.Program)
	}
	switch {
	case sol.Status == activeset.Optimal && (l.edges || -sol.Value > tolerance.Target):
		ny, factor := len(p.Y), m.factor(sol)
		unscaled := func(z []float64) []float64 {
			out := make([]float64, ny)
			for k, j := range p.Y {
				out[k] = z[k] / factor * l.s.ColScale[l.s.Nx+j]
			}
			return out
		}
		out := &affine{entries: entries, at: unscaled(sol.Z), by: map[int][]float64{}}
		for e, c := range entries {
			if out.by[c] = make([]float64, ny); m.slopes {
				out.by[c] = unscaled(sol.Z[ny*(1+e):])
			} else {
				for k, j := range p.Y {
					out.by[c][k] = m.fixed[e][k] * l.s.ColScale[l.s.Nx+j]
				}
			}
		}
		return out, nil
	case !l.blame:
		return nil, &NoLimit{p.Rows[0], "there is none"}
	case sol.Status != activeset.Optimal:
		i, most := p.Rows[0], 0.0
		for r, w := range sol.FarkasRow {
			if j, _ := l.s.P.Rows.Bound(m.owner[r]); math.Abs(w) > most && j < 0 { // a bound of a single entry says less
				i, most = m.owner[r], math.Abs(w)
			}
		}
		return nil, &NoLimit{i, "which contradicts others at some x, nothing that is affine in x satisfies the follower's constraints for all x"}
	}
	for _, r := range m.slacks { // the one whose own slack can never be positive
		own := m.Program
		own.A = m.A.Clone()
		for _, other := range m.slacks {
			if other != r {
				own.A.Val[own.A.Ptr[other+1]-1] = 0
			}
		}
		if sol := l.solveOnce(&own); sol.Status == activeset.Optimal && -sol.Value <= tolerance.Target {
			return nil, &NoLimit{m.owner[r], "the follower's constraints leave it no slack at some x, so that nothing bounds its multiplier"}
		}
	}
	return nil, &NoLimit{p.Rows[0], "the follower's constraints leave no slack together at some x, so that nothing bounds their multipliers"}
}
