package kkt

import (
	"context"
	"maps"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// UniqueMultipliers reports whether the multipliers that f reads take no other values at z's x than z's. With the rows that hold at z's y, other multipliers differ by a d with
//
//	sum_i d_i B_i = 0,   d_i >= 0 where lambda_i = 0 on an inequality.
//
// Rows of the latter kind that have d_i = 0 in all such d are taken out (one linear program); those of all others have some d with all of them positive, so that d is free next to it,
// and the multipliers are unique where the null space of these rows has no entry for one that is read.
func (f *Follower) UniqueMultipliers(ctx context.Context, z []float64) bool {
	s := f.s
	read := s.read()
	if len(read) == 0 {
		return true
	}
	signs := s.SignsAt(z)
	var free, zero []int
	for i, kind := range s.P.Rows.Kind {
		switch {
		case kind == problem.Equal || signs.Mult[i]:
			free = append(free, i)
		case !signs.Slack[i]:
			zero = append(zero, i)
		}
	}
	if !s.move(read, slices.Concat(free, zero)) {
		return true
	}
	rising, ok := f.rising(ctx, free, zero)
	return ok && !s.move(read, append(free, rising...))
}

// normal is the row of B that multiplier i weighs, as a column in the relaxation's units: entries of y and values there.
func (s *System) normal(i int) (cols []int, vals []float64) {
	for j, v := range s.P.Rows.B.Nonzeros(i) {
		cols, vals = append(cols, j), append(vals, v*s.RowScale[j]*s.ColScale[s.Nx+s.Ny+i])
	}
	return cols, vals
}

// read are the rows whose multipliers f, or a constraint of the leader, reads: of those in Duals, which are whole families of rows.
func (s *System) read() map[int]bool {
	out := map[int]bool{}
	for _, i := range s.P.Duals {
		out[i] = s.Objective == nil || !s.Objective.Known || s.Objective.Lin[s.Nx+s.Ny+i] != 0
	}
	mark := func(cols []int, vals []float64) {
		for t, j := range cols {
			if i := j - s.Nx - s.Ny; i >= 0 && i < s.M && vals[t] != 0 {
				out[i] = true
			}
		}
	}
	if s.Objective != nil && s.Objective.Hess != nil {
		for i := range s.N {
			mark(s.Objective.Hess.Row(i))
		}
	}
	for r, o := range s.Origin {
		if o.Kind == CoupledRow {
			mark(s.Relaxation.A.Row(r))
		}
	}
	maps.DeleteFunc(out, func(_ int, reads bool) bool { return !reads })
	return out
}

// move reports whether some combination of the normals of rows that is 0 has a weight on one that is read.
func (s *System) move(read map[int]bool, rows []int) bool {
	spans := make([]struct {
		linalg.QR
		rows []int // independent ones
	}, len(s.blocks))
	for _, i := range rows {
		k := s.partOf(i)
		if k < 0 { // a normal of 0
			if read[i] {
				return true
			}
			continue
		}
		q, n := &spans[k], len(s.blocks[k].Y)
		if q.Size() == 0 {
			q.Reset(n)
		}
		v := make([]float64, n)
		cols, vals := s.normal(i)
		for t, j := range cols {
			v[s.inBlock[j]] = vals[t]
		}
		coef, rest := make([]float64, q.Size()+1), make([]float64, n)
		if left := q.Split(v, coef, rest); left > tolerance.Sign*linalg.Norm(v) {
			q.Push(coef, rest, left)
			q.rows = append(q.rows, i)
			continue
		}
		if read[i] {
			return true
		}
		q.Solve(coef[:q.Size()])
		for t, weight := range coef[:q.Size()] {
			if read[q.rows[t]] && math.Abs(weight) > tolerance.Sign {
				return true
			}
		}
	}
	return false
}

// rising are those of the rows of zero whose multipliers are positive somewhere in the cone of UniqueMultipliers, with those of free free; false where that was not found out.
func (f *Follower) rising(ctx context.Context, free, zero []int) ([]int, bool) {
	s := f.s
	if len(zero) == 0 {
		return nil, true
	}
	// Maximize the sum of t over t_k <= d_k, 0 <= t_k <= 1: the cone may be scaled until all t are 0 or 1.
	rows := slices.Concat(free, zero)
	n, first := len(rows), len(free)
	p := &activeset.Program{N: n + len(zero), C: make([]float64, n+len(zero))}
	entries := []sparse.Entry{}
	for c, i := range rows {
		cols, vals := s.normal(i)
		entries = append(entries, each.Below(len(cols), func(t int) sparse.Entry { return sparse.Entry{Row: cols[t], Col: c, Val: vals[t]} })...)
		p.Lo, p.Hi = append(p.Lo, math.Inf(-1)), append(p.Hi, math.Inf(1))
	}
	p.RowLo, p.RowHi = make([]float64, s.Ny), make([]float64, s.Ny)
	for k := range zero {
		entries = append(entries, sparse.Entry{Row: s.Ny + k, Col: first + k, Val: 1}, sparse.Entry{Row: s.Ny + k, Col: n + k, Val: -1})
		p.RowLo, p.RowHi = append(p.RowLo, 0), append(p.RowHi, math.Inf(1))
		p.Lo, p.Hi, p.C[n+k] = append(p.Lo, 0), append(p.Hi, 1), -1
	}
	p.A = sparse.FromEntries(s.Ny+len(zero), p.N, entries)
	sol := f.once(ctx, p)
	if sol.Status != activeset.Optimal {
		return nil, false
	}
	var out []int
	for k, i := range zero {
		if sol.Z[n+k] > tolerance.Sign {
			out = append(out, i)
		}
	}
	return out, true
}
