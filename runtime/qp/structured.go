package qp

import (
	"context"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/convex"
	"bilevelc/runtime/tolerance"
)

// structured solves programs that share their rows and have a diagonal H by
// package convex, which works on the sparse KKT system. What it finds is checked
// against the program; where it finds nothing, which proves nothing, the dense
// method of Solve decides.
type structured struct {
	a      *sparse.CSR
	solver *convex.Solver
	// diagonal is the H that the solver has loaded.
	diagonal []float64
}

// of returns a structured solver for the rows a z <= b or = b, k itself where it
// has those already; nil where the dense method is as good.
func (k *structured) of(a *sparse.CSR, equal []bool) *structured {
	order := a.Rows + a.Cols
	if order < tolerance.LeastSparse || a.Rows == 0 || 8*(a.Cols+2*a.NNZ()) > order*order { // as for Hessians: more than an eighth of the KKT matrix
		return nil
	}
	if k != nil && k.a == a {
		return k
	}
	return &structured{a: a, solver: convex.NewProgram(sparse.Diagonal(make([]float64, a.Cols)), a.Negated(), equal).NewSolver()}
}

// solve returns the solution of p, which has the rows of k and the Hessian with
// the given diagonal, or nil where none was found.
func (k *structured) solve(p *Problem, diagonal []float64) *Solution {
	s := k.solver
	n, m := len(diagonal), len(p.B)
	lo, hi, ok := k.load(p, diagonal)
	if !ok {
		return nil
	}
	zero := make([]float64, n)
	found := false
	if len(p.Warm) > 0 {
		state, active := make([]int8, n), make([]bool, m)
		for i := range active {
			active[i] = p.Equal != nil && p.Equal[i]
		}
		for _, c := range p.Warm {
			switch {
			case c < m:
				active[c] = true
			case c < m+n:
				state[c-m] = convex.Lower
			case c < m+2*n:
				state[c-m-n] = convex.Upper
			}
		}
		s.Guess(zero, make([]float64, m), state, active)
		// 12 is how many exchanges of active rows a guess is worth.
		found = s.ActiveSet(12)
	}
	if !found {
		k.diagonal = nil
		k.load(p, diagonal)
		switch s.Minimize(p.context()) {
		case convex.Interrupted:
			return &Solution{Status: Stopped, Z: zero}
		case convex.Stuck:
			return nil
		}
	}
	return k.solution(p, diagonal, lo, hi)
}

// decide is solve, and where that finds nothing a search for a proof that no z
// satisfies the constraints, checked as those of the dense method are. nil where
// neither was found.
func (k *structured) decide(p *Problem, diagonal []float64) *Solution {
	if k == nil {
		return nil
	}
	if s := k.solve(p, diagonal); s != nil {
		return s
	}
	k.diagonal = nil // Farkas changes H
	if _, _, ok := k.load(p, diagonal); !ok {
		return nil
	}
	k.diagonal = nil
	farkas, bound, found := k.solver.Farkas(p.context())
	if !found || !p.refuted(farkas) {
		return nil
	}
	for j := range bound {
		bound[j] = -bound[j]
	}
	return &Solution{Status: Infeasible, Z: make([]float64, len(diagonal)), Farkas: farkas, FarkasBound: bound}
}

// load gives the solver the numbers of p and returns its bounds; false where the
// diagonal is not positive. The factors of a face serve until another one is asked
// for: they follow from H and the face alone, so that keeping them does not show in
// results.
func (k *structured) load(p *Problem, diagonal []float64) (lo, hi []float64, ok bool) {
	if !slices.Equal(k.diagonal, diagonal) {
		if !k.solver.Load(diagonal) {
			return nil, nil, false
		}
		k.diagonal = slices.Clone(diagonal)
	}
	n := len(diagonal)
	lo, hi = make([]float64, n), make([]float64, n)
	for j := range lo {
		lo[j], hi[j] = math.Inf(-1), math.Inf(1)
		if p.Lo != nil {
			lo[j] = p.Lo[j]
		}
		if p.Hi != nil {
			hi[j] = p.Hi[j]
		}
	}
	r := each.Of(p.B, func(b float64) float64 { return -b })
	k.solver.Set(lo, hi, r)
	k.solver.Linear(p.C, make([]float64, n))
	return lo, hi, true
}

// context is that of p, or one that does not end.
func (p *Problem) context() context.Context {
	if p.Context == nil {
		return context.Background()
	}
	return p.Context
}

// solution reads the solution from the solver, or nil where it violates a row by
// more than rounding.
func (k *structured) solution(p *Problem, diagonal, lo, hi []float64) *Solution {
	n, m := len(lo), len(p.B)
	out := &Solution{Status: Solved, Z: make([]float64, n), Lambda: make([]float64, m), Bound: make([]float64, n)}
	k.solver.Y(out.Z, lo, hi)
	k.solver.Lambda(out.Lambda)
	state, active := k.solver.State()
	made := make([]float64, n) // what z is a difference of: -c, the forces of rows, and what the rounding of an active row makes of these
	for i := range out.Lambda {
		equal := p.Equal != nil && p.Equal[i]
		if !equal {
			out.Lambda[i] = math.Max(out.Lambda[i], 0)
		}
		h, size := -p.B[i], p.terms(i)
		cols, vals := p.A.Row(i)
		for t, j := range cols {
			h += vals[t] * out.Z[j]
			size += math.Abs(vals[t] * out.Z[j])
		}
		if equal {
			h = math.Abs(h)
		}
		if !(h <= 100*tolerance.Feasibility*size) {
			return nil
		}
		if !active[i] {
			continue
		}
		out.Active = append(out.Active, i)
		steep := 0.0
		for t, j := range cols {
			if state[j] == convex.Free {
				steep += vals[t] * vals[t] / diagonal[j]
			}
		}
		for t, j := range cols {
			if steep > 0 {
				made[j] += math.Abs(vals[t]) * size / steep / diagonal[j]
			}
		}
	}
	rowForces := make([]float64, n)
	p.A.AddMulVecT(rowForces, -1, out.Lambda)
	for j, at := range state {
		if at != convex.Free {
			out.Bound[j] = rowForces[j] - p.C[j] - diagonal[j]*out.Z[j]
		}
		made[j] += (math.Abs(p.C[j]) + math.Abs(rowForces[j])) / diagonal[j]
		switch {
		case out.Z[j] < lo[j]-tolerance.Feasibility*(math.Abs(lo[j])+made[j]) || out.Z[j] > hi[j]+tolerance.Feasibility*(math.Abs(hi[j])+made[j]):
			return nil
		case at == convex.Lower || at == convex.Pinned:
			out.Active = append(out.Active, m+j)
		case at == convex.Upper:
			out.Active = append(out.Active, m+n+j)
		}
	}
	return out
}
