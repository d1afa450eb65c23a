package lower

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/qp"
)

// coupled is 1/2 y'Hy + c'y + x'Py with a sparse H, plus the sum over links of
// weight log(1 + exp(y_i - y_j)) and over entries of weight y_j^4, where curved.
type coupled struct {
	h, p   *sparse.CSR // p is dx x n
	c      []float64
	links  [][2]int
	weight []float64
	fourth float64
	grad   []float64
}

func (g *coupled) Clone() problem.Function {
	d := *g
	d.grad = make([]float64, len(g.c))
	return &d
}

func (g *coupled) Value(x, y []float64) float64 { return g.ValueGradY(g.grad, x, y) }
func (g *coupled) GradX(dst, x, y []float64)    { g.p.MulVec(dst, y) }
func (g *coupled) GradY(dst, x, y []float64)    { g.ValueGradY(dst, x, y) }
func (g *coupled) ValueGrad(dx, dy, x, y []float64) float64 {
	g.GradX(dx, x, y)
	return g.ValueGradY(dy, x, y)
}

func (g *coupled) ValueGradY(dst, x, y []float64) float64 {
	g.h.MulVec(dst, y)
	value := linalg.Dot(dst, y) / 2
	linear := append([]float64(nil), g.c...)
	g.p.AddMulVecT(linear, 1, x)
	value += linalg.Dot(linear, y)
	linalg.Axpy(dst, 1, linear)
	for k, l := range g.links {
		u := y[l[0]] - y[l[1]]
		value += g.weight[k] * (math.Log1p(math.Exp(-math.Abs(u))) + math.Max(u, 0))
		s := g.weight[k] / (1 + math.Exp(-u))
		dst[l[0]] += s
		dst[l[1]] -= s
	}
	for j, v := range y {
		value += g.fourth * v * v * v * v
		dst[j] += 4 * g.fourth * v * v * v
	}
	return value
}

// sparseProblem is a random problem of parts that hang together or do not. With
// degenerate set numbers are small integers and rows repeat.
func sparseProblem(rng *rand.Rand, curved, degenerate bool) (p *problem.Problem, x []float64) {
	n, dx := 2+rng.IntN(40), 2
	number := rng.NormFloat64
	if degenerate {
		number = func() float64 { return float64(rng.IntN(5) - 2) }
	}
	g := &coupled{c: make([]float64, n), grad: make([]float64, n)}
	h := make([]float64, n*n)
	pair := func(i, j int, v float64) {
		h[i*n+j] += v
		h[j*n+i] += v
		h[i*n+i] += math.Abs(v)
		h[j*n+j] += math.Abs(v)
	}
	for i := range n {
		h[i*n+i]++
		g.c[i] = 3 * number()
		if i > 0 && rng.IntN(4) > 0 {
			pair(i-1, i, number())
		}
		if j := rng.IntN(n); j != i && rng.IntN(8) == 0 {
			pair(i, j, number())
		}
		if j := rng.IntN(n); curved && j != i && rng.IntN(3) == 0 {
			g.links, g.weight = append(g.links, [2]int{i, j}), append(g.weight, 4*rng.Float64())
		}
	}
	if curved {
		g.fourth = 0.3
	}
	g.h = sparse.FromDense(n, n, h)
	for _, l := range g.links {
		h[l[0]*n+l[1]], h[l[1]*n+l[0]] = 1, 1
	}
	cross := make([]float64, dx*n)
	for range n {
		cross[rng.IntN(dx*n)] = number()
	}
	g.p = sparse.FromDense(dx, n, cross)
	inside := make([]float64, n)
	rows := &problem.Rows{}
	var a, b []sparse.Entry
	add := func(kind problem.Kind, cols []int, vals []float64, slack float64, withX bool) {
		i := len(rows.Kind)
		at := 0.0
		for t, j := range cols {
			b = append(b, sparse.Entry{Row: i, Col: j, Val: vals[t]})
			at += vals[t] * inside[j]
		}
		if withX {
			a = append(a, sparse.Entry{Row: i, Col: rng.IntN(dx), Val: number()})
		}
		rows.Kind, rows.Name = append(rows.Kind, kind), append(rows.Name, "")
		rows.Rhs = append(rows.Rhs, -(at - slack)) // B y >= at - slack at x = 0
	}
	step := func() float64 { return 0.5 * float64(rng.IntN(3)) }
	for j := range n {
		inside[j] = number() / 2
		if rng.IntN(3) > 0 {
			add(problem.AtMost, []int{j}, []float64{1}, step(), rng.IntN(5) == 0)
		}
		if rng.IntN(3) > 0 {
			add(problem.AtMost, []int{j}, []float64{-2}, 2*step(), false)
		}
	}
	var cols []int
	var vals []float64
	for range rng.IntN(n/2 + 1) {
		if !degenerate || cols == nil || rng.IntN(4) > 0 {
			cols, vals = nil, nil
			for range 1 + rng.IntN(3) {
				if j := rng.IntN(n); !slices.Contains(cols, j) {
					cols, vals = append(cols, j), append(vals, 1+math.Abs(number()))
				}
			}
		}
		kind := problem.AtMost
		slack := step()
		if rng.IntN(4) == 0 {
			kind, slack = problem.Equal, 0
		}
		add(kind, cols, vals, slack, rng.IntN(2) == 0)
	}
	m := len(rows.Kind)
	rows.A, rows.B = sparse.FromEntries(m, dx, a), sparse.FromEntries(m, n, b)
	facts := problem.Facts{StrongConvexity: 1, QuadraticInY: !curved, FixedHessian: !curved, HessianPattern: sparse.FromDense(n, n, h)}
	return &problem.Problem{Dx: dx, Dy: n, F: zero{}, G: g, Rows: rows, X: unbounded(dx), Facts: facts}, make([]float64, dx)
}

// TestSparseAgainstDense compares the sparse solver with the dense one, cold and
// along a path of x, and on the faces they find; with several threads nothing
// changes.
func TestSparseAgainstDense(t *testing.T) {
	left, solved, infeasible := 0, 0, 0
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 7))
		curved, degenerate := seed%3 == 0, seed%2 == 0
		p, x := sparseProblem(rng, curved, degenerate)
		solver, parallel := newSparse(defaultSparse(), 1), newSparse(defaultSparse(), 3)
		var warm, other *Solution
		for step := range 4 {
			if step > 0 {
				x = slices.Clone(x)
				for j := range x {
					x[j] += 0.2 * rng.NormFloat64()
				}
			}
			want := newALM(defaultALM()).Solve(context.Background(), p, G(p, x), x, nil)
			got := solver.Solve(context.Background(), p, G(p, x), x, warm)
			other = parallel.Solve(context.Background(), p, G(p, x), x, other)
			if got.Status != other.Status || !slices.Equal(got.Y, other.Y) || !slices.Equal(got.Lambda, other.Lambda) {
				t.Errorf("seed %d, step %d: threads show", seed, step)
			}
			none := func(s *Solution) bool { return s.Status == Infeasible || s.Status == Dependent }
			if got.Status != want.Status && !(none(got) && none(want)) {
				t.Errorf("seed %d, step %d: %v (%s), want %v (%s)", seed, step, got.Status, got.Reason, want.Status, want.Reason)
			}
			if none(got) {
				infeasible++
				if !qp.Refuted(p.Rows, x, got.Witness) {
					t.Errorf("seed %d, step %d: the witness proves nothing", seed, step)
				}
			}
			if got.Status != Solved || want.Status != Solved {
				warm, other = nil, nil
				continue
			}
			solved++
			if !got.Sparse {
				left++
			}
			compareSparse(t, seed, step, p, x, got, want)
			warm = got
		}
	}
	t.Logf("%d solved, %d infeasible, %d left to the dense solver", solved, infeasible, left)
	if left > solved/50 || solved < 300 || infeasible < 20 {
		t.Errorf("%d solved, %d infeasible, %d left to the dense solver", solved, infeasible, left)
	}
}

func compareSparse(t *testing.T, seed uint64, step int, p *problem.Problem, x []float64, got, want *Solution) {
	t.Helper()
	size := 1 + linalg.NormInf(want.Y)
	if d := distance(got.Y, want.Y); d > 1e-9*size {
		t.Errorf("seed %d, step %d: y differs by %g", seed, step, d)
	}
	if r := got.Residuals; r.Stationarity > 1e-9*(1+linalg.NormInf(want.Lambda)) || r.Primal > 1e-11*size || r.Dual != 0 {
		t.Errorf("seed %d, step %d: residuals %+v", seed, step, r)
	}
	if len(want.Dependent)+len(got.Dependent) > 0 {
		// Which of the rows that depend on each other is left out is open, and the
		// multipliers with it. Whether rows are weak follows from that choice.
		if (len(want.Dependent)+len(want.Weak) == 0) != (len(got.Dependent)+len(got.Weak) == 0) {
			t.Errorf("seed %d, step %d: dependent %v weak %v, want %v and %v", seed, step, got.Dependent, got.Weak, want.Dependent, want.Weak)
		}
		return
	}
	if tied(p, x, want) && tied(p, x, got) {
		return // so are the multipliers, at this x alone
	}
	if d := distance(got.Lambda, want.Lambda); d > 1e-7*(1+linalg.NormInf(want.Lambda)) {
		t.Errorf("seed %d, step %d: multipliers differ by %g", seed, step, d)
	}
	if !slices.Equal(got.Active, want.Active) || !slices.Equal(got.Weak, want.Weak) {
		t.Errorf("seed %d, step %d: active %v weak %v, want %v and %v", seed, step, got.Active, got.Weak, want.Active, want.Weak)
	}
	slope := make([]float64, p.Dy)
	for j := range slope {
		slope[j] = 1e-2 * math.Sin(float64(3*j))
	}
	obj := &Tilted{G(p, x), slope}
	wanted := OnFace(context.Background(), p, obj, x, want.Active, want)
	found := OnFace(context.Background(), p, obj, x, got.Active, got)
	if got.Sparse != found.Sparse || wanted.Sparse {
		t.Errorf("seed %d, step %d: on the face: %v, want %v", seed, step, found.Sparse, got.Sparse)
	}
	if found.Status != wanted.Status || distance(found.Y, wanted.Y) > 1e-9*size || distance(found.Lambda, wanted.Lambda) > 1e-7*(1+linalg.NormInf(want.Lambda)) {
		t.Errorf("seed %d, step %d: on the face: %v (%s), y off by %g, multipliers by %g, want %v", seed, step, found.Status, found.Reason,
			distance(found.Y, wanted.Y), distance(found.Lambda, wanted.Lambda), wanted.Status)
	}
}

// tied reports that the rows that hold with equality at a solution, weak ones among
// them, have dependent normals.
func tied(p *problem.Problem, x []float64, s *Solution) bool {
	var q polyhedron
	var f face
	q.set(p, x, nil)
	tied := false
	f.gather(&q, nil, slices.Concat(s.Active, s.Weak), func(int) { tied = true })
	return tied
}

// TestSparseCalls: a tridiagonal Hessian costs 3 gradients, once.
func TestSparseCalls(t *testing.T) {
	const n = 200
	var h, b []sparse.Entry
	rows := &problem.Rows{A: sparse.FromEntries(n, 1, nil)}
	for j := range n {
		h = append(h, sparse.Entry{Row: j, Col: j, Val: 3})
		if j > 0 {
			h = append(h, sparse.Entry{Row: j, Col: j - 1, Val: -1}, sparse.Entry{Row: j - 1, Col: j, Val: -1})
		}
		b = append(b, sparse.Entry{Row: j, Col: j, Val: 1})
		rows.Kind, rows.Rhs, rows.Name = append(rows.Kind, problem.AtMost), append(rows.Rhs, 0), append(rows.Name, "")
	}
	rows.B = sparse.FromEntries(n, n, b)
	cross := make([]float64, n)
	c := make([]float64, n)
	for j := range c {
		c[j], cross[j] = math.Sin(float64(j)), math.Cos(float64(j))
	}
	g := &coupled{h: sparse.FromEntries(n, n, h), p: sparse.FromDense(1, n, cross), c: c, grad: make([]float64, n)}
	p := (&problem.Problem{Dx: 1, Dy: n, F: zero{}, G: g, Rows: rows, X: unbounded(1),
		Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true, HessianPattern: g.h}}).Counted()
	solver := newSparse(defaultSparse(), 1)
	var warm *Solution
	for step, most := range []int64{7, 4, 4} {
		before := p.Calls()
		x := []float64{0.1 * float64(step)}
		warm = solver.Solve(context.Background(), p, G(p, x), x, warm)
		if calls := p.Calls().Sub(before).GradG; warm.Status != Solved || calls > most {
			t.Errorf("solve %d: %v with %d gradients, want at most %d", step, warm.Status, calls, most)
		}
	}
}

// TestSparseOnSmoothObjectives solves planted problems whose Hessian moves, and
// objectives that are not defined everywhere.
func TestSparseOnSmoothObjectives(t *testing.T) {
	for _, scale := range []float64{1, 3, 10} {
		made := plan{n: 30, condition: 1, active: 8, inactive: 10, atBound: 6, boxed: true, equal: 2, weak: 2}.build(11)
		plantSmooth(made, 0.1, scale, false, 5)
		p := made.problem
		p.Facts.HessianPattern = full(p.Dy)
		s := solve(newSparse(defaultSparse(), 1), p, G(p, made.x))
		if d := distance(s.Y, made.y); s.Status != Solved || !s.Sparse || d > 1e-9 {
			t.Errorf("scale %g: %v (%s), sparse %v, y off by %g", scale, s.Status, s.Reason, s.Sparse, d)
		}
	}
	const n = 20
	c := normal(rand.New(rand.NewPCG(1, 1)), n)
	want, total := make([]float64, n), 0.0
	b, r, sum := [][]float64{}, []float64{}, make([]float64, n)
	for j := range c {
		row := make([]float64, n)
		row[j], sum[j] = 1, -1
		b, r = append(b, row), append(r, 0)
		want[j] = math.Exp(c[j] - 1)
		total += want[j]
	}
	for j := range want {
		want[j] /= math.Max(1, total)
	}
	p := &problem.Problem{Dy: n, F: zero{}, G: &entropy{c, make([]float64, n)}, Rows: rowsOf(0, n, append(b, sum), append(r, -1), nil),
		X: unbounded(0), Facts: problem.Facts{StrongConvexity: 1, HessianPattern: sparse.FromDense(n, n, identity(n))}}
	s := solve(newSparse(defaultSparse(), 1), p, G(p, nil))
	if d := distance(s.Y, want); s.Status != Solved || !s.Sparse || d > 1e-10 {
		t.Errorf("entropy: %v (%s), sparse %v, y off by %g", s.Status, s.Reason, s.Sparse, d)
	}
}

func identity(n int) []float64 {
	q := make([]float64, n*n)
	for j := range n {
		q[j*n+j] = 1
	}
	return q
}
