package lower

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/await"
	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/method"
	"bilevelc/runtime/problem"
)

// New makes the named solver for p with the defaults changed by values. Where
// p has independent followers (Problem.Parts) the solver takes them one by
// one, on at most `threads` of them at a time; the solution does not depend on
// that number. The error says what is wrong with the name, the settings or
// the method's needs.
func New(name string, values method.Values, p *problem.Problem, threads int) (_ Solver, err error) {
	defer must.Catch(&err)
	spec := must.Get(Lookup(name))
	must.Do(spec.Needs.Check(name, p))
	if name == "sparse" { // which finds the followers itself
		settings := defaultSparse()
		must.Do(method.Apply(&settings, values))
		return newSparse(settings, max(1, threads)), nil
	}
	made := must.Get(spec.New(values))
	whole := inUnits{made}
	if len(p.Parts) < 2 {
		return whole, nil
	}
	b := &followers{whole: whole, threads: max(1, threads)}
	for range p.Parts {
		solver := must.Get(spec.New(values))
		b.parts = append(b.parts, &follower{solver: inUnits{solver}})
	}
	return b, nil
}

// followers solves a lower level that is a sum over blocks of y with no
// shared rows: each block on its own, in parallel. Objectives other than g
// itself, which need not be such sums, are left to the whole, and so is a
// point at which a part failed.
type followers struct {
	whole   Solver
	parts   []*follower
	threads int
	built   *problem.Problem // for which the parts are built
}

// follower is one of them.
type follower struct {
	solver  Solver
	problem *problem.Problem
	calls   problem.Calls // that were charged
	entries []int         // of y
	rows    []int         // of the whole
	place   map[int]int   // of a row of the whole among the part's
}

// Solve implements Solver. A call of a part counts as one of g, whatever the part's
// size: the calls are the sum of those of the parts.
func (b *followers) Solve(ctx context.Context, p *problem.Problem, obj Objective, x []float64, warm *Solution) *Solution {
	at, ok := obj.(*AtX)
	if !ok || at.G != p.G || len(p.Parts) != len(b.parts) {
		return b.whole.Solve(ctx, p, obj, x, warm)
	}
	b.build(p)
	if warm != nil && (len(warm.Y) != p.Dy || len(warm.Lambda) != p.Rows.Len()) {
		warm = nil
	}
	solutions := b.each(ctx, x, warm)
	b.charge(p)
	s := &Solution{Y: make([]float64, p.Dy), Lambda: make([]float64, p.Rows.Len()),
		MinMultiplier: math.Inf(1), MinSlack: math.Inf(1)}
	solved := true
	for k, part := range b.parts {
		t := solutions[k]
		switch t.Status {
		case Solved:
		case Inaccurate:
			solved = false
		case Failed:
			return b.whole.Solve(ctx, p, obj, x, warm)
		default:
			return part.failure(p, t)
		}
		part.scatter(s, t)
	}
	s.Memory = together(p.Dy, solutions)
	s.Lengths = append(s.Lengths, each.Of(solutions, func(t *Solution) float64 { return t.length() })...)
	slices.Sort(s.Active)
	slices.Sort(s.Weak)
	slices.Sort(s.Dependent)
	if !solved {
		return b.whole.Solve(ctx, p, obj, x, s)
	}
	s.Value = obj.Value(s.Y)
	return s
}

// charge counts the calls of g that the parts have made since the last time.
func (b *followers) charge(p *problem.Problem) {
	var values, gradients int64
	for _, part := range b.parts {
		now := part.problem.Calls()
		made := now.Sub(part.calls)
		part.calls = now
		values, gradients = values+made.G, gradients+made.GradG
	}
	if counted, ok := p.G.(*problem.Counted); ok {
		counted.Charge(values, gradients)
	}
}

// build cuts the problem into parts, unless that is done.
func (b *followers) build(p *problem.Problem) {
	if b.built == p {
		return
	}
	b.built = p
	owner := make([]int, p.Dy)
	place := make([]int, p.Dy)
	for k, block := range p.Blocks {
		for t, j := range block {
			owner[j], place[j] = k, t
		}
	}
	rows := make([][]int, len(b.parts))
	for i := 0; i < p.Rows.Len(); i++ {
		k := 0 // a condition on x alone is looked after by the first
		for j := range p.Rows.B.Nonzeros(i) {
			k = owner[j]
		}
		rows[k] = append(rows[k], i)
	}
	facts := p.Facts
	facts.HessianPattern = nil // that of the whole
	for k, part := range b.parts {
		part.entries, part.rows, part.place = p.Blocks[k], rows[k], make(map[int]int, len(rows[k]))
		for t, i := range part.rows {
			part.place[i] = t
		}
		part.calls = problem.Calls{}
		n, r := len(part.entries), p.Rows
		own := &problem.Rows{Kind: linalg.Gather(r.Kind, part.rows), Rhs: linalg.Gather(r.Rhs, part.rows), Name: each.Of(part.rows, r.RowName),
			A: r.A.Part(part.rows, each.Number(p.Dx), p.Dx), B: r.B.Part(part.rows, place, n)}
		part.problem = &problem.Problem{Name: fmt.Sprintf("%s, follower %d", p.Name, k+1), Dx: p.Dx, Dy: n,
			F: p.F, G: problem.Count(p.Parts[k].Clone()), Rows: own, X: p.X, Facts: facts}
	}
}

// each solves the parts, `threads` at a time.
func (b *followers) each(ctx context.Context, x []float64, warm *Solution) []*Solution {
	solutions := make([]*Solution, len(b.parts))
	await.Each(len(b.parts), b.threads, func(k int) {
		part := b.parts[k]
		solutions[k] = part.solver.Solve(ctx, part.problem, G(part.problem, x), x, part.gather(warm, k, len(b.parts)))
	})
	return solutions
}

// together is what the parts have learned; nil where that is nothing.
func together(n int, solutions []*Solution) *Memory {
	m, empty := &Memory{N: n}, true
	for _, s := range solutions {
		empty = empty && s.Memory == nil
		m.Parts = append(m.Parts, cmp.Or(s.Memory, &Memory{}))
	}
	if empty {
		return nil
	}
	return m
}

// gather is the share of the part, number k of parts, of a solution of the whole.
func (f *follower) gather(whole *Solution, k, parts int) *Solution {
	if whole == nil {
		return nil
	}
	s := &Solution{Y: linalg.Gather(whole.Y, f.entries), Lambda: linalg.Gather(whole.Lambda, f.rows), Memory: whole.Memory.follower(k)}
	if len(whole.Lengths) == parts {
		s.Lengths = whole.Lengths[k : k+1]
	}
	own := func(rows []int) (out []int) {
		for _, i := range rows {
			if t, ok := f.place[i]; ok {
				out = append(out, t)
			}
		}
		return out
	}
	s.Active, s.Weak = own(whole.Active), own(whole.Weak)
	return s
}

// scatter puts the part's solution into that of the whole.
func (f *follower) scatter(whole, s *Solution) {
	linalg.Scatter(whole.Y, f.entries, s.Y)
	linalg.Scatter(whole.Lambda, f.rows, s.Lambda)
	add := func(to *[]int, rows []int) {
		*to = append(*to, each.Of(rows, func(t int) int { return f.rows[t] })...)
	}
	add(&whole.Active, s.Active)
	add(&whole.Weak, s.Weak)
	add(&whole.Dependent, s.Dependent)
	whole.MinMultiplier = math.Min(whole.MinMultiplier, s.MinMultiplier)
	whole.MinSlack = math.Min(whole.MinSlack, s.MinSlack)
	whole.ErrorBound = math.Hypot(whole.ErrorBound, s.ErrorBound)
	r, own := &whole.Residuals, s.Residuals
	r.Stationarity = math.Max(r.Stationarity, own.Stationarity)
	r.Primal = math.Max(r.Primal, own.Primal)
	r.Dual = math.Max(r.Dual, own.Dual)
	r.Complementarity = math.Max(r.Complementarity, own.Complementarity)
}

// failure is the outcome of the whole where a part has none: its status and
// reason, and its witness among the rows or entries of the whole.
func (f *follower) failure(p *problem.Problem, s *Solution) *Solution {
	whole := &Solution{Status: s.Status, Reason: s.Reason, Y: make([]float64, p.Dy), Lambda: make([]float64, p.Rows.Len()),
		ErrorBound: math.Inf(1)}
	f.scatter(whole, s)
	switch s.Status {
	case Infeasible, Dependent:
		whole.Witness = make([]float64, p.Rows.Len())
		linalg.Scatter(whole.Witness, f.rows, s.Witness)
	case Unbounded:
		whole.Witness = make([]float64, p.Dy)
		linalg.Scatter(whole.Witness, f.entries, s.Witness)
	}
	return whole
}
