package lower

import (
	"context"
	"math"
	"slices"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// besides puts planted problems side by side, their entries interleaved.
func besides(parts ...*planted) *planted {
	n := parts[0].problem.Dy
	k := len(parts)
	total := n * k
	out := &planted{x: []float64{}, y: make([]float64, total), unique: true}
	q := make([]float64, total*total)
	c := make([]float64, total)
	rows := &problem.Rows{}
	var entries []sparse.Entry
	blocks := make([][]int, k)
	for b, part := range parts {
		g := part.problem.G.(*quadratic)
		for i := 0; i < n; i++ {
			at := i*k + b
			blocks[b] = append(blocks[b], at)
			out.y[at], c[at] = part.y[i], g.c[i]
			for j := 0; j < n; j++ {
				q[at*total+j*k+b] = g.q[i*n+j]
			}
		}
		for i := 0; i < part.problem.Rows.Len(); i++ {
			cols, vals := part.problem.Rows.B.Row(i)
			for t, j := range cols {
				entries = append(entries, sparse.Entry{Row: rows.Len(), Col: j*k + b, Val: vals[t]})
			}
			if slices.Contains(part.active, i) {
				out.active = append(out.active, rows.Len())
			}
			rows.Kind = append(rows.Kind, part.problem.Rows.Kind[i])
			rows.Rhs = append(rows.Rhs, part.problem.Rows.Rhs[i])
			out.lambda = append(out.lambda, part.lambda[i])
		}
	}
	rows.A = sparse.FromEntries(rows.Len(), 0, nil)
	rows.B = sparse.FromEntries(rows.Len(), total, entries)
	facts := parts[0].problem.Facts
	facts.HessianPattern = sparse.FromDense(total, total, q)
	out.problem = &problem.Problem{Dy: total, F: zero{}, G: newQuadratic(0, total, q, nil, c), Rows: rows, X: unbounded(0), Facts: facts, Blocks: blocks}
	return out
}

func TestFollowersAreSolvedApart(t *testing.T) {
	c := plan{n: 70, condition: 100, active: 4, inactive: 6, equal: 2, atBound: 3, boxed: true} // pieces have 64 entries or more
	made := besides(c.build(1), c.build(2), c.build(3))
	var first *Solution
	for _, threads := range []int{1, 2, 8} {
		solver, err := New("sparse", nil, made.problem, threads)
		if err != nil {
			t.Fatal(err)
		}
		p := made.problem.Counted()
		s := solver.Solve(context.Background(), p, G(p, made.x), made.x, nil)
		check(t, "followers", c, made, s)
		if first == nil {
			if n := len(solver.(*sparseSolver).work.solvers); n != 3 {
				t.Fatalf("%d parts", n)
			}
			first = s
			t.Logf("%d gradients, y off by %.1e", p.Calls().GradG, distance(s.Y, made.y))
		}
		for j := range s.Y {
			if math.Float64bits(s.Y[j]) != math.Float64bits(first.Y[j]) {
				t.Fatalf("%d threads change y[%d] from %v to %v", threads, j, first.Y[j], s.Y[j])
			}
		}
	}
}

func TestFollowersReportTheirWitness(t *testing.T) {
	c := plan{n: 3, condition: 10, active: 1, inactive: 1}
	made := besides(c.build(1), c.build(2))
	p := made.problem
	// The second follower's first row, and its opposite with a gap.
	var entries []sparse.Entry
	m := p.Rows.Len()
	for i := 0; i < m; i++ {
		cols, vals := p.Rows.B.Row(i)
		for t, j := range cols {
			entries = append(entries, sparse.Entry{Row: i, Col: j, Val: vals[t]})
			if i == 2 {
				entries = append(entries, sparse.Entry{Row: m, Col: j, Val: -vals[t]})
			}
		}
	}
	p.Rows.Kind = append(p.Rows.Kind, problem.AtMost)
	p.Rows.Rhs = append(p.Rows.Rhs, -p.Rows.Rhs[2]-1)
	p.Rows.A = sparse.FromEntries(m+1, 0, nil)
	p.Rows.B = sparse.FromEntries(m+1, p.Dy, entries)
	solver, err := New("alm", nil, p, 2)
	if err != nil {
		t.Fatal(err)
	}
	s := solver.Solve(context.Background(), p, G(p, made.x), made.x, nil)
	if s.Status != Infeasible || !(s.Witness[2] > 0) || math.Abs(s.Witness[2]-s.Witness[m]) > 1e-12 {
		t.Errorf("%v: %s, witness %v", s.Status, s.Reason, s.Witness)
	}
}
