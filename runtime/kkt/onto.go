package kkt

import (
	"math"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Onto moves y of z onto the rows in held (len M), biactive and dependent ones as well, where one is off by more than solves leave of its own terms: refinement leaves rounding of the largest entries of y, beside which those of
// a row may all be 0.
func (s *System) Onto(z []float64, held []bool) {
	rows, x, y := s.P.Rows, s.X(z), s.Y(z)
	h := make([]float64, s.M)
	rows.Residual(h, x, y)
	met := true
	for i, on := range held {
		met = met && (!on || math.Abs(h[i]) <= tolerance.SolveAccuracy*rows.B.AddTerms(rows.A.AddTerms(math.Abs(rows.Rhs[i]), i, x), i, y))
	}
	if met {
		return
	}
	unit := s.ColScale[s.Nx : s.Nx+s.Ny]
	a, b := sparse.Empty(s.Ny), activeset.Bounds{}
	for range s.Ny {
		b.Lo, b.Hi = append(b.Lo, math.Inf(-1)), append(b.Hi, math.Inf(1))
	}
	for i := range rows.Kind {
		end := rows.A.RowDot(i, x) - rows.Rhs[i] // B y is no less
		if j, coef := rows.Bound(i); j >= 0 {
			if end /= coef * unit[j]; coef > 0 || held[i] {
				b.Lo[j] = math.Max(b.Lo[j], end)
			}
			if coef < 0 || held[i] {
				b.Hi[j] = math.Min(b.Hi[j], end)
			}
			continue
		}
		for j, v := range rows.B.Entries(i) {
			a.Append(j, v*unit[j])
		}
		a.EndRow()
		b.RowLo = append(b.RowLo, end)
		if !held[i] {
			end = math.Inf(1)
		}
		b.RowHi = append(b.RowHi, end)
	}
	at := b.Onto(a, each.Below(s.Ny, func(j int) float64 { return y[j] / unit[j] }))
	for j := range at {
		at[j] *= unit[j]
	}
	force, _ := s.Forces(z)
	before, after := make([]float64, s.Ny), make([]float64, s.Ny)
	s.P.G.GradY(before, x, y)
	s.P.G.GradY(after, x, at)
	for j, t := range after {
		if !(math.Abs(t-before[j]) <= tolerance.Rounded*force[j]) {
			return
		}
	}
	copy(y, at)
}

// OntoBranch is BranchAt, with y of z moved onto the rows that hold there: what rounding has left of slacks that are said to be 0 is one next to its own terms.
func (s *System) OntoBranch(z []float64) (branch []Fix, biactive []int) {
	branch, biactive = s.BranchAt(z)
	held := each.Below(s.M, func(i int) bool { return s.P.Rows.Kind[i] == problem.Equal })
	for k, p := range s.Pairs {
		held[p.Row] = held[p.Row] || branch[k] == SlackZero
	}
	for _, k := range biactive {
		held[s.Pairs[k].Row] = true
	}
	s.Onto(z, held)
	return branch, biactive
}
