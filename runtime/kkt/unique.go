package kkt

import (
	"context"
	"math"
	"slices"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Unique reports whether the follower has no other answer at z's x than z's. With the rows that have positive multipliers and the equality rows (strong) and the biactive
// ones, another optimal y differs by a d != 0 with
//
//	B_strong d = 0,   H d = 0,   B_biactive d >= 0.
//
// There is none where the rows of B_strong and H have the rank Ny; or where those of B_biactive complete it to Ny and a linear program shows
// that B_biactive d = 0 for all such d. Of entries of y that restate kinks it does not matter what they are: no d != 0 in the others is enough.
func (f *Follower) Unique(ctx context.Context, z []float64) bool {
	signs := f.s.SignsAt(z)
	return !slices.ContainsFunc(f.s.blocks, func(b Block) bool { return !f.uniqueIn(ctx, b, signs) })
}

// uniqueIn is Unique for one block, whose d is apart from that of others.
func (f *Follower) uniqueIn(ctx context.Context, block Block, signs Signs) bool {
	s, n := f.s, len(block.Y)
	var strong, biactive []int
	free := slices.Repeat([]bool{true}, n) // of rows that bound one entry, and have force, each holds that
	for _, i := range block.Rows {
		switch {
		case s.looseRow[i]: // the hidden variable gives way
		case s.P.Rows.Kind[i] == problem.Equal || signs.Mult[i]:
			strong = append(strong, i)
			if j, _ := s.P.Rows.Bound(i); j >= 0 {
				free[s.inBlock[j]] = false
			}
		case !signs.Slack[i]:
			biactive = append(biactive, i)
		}
	}
	place, left := make([]int, n), 0 // of the others among themselves
	for t := range place {
		if place[t] = left; free[t] {
			left++
		}
	}
	var q linalg.QR
	q.Reset(left)
	span := func(m *sparse.CSR, i int) {
		row, before, any := make([]float64, left), 0.0, false
		for j, v := range m.Nonzeros(i) {
			t, scaled := s.inBlock[j], v*s.ColScale[s.Nx+j]
			if before = math.Hypot(before, scaled); free[t] {
				row[place[t]], any = scaled, true
			}
		}
		if any && q.Size() < left {
			f.Work += int64(4 * left * (1 + q.Size()))
			q.Extend(row, tolerance.Sign*before)
		}
	}
	for _, i := range strong {
		span(s.P.Rows.B, i)
	}
	for _, j := range block.Y {
		span(s.H, j)
	}
	spanned := func() bool {
		if q.Size() == left {
			return true
		}
		unit, rest := make([]float64, left), make([]float64, left)
		for t, j := range block.Y {
			if j >= s.Ny-s.P.Hidden || !free[t] {
				continue
			}
			if s.P.Hidden == 0 {
				return false
			}
			clear(unit)
			unit[place[t]] = 1
			if q.Split(unit, nil, rest) > tolerance.Sign {
				return false
			}
		}
		return true
	}
	if spanned() {
		return true
	}
	rank := q.Size()
	for _, i := range biactive {
		span(s.P.Rows.B, i)
	}
	if rank == q.Size() || !spanned() {
		return false
	}
	// Maximize the sum of B_biactive d, at most 1.
	p := &activeset.Program{N: n, C: make([]float64, n), A: sparse.Empty(n)}
	row := func(m *sparse.CSR, i int, hi, cost float64) {
		for j, a := range m.Nonzeros(i) {
			v := a * s.ColScale[s.Nx+j]
			p.A.Append(s.inBlock[j], v)
			p.C[s.inBlock[j]] -= cost * v
		}
		p.A.EndRow()
		p.RowLo, p.RowHi = append(p.RowLo, 0), append(p.RowHi, hi)
	}
	for _, i := range strong {
		row(s.P.Rows.B, i, 0, 0)
	}
	for _, j := range block.Y {
		row(s.H, j, 0, 0)
	}
	for _, i := range biactive {
		row(s.P.Rows.B, i, 1, 1)
	}
	for range n {
		p.Lo, p.Hi = append(p.Lo, math.Inf(-1)), append(p.Hi, math.Inf(1))
	}
	sol := f.once(ctx, p)
	return sol.Status == activeset.Optimal && sol.Value >= -tolerance.Sign
}
