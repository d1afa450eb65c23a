package lower

import (
	"context"
	"fmt"
	"sync"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/method"
	"bilevelc/runtime/problem"
)

// New makes the named solver for p with the defaults changed by values. Where
// p has independent followers (Problem.Blocks) the solver takes them one by
// one, on at most `threads` of them at a time; the solution does not depend on
// that number. The error says what is wrong with the name, the settings or
// the method's needs.
func New(name string, values method.Values, p *problem.Problem, threads int) (Solver, error) {
	spec, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	if err := spec.Needs.Check(name, p); err != nil {
		return nil, err
	}
	whole, err := spec.New(values)
	if err != nil || len(p.Blocks) < 2 {
		return whole, err
	}
	b := &followers{whole: whole, threads: max(1, threads)}
	for range p.Blocks {
		solver, err := spec.New(values)
		if err != nil {
			return nil, err
		}
		b.parts = append(b.parts, &part{solver: solver})
	}
	return b, nil
}

// followers solves a lower level that is a sum over blocks of y with no
// shared rows: each block on its own, with the other entries of y at rest, in
// parallel; then the whole takes stock of the point and removes what rounding
// left. Objectives other than g itself, which need not be such sums, are left
// to the whole.
type followers struct {
	whole   Solver
	parts   []*part
	threads int

	stage
	built *problem.Problem // for which the parts are built
}

// part is one follower.
type part struct {
	solver  Solver
	problem *problem.Problem
	entries []int // of y
	rows    []int // of the whole
	g       *restriction
}

// Solve implements Solver.
func (b *followers) Solve(ctx context.Context, p *problem.Problem, obj Objective, x []float64, warm *Solution) *Solution {
	at, ok := obj.(*AtX)
	if !ok || at.G != p.G || len(p.Blocks) != len(b.parts) {
		return b.whole.Solve(ctx, p, obj, x, warm)
	}
	s, ok := b.prepare(p, obj, x, warm, DefaultTolerance)
	if !ok {
		return s
	}
	if err := b.start(s.Y); err != nil {
		return b.finish(s, stalled, err)
	}
	b.build(p)
	solutions := b.each(ctx, x, s.Y, warm)
	together := &Solution{Y: s.Y, Lambda: make([]float64, p.Rows.Len())}
	for k, part := range b.parts {
		t := solutions[k]
		if t.Status != Solved && t.Status != Inaccurate {
			return part.failure(p, t, s)
		}
		part.scatter(together, t)
	}
	return b.whole.Solve(ctx, p, obj, x, together)
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
		if cols, _ := p.Rows.B.Row(i); len(cols) > 0 {
			k := owner[cols[0]]
			rows[k] = append(rows[k], i)
		}
	}
	for k, part := range b.parts {
		part.entries, part.rows = p.Blocks[k], rows[k]
		part.g = newRestriction(p.G.Clone(), part.entries, p.Dy)
		part.problem = &problem.Problem{Name: fmt.Sprintf("%s, follower %d", p.Name, k+1), Dx: p.Dx, Dy: len(part.entries),
			F: p.F, G: part.g, Rows: cut(p.Rows, part.rows, place, len(part.entries)), X: p.X, Facts: p.Facts}
	}
}

// cut takes some rows, on the entries of y at the given places.
func cut(r *problem.Rows, rows, place []int, n int) *problem.Rows {
	out := &problem.Rows{}
	var a, b []sparse.Entry
	for t, i := range rows {
		out.Kind = append(out.Kind, r.Kind[i])
		out.Rhs = append(out.Rhs, r.Rhs[i])
		out.Name = append(out.Name, r.RowName(i))
		cols, vals := r.A.Row(i)
		for k, j := range cols {
			a = append(a, sparse.Entry{Row: t, Col: j, Val: vals[k]})
		}
		cols, vals = r.B.Row(i)
		for k, j := range cols {
			b = append(b, sparse.Entry{Row: t, Col: place[j], Val: vals[k]})
		}
	}
	out.A = sparse.FromEntries(len(rows), r.A.Cols, a)
	out.B = sparse.FromEntries(len(rows), n, b)
	return out
}

// each solves the parts, `threads` at a time, from the point y.
func (b *followers) each(ctx context.Context, x, y []float64, warm *Solution) []*Solution {
	solutions := make([]*Solution, len(b.parts))
	var wait sync.WaitGroup
	slots := make(chan struct{}, b.threads)
	for k, part := range b.parts {
		copy(part.g.y, y)
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			solutions[k] = part.solver.Solve(ctx, part.problem, G(part.problem, x), x, part.gather(warm))
		})
	}
	wait.Wait()
	return solutions
}

// gather is the part's share of a solution of the whole.
func (f *part) gather(whole *Solution) *Solution {
	if whole == nil || len(whole.Y) != len(f.g.y) {
		return nil
	}
	s := &Solution{Y: make([]float64, len(f.entries)), Lambda: make([]float64, len(f.rows))}
	for t, j := range f.entries {
		s.Y[t] = whole.Y[j]
	}
	place := make(map[int]int, len(f.rows))
	for t, i := range f.rows {
		s.Lambda[t] = whole.Lambda[i]
		place[i] = t
	}
	for _, i := range whole.Active {
		if t, ok := place[i]; ok {
			s.Active = append(s.Active, t)
		}
	}
	return s
}

// scatter puts the part's solution into that of the whole.
func (f *part) scatter(whole, s *Solution) {
	for t, j := range f.entries {
		whole.Y[j] = s.Y[t]
	}
	for t, i := range f.rows {
		whole.Lambda[i] = s.Lambda[t]
	}
	for _, t := range s.Active {
		whole.Active = append(whole.Active, f.rows[t])
	}
}

// failure is the outcome of the whole where a part has none: its status and
// reason, and its witness among the rows or entries of the whole.
func (f *part) failure(p *problem.Problem, s, whole *Solution) *Solution {
	whole.Status, whole.Reason = s.Status, s.Reason
	switch s.Status {
	case Infeasible, Dependent:
		whole.Witness = make([]float64, p.Rows.Len())
		for t, i := range f.rows {
			whole.Witness[i] = s.Witness[t]
		}
	case Unbounded:
		whole.Witness = make([]float64, p.Dy)
		for t, j := range f.entries {
			whole.Witness[j] = s.Witness[t]
		}
	}
	return whole
}

// restriction is g as a function of x and some entries of y, with the others
// at rest.
type restriction struct {
	g       problem.Function
	entries []int
	y, grad []float64 // len Dy of the whole
}

func newRestriction(g problem.Function, entries []int, n int) *restriction {
	return &restriction{g: g, entries: entries, y: make([]float64, n), grad: make([]float64, n)}
}

func (r *restriction) place(y []float64) []float64 {
	for t, j := range r.entries {
		r.y[j] = y[t]
	}
	return r.y
}

func (r *restriction) take(dst []float64) {
	for t, j := range r.entries {
		dst[t] = r.grad[j]
	}
}

// Value is g with the entries set to y.
func (r *restriction) Value(x, y []float64) float64 { return r.g.Value(x, r.place(y)) }

// GradX is the gradient in x.
func (r *restriction) GradX(dst, x, y []float64) { r.g.GradX(dst, x, r.place(y)) }

// GradY is the gradient in the entries.
func (r *restriction) GradY(dst, x, y []float64) {
	r.g.GradY(r.grad, x, r.place(y))
	r.take(dst)
}

// ValueGradY is the value and the gradient in the entries.
func (r *restriction) ValueGradY(dst, x, y []float64) float64 {
	value := r.g.ValueGradY(r.grad, x, r.place(y))
	r.take(dst)
	return value
}

// ValueGrad is the value and both gradients.
func (r *restriction) ValueGrad(dstX, dstY, x, y []float64) float64 {
	value := r.g.ValueGrad(dstX, r.grad, x, r.place(y))
	r.take(dstY)
	return value
}

// Clone returns an independent restriction.
func (r *restriction) Clone() problem.Function {
	c := newRestriction(r.g.Clone(), r.entries, len(r.y))
	copy(c.y, r.y)
	return c
}
