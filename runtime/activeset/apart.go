package activeset

import (
	"context"
	"slices"

	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
)

// Apart solves a program whose variables fall into blocks that no row and no entry of Q joins: one program after the other, each with a tableau of its own size.
type Apart struct {
	program *Program
	parts   []part
}

type part struct {
	vars, rows []int
	place      []int // shared: of each variable, in its block
	solver     *Solver
}

// NewApart prepares a program whose blocks, a partition of the variables, nothing joins. A single block, or none, is the program as it stands.
func NewApart(p *Program, blocks [][]int) (_ *Apart, err error) {
	defer must.Catch(&err)
	must.Do(p.check())
	a := &Apart{program: p}
	if len(blocks) < 2 {
		solver, err := New(p)
		a.parts = []part{{solver: solver}}
		return a, err
	}
	owner, place := make([]int, p.N), make([]int, p.N)
	for k, vars := range blocks {
		for t, j := range vars {
			owner[j], place[j] = k, t
		}
	}
	rows := make([][]int, len(blocks))
	for i := range p.rows() {
		k := 0 // of a row without variables
		cols, vals := p.A.Row(i)
		if t := slices.IndexFunc(vals, func(v float64) bool { return v != 0 }); t >= 0 {
			k = owner[cols[t]]
		}
		rows[k] = append(rows[k], i)
	}
	for k, vars := range blocks {
		q := part{vars: vars, rows: rows[k], place: place}
		one := &Program{N: len(vars), Q: q.square(p.Q), C: linalg.Gather(p.C, vars), Bounds: q.bounds(&p.Bounds)}
		if one.A = sparse.Empty(len(vars)); p.A != nil {
			one.A = p.A.Part(q.rows, place, len(vars)) // a pattern may join what its values do not
		}
		q.solver = must.Get(New(one))
		a.parts = append(a.parts, q)
	}
	return a, nil
}

// square is the block of a matrix; nil of nil and of one without entries.
func (q *part) square(m *sparse.CSR) *sparse.CSR {
	if m == nil {
		return nil
	}
	if out := m.Part(q.vars, q.place, len(q.vars)); out.NNZ() > 0 {
		return out
	}
	return nil
}

func (q *part) bounds(b *Bounds) Bounds {
	return Bounds{linalg.Gather(b.RowLo, q.rows), linalg.Gather(b.RowHi, q.rows), linalg.Gather(b.Lo, q.vars), linalg.Gather(b.Hi, q.vars)}
}

// SetObjective is that of Solver.
func (a *Apart) SetObjective(q *sparse.CSR, c []float64) {
	if len(a.parts) == 1 {
		a.parts[0].solver.SetObjective(q, c)
		return
	}
	same := q == a.program.Q
	a.program.Q, a.program.C = q, c
	for k := range a.parts {
		one := &a.parts[k]
		block := one.solver.program.Q
		if !same {
			block = one.square(q)
		}
		one.solver.SetObjective(block, linalg.Gather(c, one.vars))
	}
}

// Solve is that of Solver, but for a cutoff: there is none. The first block that has no solution is the program's end: Infeasible with its weights, and without Z. Where others
// have points, it is Unbounded with the ray of the first block that is, and no point.
func (a *Apart) Solve(ctx context.Context, b *Bounds, warm *Basis, opts Options) *Solution {
	opts.Cutoff = nil
	if len(a.parts) == 1 {
		return a.parts[0].solver.Solve(ctx, b, warm, opts)
	}
	n, m := a.program.N, a.program.rows()
	if b == nil {
		b = &a.program.Bounds
	}
	if b.check(n, m) != nil {
		return &Solution{Status: Failed}
	}
	if warm != nil && (len(warm.Var) != n || len(warm.Row) != m) {
		warm = nil
	}
	out := &Solution{Z: make([]float64, n), Row: make([]float64, m), Bound: make([]float64, n), Basis: &Basis{Row: make([]State, m), Var: make([]State, n)}}
	var end *Solution
	for k := range a.parts {
		one := &a.parts[k]
		bounds := one.bounds(b)
		var begin *Basis
		if warm != nil {
			begin = &Basis{Row: linalg.Gather(warm.Row, one.rows), Var: linalg.Gather(warm.Var, one.vars)}
		}
		sol := one.solver.Solve(ctx, &bounds, begin, opts)
		out.Iterations += sol.Iterations
		out.Work += sol.Work
		if sol.Status == Optimal {
			out.Value += sol.Value
			linalg.Scatter(out.Z, one.vars, sol.Z)
			linalg.Scatter(out.Row, one.rows, sol.Row)
			linalg.Scatter(out.Bound, one.vars, sol.Bound)
			linalg.Scatter(out.Basis.Row, one.rows, sol.Basis.Row)
			linalg.Scatter(out.Basis.Var, one.vars, sol.Basis.Var)
			continue
		}
		if end != nil && sol.Status == Unbounded {
			continue
		}
		end = &Solution{Status: sol.Status, Basis: warm}
		if sol.FarkasRow != nil {
			end.FarkasRow, end.FarkasBound = make([]float64, m), make([]float64, n)
			linalg.Scatter(end.FarkasRow, one.rows, sol.FarkasRow)
			linalg.Scatter(end.FarkasBound, one.vars, sol.FarkasBound)
		}
		if sol.Ray != nil {
			end.Ray = make([]float64, n)
			linalg.Scatter(end.Ray, one.vars, sol.Ray)
		}
		if sol.Status != Unbounded { // else there is no such thing where another block has no point
			break
		}
	}
	if end != nil {
		end.Iterations, end.Work = out.Iterations, out.Work
		return end
	}
	return out
}
