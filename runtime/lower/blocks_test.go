package lower

import (
	"context"
	"fmt"
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
	var functions []problem.Function
	for b, part := range parts {
		g := part.problem.G.(*quadratic)
		functions = append(functions, g)
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
	out.problem = &problem.Problem{Dy: total, F: zero{}, G: newQuadratic(0, total, q, nil, c), Rows: rows, X: unbounded(0),
		Facts: parts[0].problem.Facts, Blocks: blocks, Parts: functions}
	return out
}

func TestFollowersAreSolvedApart(t *testing.T) {
	c := plan{n: 20, condition: 100, active: 4, inactive: 6, equal: 2, atBound: 3, boxed: true}
	made := besides(c.build(1), c.build(2), c.build(3))
	var first *Solution
	for _, threads := range []int{1, 2, 8} {
		solver, err := New("alm", nil, made.problem, threads)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := solver.(*followers); !ok {
			t.Fatalf("blocks are not recognized: %T", solver)
		}
		p := made.problem.Counted()
		s := solver.Solve(context.Background(), p, G(p, made.x), made.x, nil)
		check(t, "followers", c, made, s)
		if first == nil {
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

// broken is a function whose gradients panic.
type broken struct{ problem.Function }

func (b broken) GradY(dst, x, y []float64)                    { panic("broken") }
func (b broken) ValueGradY(dst, x, y []float64) float64       { panic("broken") }
func (b broken) ValueGrad(dstX, dstY, x, y []float64) float64 { panic("broken") }
func (b broken) Clone() problem.Function                      { return b }

// A panic on the goroutine of a follower is one of the solve, which its caller can
// recover, and not the end of the process.
func TestPanicsOfFollowers(t *testing.T) {
	for _, threads := range []int{1, 2, 3} {
		easy := plan{n: 20, condition: 2, active: 1, inactive: 1}
		made := besides(easy.build(1), easy.build(2), easy.build(3))
		p := made.problem
		p.Parts[1] = broken{p.Parts[1]}
		solver, err := New("alm", nil, p, threads)
		if err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() {
				if v := fmt.Sprint(recover()); v != "broken" {
					t.Errorf("%d threads: %s", threads, v)
				}
			}()
			counted := p.Counted()
			solver.Solve(context.Background(), counted, G(counted, made.x), made.x, nil)
		}()
	}
}
