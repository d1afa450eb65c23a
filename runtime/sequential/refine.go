package sequential

import (
	"context"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// refined is an answer of the follower with its multipliers, next to one that is exact to the tolerances of package activeset: which of the rows that are weakly active hold, within tolerance.Sign, and what
// all multipliers are, is decided by the program of the remainder, in units of what is left (iterative refinement; Gleixner, Steffy and Wolter 2016). Near a kink of F values are then exact to rounding.
func (a *answers) refined(ctx context.Context, x, y, lambda []float64) (_, _ []float64) {
	all := !(a.v.p.Facts.StrongConvexity > 0) // without it a step may be as long as y
	next, with, holds := a.remainder(ctx, x, y, lambda, all, true)
	if next == nil {
		next, with, holds = a.remainder(ctx, x, y, lambda, all, false)
	}
	if next != nil && !all && a.violated(x, next) > 0 {
		next, with, holds = a.remainder(ctx, x, y, lambda, true, false)
	}
	if next == nil { // rows that depend on each other hold together to rounding alone
		return a.met(x, y, holds), lambda
	}
	return next, with
}

// remainder is refined among the rows that are next to active, or all of them, those with a multiplier fixed or not: at a vertex one of them may have to let another in. next is nil
// where the program has no solution; holds are the rows that hold at y.
func (a *answers) remainder(ctx context.Context, x, y, lambda []float64, all, fixed bool) (next, with []float64, holds []int) {
	p := a.v.p
	n := p.Dy
	grad := make([]float64, n)
	p.G.GradY(grad, x, y)
	force, reach := 0.0, 0.0
	for j, g := range grad { // the gradient itself may vanish: its terms are told from its curvature
		terms := a.h.AddTerms(math.Abs(g), j, y)
		force, reach = math.Max(force, terms*a.qp.Unit(j)), math.Max(reach, math.Abs(y[j])/a.qp.Unit(j))
	}
	rest := slices.Clone(grad) // what all multipliers leave of it
	h := make([]float64, p.Rows.Len())
	p.Rows.Residual(h, x, y)
	rows, open := []int{}, false // open: there is something to decide, or rows are off
	program := &activeset.Program{N: n, A: sparse.Empty(n), C: make([]float64, n)}
	size := 0.0
	for i, kind := range p.Rows.Kind {
		cols, vals := p.Rows.B.Row(i)
		steep := each.LargestBelow(len(cols), func(t int) float64 { return math.Abs(vals[t]) * a.qp.Unit(cols[t]) })
		held := kind == problem.Equal || lambda[i]*steep > tolerance.Sign*force
		inactive := kind == problem.AtMost && -h[i] > tolerance.Sign*steep*math.Max(1, reach)
		rounding := a.rounding(i, x, y)
		if steep == 0 || inactive && !all {
			if kind == problem.AtMost { // rounding may give the multiplier of one side of a variable to the other
				lambda[i] = 0
			}
			continue
		}
		if inactive && !held {
			lambda[i] = 0
		} else if !held || math.Abs(h[i]) > rounding {
			open, size = true, math.Max(size, math.Abs(h[i])/steep)
		}
		hi := math.Inf(1)
		if held {
			for t, j := range cols {
				rest[j] -= vals[t] * lambda[i]
			}
		}
		if kind == problem.Equal || held && fixed {
			for t, j := range cols {
				grad[j] -= vals[t] * lambda[i]
			}
			hi = h[i]
		}
		if held || -h[i] <= rounding {
			holds = append(holds, i)
		}
		for t, j := range cols {
			program.A.Append(j, vals[t]*a.qp.Unit(j))
		}
		program.A.EndRow()
		rows = append(rows, i)
		program.RowLo, program.RowHi = append(program.RowLo, h[i]), append(program.RowHi, hi)
	}
	left := each.LargestBelow(len(rest), func(j int) float64 { return math.Abs(rest[j]) * a.qp.Unit(j) })
	if size = math.Max(size, left); size == 0 || !open && left <= tolerance.SumRounding*force {
		return y, lambda, holds
	}
	for j := range n {
		program.C[j] = grad[j] * a.qp.Unit(j) / size
		program.Lo, program.Hi = append(program.Lo, math.Inf(-1)), append(program.Hi, math.Inf(1))
	}
	for k := range rows {
		program.RowLo[k] /= size
		program.RowHi[k] /= size
	}
	program.Q = a.h
	if !(p.Facts.StrongConvexity > 0) {
		program.Q = a.proximal(a.h, grad, y, 0)
	}
	program.Q = program.Q.InUnits(each.Below(n, a.qp.Unit))
	solver, err := activeset.NewApart(program, p.Blocks)
	if err != nil {
		return nil, nil, holds
	}
	sol := solver.Solve(ctx, nil, nil, activeset.Options{})
	a.qp.Work += sol.Work
	if sol.Status != activeset.Optimal {
		return nil, nil, holds
	}
	next, with = slices.Clone(y), slices.Clone(lambda)
	for j, d := range sol.Z {
		next[j] += size * d * a.qp.Unit(j)
	}
	for k, i := range rows {
		if program.RowLo[k] == program.RowHi[k] {
			if with[i] += size * sol.Row[k]; with[i] < 0 && p.Rows.Kind[i] == problem.AtMost { // it does not hold, after all
				return nil, nil, holds
			}
		} else {
			with[i] = size * math.Max(0, sol.Row[k])
		}
	}
	if p.G.GradY(grad, x, next); !linalg.Finite(grad) {
		return nil, nil, holds
	}
	return next, with, holds
}

// met is y moved to where these rows hold, and others that it would violate then.
func (a *answers) met(x, y []float64, rows []int) []float64 {
	all, in, h := a.v.p.Rows, make([]bool, a.v.p.Rows.Len()), make([]float64, a.v.p.Rows.Len())
	for _, i := range rows {
		in[i] = true
	}
	for {
		next := all.Meet(x, y, rows)
		all.Residual(h, x, next)
		more := false
		for i, t := range h {
			if !in[i] && t > a.rounding(i, x, next) {
				in[i], more, rows = true, true, append(rows, i)
			}
		}
		if !more {
			return next
		}
	}
}
