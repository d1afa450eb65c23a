package kkt

import (
	"context"
	"math"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// Unique reports whether the follower has no other answer at z's x than z's. With the rows that have positive multipliers and the equality rows (strong) and the biactive
// ones, another optimal y differs by a d != 0 with
//
//	B_strong d = 0,   H d = 0,   B_biactive d >= 0.
//
// There is none where the rows of B_strong and H have the rank Ny; or where those of B_biactive complete it to Ny and a linear program shows
// that B_biactive d = 0 for all such d.
func (f *Follower) Unique(ctx context.Context, z []float64) bool {
	s := f.s
	signs := s.SignsAt(z)
	var q linalg.QR
	q.Reset(s.Ny)
	span := func(m *sparse.CSR, i int) {
		row, before := make([]float64, s.Ny), 0.0
		cols, vals := m.Row(i)
		for t, j := range cols {
			row[j] = vals[t] * s.ColScale[s.Nx+j]
			before = math.Hypot(before, row[j])
		}
		if before == 0 || q.Size() == s.Ny {
			return
		}
		coef, rest := make([]float64, q.Size()+1), make([]float64, s.Ny)
		if size := q.Split(row, coef, rest); size > Tolerance*before {
			q.Push(coef, rest, size)
		}
	}
	var biactive []int
	for i, kind := range s.P.Rows.Kind {
		switch {
		case kind == problem.Equal || signs.Mult[i]:
			span(s.P.Rows.B, i)
		case !signs.Slack[i]:
			biactive = append(biactive, i)
		}
	}
	for j := range s.Ny {
		span(s.H, j)
	}
	if q.Size() == s.Ny {
		return true
	}
	strong := q.Size()
	for _, i := range biactive {
		span(s.P.Rows.B, i)
	}
	if q.Size() < s.Ny || strong == q.Size() {
		return false
	}
	// Maximize the sum of B_biactive d, at most 1.
	a, p := sparse.Empty(s.Ny), &activeset.Program{N: s.Ny, C: make([]float64, s.Ny)}
	row := func(m *sparse.CSR, i int, lo, hi float64) {
		cols, vals := m.Row(i)
		for t, j := range cols {
			a.Append(j, vals[t]*s.ColScale[s.Nx+j])
		}
		a.EndRow()
		p.RowLo, p.RowHi = append(p.RowLo, lo), append(p.RowHi, hi)
	}
	for i, kind := range s.P.Rows.Kind {
		if kind == problem.Equal || signs.Mult[i] {
			row(s.P.Rows.B, i, 0, 0)
		}
	}
	for j := range s.Ny {
		row(s.H, j, 0, 0)
	}
	for _, i := range biactive {
		row(s.P.Rows.B, i, 0, 1)
		cols, vals := s.P.Rows.B.Row(i)
		for t, j := range cols {
			p.C[j] -= vals[t] * s.ColScale[s.Nx+j]
		}
	}
	for range s.Ny {
		p.Lo, p.Hi = append(p.Lo, math.Inf(-1)), append(p.Hi, math.Inf(1))
	}
	p.A = a
	solver, err := activeset.New(p)
	if err != nil {
		return false
	}
	sol := solver.Solve(ctx, nil, nil, activeset.Options{Cutoff: math.Inf(1)})
	f.Work += sol.Work
	return sol.Status == activeset.Optimal && sol.Value >= -Tolerance
}
