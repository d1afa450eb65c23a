package kkt

import (
	"context"
	"fmt"
	"math"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/problem"
)

// Follower solves the lower level of a system at one x: a convex quadratic or linear program in y, whose
// optimal set may hold more than one answer. It keeps factors and the last basis between calls, and is not safe for
// concurrent use.
type Follower struct {
	s       *System
	program *activeset.Program
	solver  *activeset.Solver
	last    *activeset.Basis
	bounds  []int // of each entry of y and side: the lower row behind Lo (2j) and Hi (2j+1); -1 for none
	rowOf   []int // of each row of the program, its lower row
	// Work is what the solves have taken so far (activeset.Solution.Work).
	Work int64
}

// FollowerStatus is how a lower solve ended.
type FollowerStatus = activeset.Status

// NewFollower prepares the lower level of s.
func NewFollower(s *System) (*Follower, error) {
	f := &Follower{s: s, bounds: make([]int, 2*s.Ny)}
	for k := range f.bounds {
		f.bounds[k] = -1
	}
	for _, p := range s.Pairs {
		if v := p.Slack.Var; v >= 0 {
			k := 2 * (v - s.Nx)
			if p.Slack.Upper {
				k++
			}
			f.bounds[k] = p.Row
		}
	}
	b := activeset.Bounds{Lo: append([]float64(nil), s.Relaxation.Lo[s.Nx:s.Nx+s.Ny]...), Hi: append([]float64(nil), s.Relaxation.Hi[s.Nx:s.Nx+s.Ny]...)}
	a := sparse.Empty(s.Ny)
	for r, o := range s.Origin {
		if o.Kind != LowerRow {
			continue
		}
		cols, vals := s.Relaxation.A.Row(r)
		for t, j := range cols {
			if j >= s.Nx && j < s.Nx+s.Ny {
				a.Append(j-s.Nx, vals[t])
			}
		}
		a.EndRow()
		b.RowLo, b.RowHi = append(b.RowLo, s.Relaxation.RowLo[r]), append(b.RowHi, s.Relaxation.RowHi[r])
		f.rowOf = append(f.rowOf, r)
	}
	f.program = &activeset.Program{N: s.Ny, C: make([]float64, s.Ny), A: a, Bounds: b}
	if s.H.NNZ() > 0 {
		f.program.Q = s.H.Clone()
		for i := range s.Ny {
			cols, vals := f.program.Q.Row(i)
			for t, j := range cols {
				vals[t] *= s.ColScale[s.Nx+i] * s.ColScale[s.Nx+j]
			}
		}
	}
	var err error
	f.solver, err = activeset.New(f.program)
	return f, err
}

// at is the program's objective and bounds at x: rows move by A x.
func (f *Follower) at(x []float64) (c []float64, b *activeset.Bounds) {
	s := f.s
	c = append([]float64(nil), s.Q...)
	for j := range c {
		c[j] = (c[j] + s.G.RowDot(j, x)) * s.ColScale[s.Nx+j]
	}
	b = &activeset.Bounds{Lo: f.program.Lo, Hi: f.program.Hi}
	for k, r := range f.rowOf {
		i := s.Origin[r].Index
		moved := s.P.Rows.A.RowDot(i, x) * s.RowScale[r]
		b.RowLo, b.RowHi = append(b.RowLo, f.program.RowLo[k]+moved), append(b.RowHi, f.program.RowHi[k]+moved)
	}
	return c, b
}

// Solve is z = (x, y, lambda, u) with an answer of the follower to x and multipliers of its rows. Other statuses than Optimal come without z: at this x no
// y is feasible, or g falls without bound.
func (f *Follower) Solve(ctx context.Context, x []float64) (z []float64, status activeset.Status) {
	c, b := f.at(x)
	f.solver.SetObjective(f.program.Q, c)
	sol := f.solver.Solve(ctx, b, f.last, activeset.Options{Cutoff: math.Inf(1)})
	f.Work += sol.Work
	if sol.Status != activeset.Optimal {
		return nil, sol.Status
	}
	f.last = sol.Basis
	return f.join(x, sol), sol.Status
}

// join is z of a solution in the program's units.
func (f *Follower) join(x []float64, sol *activeset.Solution) []float64 {
	s := f.s
	z := make([]float64, s.N)
	copy(z, x)
	for j, v := range sol.Z {
		z[s.Nx+j] = v * s.ColScale[s.Nx+j]
	}
	lambda := s.Lambda(z)
	for k, r := range f.rowOf {
		i := s.Origin[r].Index
		lambda[i] = sol.Row[k] * s.RowScale[r]
		if s.P.Rows.Kind[i] == problem.AtMost {
			lambda[i] = math.Max(0, lambda[i])
		}
	}
	for j, v := range sol.Bound {
		side := 2 * j
		if v < 0 {
			side++
		}
		if i := f.bounds[side]; i >= 0 && v != 0 {
			_, coef := s.P.Rows.Bound(i)
			lambda[i] = math.Max(0, v/s.ColScale[s.Nx+j]/coef)
		}
	}
	if e := s.P.X.Extended; e.Extra() > 0 {
		copy(z[s.Nx+s.Ny+s.M:], e.Least(x)[s.Nx:])
	}
	return z
}

// Extreme minimizes sign times the leader's objective over the follower's optimal set at z's x, from z, a point of it. With any
// dual solution lambda, y is optimal exactly where it is feasible, s_i = 0 for each lambda_i > 0, and H y is what it is at another optimal y.
// It needs sign times f quadratic and convex in y.
func (f *Follower) Extreme(ctx context.Context, z []float64, sign float64) ([]float64, error) {
	s := f.s
	_, b := f.at(s.X(z))
	face := &activeset.Bounds{RowLo: append([]float64(nil), b.RowLo...), RowHi: append([]float64(nil), b.RowHi...),
		Lo: append([]float64(nil), b.Lo...), Hi: append([]float64(nil), b.Hi...)}
	rows := f.program.A.Clone()
	program := &activeset.Program{N: s.Ny, C: make([]float64, s.Ny), A: rows, Bounds: *face}
	held := s.Strong(z)
	for k, r := range f.rowOf {
		if held[s.Origin[r].Index] {
			program.RowHi[k] = program.RowLo[k]
		}
	}
	for k, i := range f.bounds {
		if i >= 0 && held[i] {
			if k%2 == 0 {
				program.Hi[k/2] = program.Lo[k/2]
			} else {
				program.Lo[k/2] = program.Hi[k/2]
			}
		}
	}
	scaled := make([]float64, s.Ny)
	for j, y := range s.Y(z) {
		scaled[j] = y / s.ColScale[s.Nx+j]
	}
	if q := f.program.Q; q != nil {
		for i := range s.Ny {
			cols, vals := q.Row(i)
			if len(cols) == 0 {
				continue
			}
			for t, j := range cols {
				rows.Append(j, vals[t])
			}
			rows.EndRow()
			v := q.RowDot(i, scaled)
			program.RowLo, program.RowHi = append(program.RowLo, v), append(program.RowHi, v)
		}
	}
	// f at this x as a quadratic of y, or by steps along its linearizations.
	var hess *sparse.CSR
	if s.Objective.Quadratic && s.Objective.Hess != nil {
		entries := []sparse.Entry{}
		for i := range s.Ny {
			cols, vals := s.Objective.Hess.Row(s.Nx + i)
			for t, j := range cols {
				if j >= s.Nx && j < s.Nx+s.Ny && vals[t] != 0 {
					entries = append(entries, sparse.Entry{Row: i, Col: j - s.Nx, Val: sign * vals[t] * s.ColScale[s.Nx+i] * s.ColScale[j]})
				}
			}
		}
		if len(entries) > 0 {
			hess = sparse.FromEntries(s.Ny, s.Ny, entries)
		}
	}
	if !Semidefinite(hess) {
		return nil, fmt.Errorf("the leader's objective is not %s in y", map[bool]string{true: "convex", false: "concave"}[sign > 0])
	}
	grad := make([]float64, s.N)
	s.Gradient(grad, z)
	for j := range program.C {
		program.C[j] = sign * grad[s.Nx+j] * s.ColScale[s.Nx+j]
	}
	if hess != nil {
		for i := range program.C {
			program.C[i] -= hess.RowDot(i, scaled)
		}
	}
	program.Q = hess
	solver, err := activeset.New(program)
	if err != nil {
		return nil, err
	}
	sol := solver.Solve(ctx, nil, nil, activeset.Options{Cutoff: math.Inf(1)})
	f.Work += sol.Work
	if sol.Status != activeset.Optimal {
		return nil, fmt.Errorf("the follower's other answers: %v", sol.Status)
	}
	out := append([]float64(nil), z...)
	for j, v := range sol.Z {
		out[s.Nx+j] = v * s.ColScale[s.Nx+j]
	}
	return out, nil
}
