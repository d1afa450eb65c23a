package sequential_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/sequential"
)

// priced is 1/2 v'M v + c'v over v = (x, y), plus y_i w_i exp(P_i'x) and, in f, exp(P_0'x): quadratic in y, with a fixed Hessian.
type priced struct {
	nx, n int
	m, c  []float64
	w     []float64 // len ny; nil for none
	p     [][]float64
}

func (q *priced) ValueGrad(dx, dy, x, y []float64) float64 {
	v := append(append([]float64{}, x...), y...)
	g, s := make([]float64, q.n), 0.0
	for i, t := range v {
		h := 0.0
		for j, u := range v {
			h += q.m[i*q.n+j] * u
		}
		g[i] = h + q.c[i]
		s += t*h/2 + q.c[i]*t
	}
	for i, p := range q.p {
		at, weight := 0.0, 1.0
		for j, t := range x {
			at += p[j] * t
		}
		if q.w != nil {
			weight = q.w[i] * y[i]
			g[q.nx+i] += q.w[i] * math.Exp(at)
		}
		s += weight * math.Exp(at)
		for j := range x {
			g[j] += weight * math.Exp(at) * p[j]
		}
	}
	copy(dx, g[:q.nx])
	copy(dy, g[q.nx:])
	return s
}
func (q *priced) Value(x, y []float64) float64           { return q.ValueGrad(nil, nil, x, y) }
func (q *priced) GradX(dst, x, y []float64)              { q.ValueGrad(dst, nil, x, y) }
func (q *priced) GradY(dst, x, y []float64)              { q.ValueGrad(nil, dst, x, y) }
func (q *priced) ValueGradY(dst, x, y []float64) float64 { return q.ValueGrad(nil, dst, x, y) }
func (q *priced) Clone() problem.Function                { return q }

// HessY is the Hessian in y, row by row.
func (q *priced) HessY(_, _ []float64) []float64 {
	ny := q.n - q.nx
	out := make([]float64, ny*ny)
	for i := range ny {
		copy(out[i*ny:(i+1)*ny], q.m[(q.nx+i)*q.n+q.nx:(q.nx+i+1)*q.n])
	}
	return out
}

// pricedFollowers is a problem of two or three followers of one or two entries of y each, whose places are mixed, with prices that are exponentials of x.
func pricedFollowers(rng *rand.Rand) *problem.Problem {
	nx, count := 2+rng.IntN(2), 2+rng.IntN(2)
	blocks, ny := make([][]int, count), 0
	for b := range blocks {
		blocks[b] = make([]int, 1+rng.IntN(2))
		ny += len(blocks[b])
	}
	order, n := rng.Perm(ny), nx+ny
	g, f := &priced{nx: nx, n: n, m: make([]float64, n*n), c: make([]float64, n)}, &priced{nx: nx, n: n, m: make([]float64, n*n), c: make([]float64, n)}
	for i := range n {
		f.m[i*n+i], f.c[i] = 0.2+rng.Float64(), 2*rng.NormFloat64()
	}
	row := func(n int) []float64 {
		v := make([]float64, n)
		for j := range v {
			v[j] = rng.NormFloat64() / 2
		}
		return v
	}
	f.p = [][]float64{row(nx)}
	for i := range ny {
		g.w, g.p, g.c[nx+i] = append(g.w, 2*rng.NormFloat64()), append(g.p, row(nx)), rng.NormFloat64()
	}
	rows := &problem.Rows{A: sparse.Empty(nx), B: sparse.Empty(ny)}
	add := func(a []float64, cols []int, b []float64, rhs float64) {
		kkttest.AddRow(rows, problem.AtMost, a, cols, b, rhs)
		rows.Name = append(rows.Name, "row")
	}
	next := 0
	for _, own := range blocks {
		for a := range own {
			own[a] = order[next]
			next++
		}
		v := row(len(own))
		for a, i := range own {
			g.m[(nx+i)*n+nx+i] += 0.5
			for c, j := range own {
				g.m[(nx+i)*n+nx+j] += v[a] * v[c]
			}
		}
	}
	for _, own := range blocks {
		for _, i := range own {
			add(nil, []int{i}, []float64{1}, 0.3)
		}
	}
	for _, own := range blocks {
		add(row(nx), own, append([]float64{-1}, row(len(own)-1)...), 1)
	}
	set := &problem.Set{Lo: make([]float64, nx), Hi: make([]float64, nx), E: sparse.Empty(nx)}
	for j := range nx {
		set.Lo[j], set.Hi[j] = -1, 1
	}
	return &problem.Problem{Dx: nx, Dy: ny, F: f, G: g, Rows: rows, X: set, Blocks: blocks,
		Facts: problem.Facts{StrongConvexity: 0.5, Convex: true, QuadraticInY: true, FixedHessian: true, DegreeF: 3}}
}

// The end of the path is in X, and F there, from an enumeration of all branches, is no larger than at the start; it leads down from most.
func TestAhead(t *testing.T) {
	rng := members.Rand(t, 15)
	starts, fell := 0, 0
	for k := range members.Count(100) {
		p := pricedFollowers(rng)
		if why := sequential.AheadApplies(p); why != "" {
			t.Fatal(why)
		}
		x := make([]float64, p.Dx)
		for j := range x {
			x[j] = 2*rng.Float64() - 1
		}
		tr := truthOf(p)
		if tr.answer(x) == nil {
			continue
		}
		starts++
		end, err := sequential.Ahead(t.Context(), p, x)
		if err != nil {
			t.Errorf("case %d: %v", k, err)
			continue
		}
		for j, v := range end {
			if v < p.X.Lo[j] || v > p.X.Hi[j] {
				t.Errorf("case %d: the end %v is not in X", k, end)
			}
		}
		from, _ := tr.at(x)
		to, _ := tr.at(end)
		if to > from+1e-9*(1+math.Abs(from)) {
			t.Errorf("case %d: F is %v at the end, %v at the start", k, to, from)
		}
		if to < from-1e-4 {
			fell++
		}
	}
	if fell < starts/2 {
		t.Errorf("%d of %d paths lead down", fell, starts)
	}
}
