package reduced_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/reduced"
	"bilevelc/runtime/tolerance"
)

// smooth is 1/2 v'M v + c'v + wave sum cos v_i over v = (x, answer), plus weighted constraints of the leader.
type smooth struct {
	nx, n int
	m     []float64
	c     []float64
	wave  float64
	rows  [][]float64 // of the leader's constraints rows v - rhs, whose weights follow in the answer
	rhs   []float64
}

func (q *smooth) ValueGrad(dx, dy, x, y []float64) float64 {
	v := append(append([]float64{}, x...), y...)
	v = v[:q.n]
	g, s := make([]float64, q.n), 0.0
	for i, t := range v {
		h := 0.0
		for j, u := range v {
			h += q.m[i*q.n+j] * u
		}
		g[i] = h + q.c[i] - q.wave*math.Sin(t)
		s += t*h/2 + q.c[i]*t + q.wave*math.Cos(t)
	}
	for r, row := range q.rows {
		c := -q.rhs[r]
		for i, t := range v {
			c += row[i] * t
			g[i] += y[q.n-q.nx+r] * row[i]
		}
		s += y[q.n-q.nx+r] * c
		g = append(g, c)
	}
	copy(dx, g[:q.nx])
	copy(dy, g[q.nx:])
	return s
}
func (q *smooth) Value(x, y []float64) float64           { return q.ValueGrad(nil, nil, x, y) }
func (q *smooth) GradX(dst, x, y []float64)              { q.ValueGrad(dst, nil, x, y) }
func (q *smooth) GradY(dst, x, y []float64)              { q.ValueGrad(nil, dst, x, y) }
func (q *smooth) ValueGradY(dst, x, y []float64) float64 { return q.ValueGrad(nil, dst, x, y) }
func (q *smooth) Clone() problem.Function                { return q }

// kind of random problem.
type kind struct {
	wave, nonconvex, dual, equality, bind, rows, tight, corner, sparse, tall, flat bool
}

// random is a problem with a follower of all kinds of rows (two-sided ones, bounds, equality rows) and a leader in a box, with rows.
func random(rng *rand.Rand, k kind) *problem.Problem {
	nx, ny := 2+rng.IntN(4), 3+rng.IntN(5)
	if k.corner {
		ny = 2 + rng.IntN(2)
	}
	if k.tall { // more of y than of x and rows together
		ny = 18
	}
	normal := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		return v
	}
	n := nx + ny
	g := &smooth{nx: nx, n: n, m: make([]float64, n*n), c: normal(n)}
	for range ny + 2 {
		v := normal(ny)
		for i := range ny {
			for j := range ny {
				g.m[(nx+i)*n+nx+j] += v[i] * v[j] / 4
			}
		}
	}
	for i := range ny {
		g.m[(nx+i)*n+nx+i] += 0.5
		for j := range nx {
			v := rng.NormFloat64()
			g.m[(nx+i)*n+j], g.m[j*n+nx+i] = v, v
		}
	}
	var duals []int
	rows := &problem.Rows{A: sparse.Empty(nx), B: sparse.Empty(ny)}
	add := func(kind problem.Kind, a, b []float64, rhs float64) {
		for j, v := range a {
			rows.A.Append(j, v)
		}
		rows.A.EndRow()
		for j, v := range b {
			if v != 0 {
				rows.B.Append(j, v)
			}
		}
		rows.B.EndRow()
		rows.Kind, rows.Rhs = append(rows.Kind, kind), append(rows.Rhs, rhs)
	}
	negative := func(v []float64) []float64 {
		w := make([]float64, len(v))
		for i, t := range v {
			w[i] = -t
		}
		return w
	}
	for j := range ny {
		if k.tall && j >= 4 {
			break
		}
		e := make([]float64, ny)
		e[j] = 1
		switch rng.IntN(3) {
		case 0:
			add(problem.AtMost, nil, e, 1) // y_j >= -1
		case 1:
			add(problem.AtMost, nil, e, 0.5)
			add(problem.AtMost, nil, negative(e), 1)
		}
	}
	if k.corner { // the follower is drawn to corners, of more rows than it has dimensions
		for j := range ny {
			g.c[nx+j] *= 10
		}
		for range 2 * ny {
			add(problem.AtMost, normal(nx), normal(ny), 1)
		}
	}
	for i := range 3 {
		a, b := make([]float64, nx), normal(ny)
		if i > 0 {
			a = normal(nx)
		}
		add(problem.AtMost, a, b, 1+rng.Float64()) // A x - B y <= b
		if i < 2 {
			add(problem.AtMost, negative(a), negative(b), 1+rng.Float64())
		}
	}
	if k.equality {
		b, a := normal(ny), normal(nx)
		add(problem.Equal, a, b, 0.1)
		if k.flat { // g has no curvature across the equation
			across := linalg.Norm(b)
			for range 2 { // columns, then rows
				for i := range ny {
					sum := 0.0
					for j := range ny {
						sum += g.m[(nx+i)*n+nx+j] * b[j] / across
					}
					for j := range ny {
						g.m[(nx+i)*n+nx+j] -= sum * b[j] / across
					}
				}
				for i := range ny {
					for j := range i {
						g.m[(nx+i)*n+nx+j], g.m[(nx+j)*n+nx+i] = g.m[(nx+j)*n+nx+i], g.m[(nx+i)*n+nx+j]
					}
				}
			}
		}
		if !k.dual && rng.IntN(2) == 0 { // and once more
			for j := range a {
				a[j] *= 2
			}
			for j := range b {
				b[j] *= 2
			}
			if k.bind {
				for j := range a { // which asks something of x
					a[j] += rng.NormFloat64()
				}
			}
			add(problem.Equal, a, b, 0.2)
		}
	}
	if k.dual {
		for i := range rows.Kind {
			if rng.IntN(2) == 0 {
				duals = append(duals, i)
			}
		}
	}
	nf := n + len(duals)
	f := &smooth{nx: nx, n: nf, m: make([]float64, nf*nf), c: normal(nf)}
	for range nf {
		v := normal(nf)
		for i := range nf {
			for j := range nf {
				f.m[i*nf+j] += v[i] * v[j] / float64(nf)
			}
		}
	}
	if k.nonconvex {
		for i := range nx {
			f.m[i*nf+i] -= 1
		}
	}
	if k.wave {
		f.wave = 0.5
	}
	x := &problem.Set{Lo: make([]float64, nx), Hi: make([]float64, nx), E: sparse.Empty(nx)}
	for j := range nx {
		x.Lo[j], x.Hi[j] = -1, 1
		if k.tight {
			x.Lo[j], x.Hi[j] = -0.2, 0.2
		}
	}
	if k.rows {
		for i := range 2 {
			for j := range nx {
				x.E.Append(j, rng.NormFloat64())
			}
			x.E.EndRow()
			x.Kind, x.Rhs, x.Name = append(x.Kind, problem.AtMost), append(x.Rhs, 0.3), append(x.Name, "")
			if i == 1 && nx > 2 && rng.IntN(2) == 0 {
				x.Kind[1], x.Rhs[1] = problem.Equal, 0
			}
		}
	}
	degree := 2
	if k.wave {
		degree = 3
	}
	p := &problem.Problem{Name: "random", Dx: nx, Dy: ny, F: f, G: g, Rows: rows, X: x, Duals: duals,
		Facts: problem.Facts{StrongConvexity: 0.5, QuadraticInY: true, FixedHessian: true, JointlyQuadratic: true, DegreeF: degree}}
	if k.sparse { // factors are sparse ones, whatever there is in them
		ones := make([]float64, ny*ny)
		for i := range ones {
			ones[i] = 1
		}
		p.Facts.HessianPattern = sparse.FromDense(ny, ny, ones)
	}
	return p
}

// truth evaluates F by another solver of the follower.
type truth struct {
	s *kkt.System
	f *kkt.Follower
}

func newTruth(t *testing.T, s *kkt.System) *truth {
	f, err := kkt.NewFollower(s)
	if err != nil {
		t.Fatal(err)
	}
	return &truth{s, f}
}

func (u *truth) at(x []float64) (z []float64, value float64, ok bool) {
	z, status := u.f.Solve(context.Background(), x)
	if status != activeset.Optimal {
		return nil, 0, false
	}
	return z, u.s.Value(z), true
}

// inX reports whether x is in X to rounding.
func inX(p *problem.Problem, x []float64, slack float64) bool {
	for j, v := range x {
		if v < p.X.Lo[j]-slack || v > p.X.Hi[j]+slack {
			return false
		}
	}
	for i, kind := range p.X.Kind {
		off := p.X.E.RowDot(i, x) - p.X.Rhs[i]
		if kind == problem.Equal {
			off = math.Abs(off)
		}
		if off > slack {
			return false
		}
	}
	return true
}

// signs checks what the multipliers of a strongly stationary point must satisfy.
func signs(t *testing.T, s *kkt.System, r *reduced.Result) {
	t.Helper()
	z, m := r.Point.Z, r.Point.Multipliers
	if res, size := s.Residual(m, z); !(res <= 1e-6*math.Max(1, size)) {
		t.Errorf("residual %g of terms of size %g", res, size)
	}
	slack := make([]float64, s.M)
	s.Slack(slack, nil, z)
	biactive := map[int]bool{}
	for _, k := range r.Point.Biactive {
		biactive[k] = true
	}
	const tiny = 1e-7
	for k, pair := range s.Pairs {
		i := pair.Row
		l := s.Lambda(z)[i]
		if slack[i] < -tiny || l < 0 || slack[i]*l > tiny*math.Max(1, l) { // a slack is 0 to what its own terms leave, however large the multiplier
			t.Errorf("row %d: slack %g, multiplier %g", i, slack[i], l)
		}
		if biactive[k] {
			if math.Abs(slack[i]) > tiny || l > tiny {
				t.Errorf("biactive row %d: slack %g, multiplier %g", i, slack[i], l)
			}
			if r.Status == reduced.Stationary && (m.Slack[i] < -tiny || m.Lambda[i] < -tiny) {
				t.Errorf("biactive row %d: gamma %g, nu %g", i, m.Slack[i], m.Lambda[i])
			}
			continue
		}
		if r.Point.Branch[k] == kkt.MultZero && (m.Slack[i] != 0 || l != 0) || r.Point.Branch[k] == kkt.SlackZero && (math.Abs(slack[i]) > tiny || m.Lambda[i] != 0) {
			t.Errorf("row %d on %v: slack %g with %g, multiplier %g with %g", i, r.Point.Branch[k], slack[i], m.Slack[i], l, m.Lambda[i])
		}
	}
	for j, v := range m.Bound {
		if v > tiny && z[j] > s.P.X.Lo[j]+tiny || v < -tiny && z[j] < s.P.X.Hi[j]-tiny {
			t.Errorf("x[%d] = %g has the multiplier %g", j, z[j], v)
		}
	}
	for i, v := range m.UpperRows {
		if s.P.X.Kind[i] == problem.AtMost && (v < -tiny || v > tiny && s.P.X.E.RowDot(i, s.X(z)) < s.P.X.Rhs[i]-tiny) {
			t.Errorf("row %d of X has the multiplier %g", i, v)
		}
	}
}

// sameButFor reports whether z lies on the branch of a point, but for its biactive rows: no other kink is between.
func sameButFor(s *kkt.System, p *kkt.Point, z []float64) bool {
	branch, _ := s.BranchAt(z)
	for k, fix := range branch {
		if fix != p.Branch[k] && !slices.Contains(p.Biactive, k) {
			return false
		}
	}
	return true
}

// No point next to one that is returned has a smaller F, F is that of the follower's exact answer, the multipliers are those of a strongly stationary point, and, where f
// is convex, the point minimizes f on each branch that meets there.
func TestRandom(t *testing.T) {
	rng := members.Rand(t, 3)
	stationary, kinks, branches := 0, 0, 0
	const cases = 400
	for c := range cases {
		k := kind{wave: c%5 == 1, nonconvex: c%4 == 2, dual: c%3 == 1, equality: c%7 < 3, bind: c%2 == 0, rows: c%2 == 1, tight: c%11 == 5, corner: c%9 < 3, sparse: c/3%2 == 0, tall: c%5 == 3, flat: c%4 < 2}
		k.corner, k.sparse = k.corner && !k.tall, k.sparse && !k.tall
		p := random(rng, k)
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		u := newTruth(t, s)
		x0 := make([]float64, p.Dx)
		if _, _, ok := u.at(x0); !ok {
			continue
		}
		opts := reduced.Options{NoPath: c%13 == 4, Steps: 3000}
		r, err := reduced.Solve(t.Context(), s, x0, opts)
		if errors.Is(err, reduced.ErrNumerical) || k.sparse && errors.Is(err, reduced.ErrFactors) {
			continue // counted below
		}
		if err != nil {
			t.Errorf("case %d (%+v): %v", c, k, err)
			continue
		}
		z := r.Point.Z
		x := append([]float64(nil), s.X(z)...)
		if !inX(p, x, 1e-9) {
			t.Errorf("case %d: x is not in X", c)
		}
		_, value, ok := u.at(x)
		unique := len(p.Duals) == 0
		if !ok {
			off := 0.0 // at the edge of where the follower has an answer, by rounding beyond it
			for i, kind := range p.Rows.Kind {
				slack := p.Rows.Rhs[i] + p.Rows.B.RowDot(i, s.Y(z)) - p.Rows.A.RowDot(i, x)
				if kind == problem.Equal {
					slack = -math.Abs(slack)
				}
				off = math.Max(off, -slack)
			}
			if off < 1e-8+tolerance.Parted*linalg.NormInf(s.Lambda(z)) { // slacks are differences of terms of the size of the multipliers
				continue
			}
		}
		if !ok || unique && math.Abs(value-r.Point.F) > 1e-7*(1+math.Abs(value))+tolerance.Sign*linalg.NormInf(s.Lambda(z)) { // the other solver's rows are off by Sign
			t.Errorf("case %d (%+v): F is %v, not %v", c, k, value, r.Point.F)
		}
		if r.Status != reduced.Stationary {
			t.Logf("case %d (%+v): %v, left %g, least %g", c, k, r.Status, r.Left, r.Least)
			continue
		}
		stationary++
		kinks += len(r.Point.Biactive)
		signs(t, s, r)
		if t.Failed() {
			t.Fatalf("case %d (%+v)", c, k)
		}
		// F falls nowhere to first order: with d the distance, by no more than curvature makes of it.
		for range 60 {
			d := math.Pow(10, -4-rng.Float64())
			w := append([]float64(nil), x...)
			for j := range w {
				w[j] += d * rng.NormFloat64()
				w[j] = math.Max(p.X.Lo[j], math.Min(p.X.Hi[j], w[j]))
			}
			if !inX(p, w, 0) {
				continue
			}
			if z, v, ok := u.at(w); ok && unique && sameButFor(s, r.Point, z) && v < r.Point.F-100*d*d-10*tolerance.Sign*(1+math.Abs(v)) {
				t.Errorf("case %d (%+v): F falls by %g at the distance %g", c, k, r.Point.F-v, d)
			}
		}
		if k.wave || k.nonconvex || !s.Objective.Convex || len(r.Point.Biactive) > 6 {
			continue
		}
		program := *s.Relaxation
		program.Q, program.C = s.ScaledObjective(&s.Objective.Quadratic)
		solver, err := activeset.New(&program)
		if err != nil {
			t.Fatal(err)
		}
		for side := range 1 << len(r.Point.Biactive) {
			branch := append([]kkt.Fix(nil), r.Point.Branch...)
			for b, k := range r.Point.Biactive {
				branch[k] = kkt.MultZero
				if side>>b&1 == 1 {
					branch[k] = kkt.SlackZero
				}
			}
			var b activeset.Bounds
			s.Bounds(&b, branch)
			sol := solver.Solve(t.Context(), &b, nil, activeset.Options{})
			if sol.Status != activeset.Optimal {
				t.Errorf("case %d (%+v), branch %b: %v", c, k, side, sol.Status)
				continue
			}
			branches++
			if v := sol.Value + s.Objective.Const; v < r.Point.F-1e-7*(1+math.Abs(v)) {
				t.Errorf("case %d (%+v): branch %b reaches %v, below %v", c, k, side, v, r.Point.F)
			}
		}
	}
	t.Logf("%d of %d strongly stationary, %d kinks, %d branches", stationary, cases, kinks, branches)
	if stationary < cases*9/10 || kinks < cases/10 || branches < cases/4 {
		t.Error("too few")
	}
}

// A solve from the lowest of several local solutions ends at no higher F, though the path from there may lead anywhere: to those of other starts, which are higher.
func TestNoHigherThanTheStart(t *testing.T) {
	rng := members.Rand(t, 32)
	solved, apart, edges := 0, 0, 0
	for c := range 240 {
		p := random(rng, kind{nonconvex: c%2 == 0, bind: true, equality: c%3 == 0, tall: c%5 == 2})
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		u := newTruth(t, s)
		best, least, ends := []float64(nil), math.Inf(1), map[int64]bool{}
		from := func(x []float64) (*reduced.Result, bool) {
			if _, _, ok := u.at(x); !ok {
				return nil, false
			}
			r, err := reduced.Solve(t.Context(), s, x, reduced.Options{Steps: 3000})
			return r, err == nil && r.Status == reduced.Stationary
		}
		for range 6 {
			x := make([]float64, p.Dx)
			for j := range x {
				x[j] = p.X.Lo[j] + rng.Float64()*(p.X.Hi[j]-p.X.Lo[j])
			}
			r, ok := from(x)
			if !ok {
				continue
			}
			ends[int64(math.Round(r.Point.F*1e6))] = true
			if r.Point.F < least {
				best, least = append(best[:0], s.X(r.Point.Z)...), r.Point.F
			}
		}
		if best == nil {
			continue
		}
		r, err := reduced.Solve(t.Context(), s, best, reduced.Options{Steps: 3000})
		if errors.Is(err, reduced.ErrInfeasible) {
			edges++ // at the edge of where the follower has an answer
			continue
		}
		if err != nil {
			t.Errorf("case %d: %v", c, err)
			continue
		}
		solved++
		if len(ends) > 1 {
			apart++
		}
		if r.Point.F > least+1e-8*(1+math.Abs(least)) {
			t.Errorf("case %d: from %v, where F is %v, to %v", c, best, least, r.Point.F)
		}
	}
	if solved < 150 || apart < 8 || edges > 3 {
		t.Errorf("%d solved, %d of them with several local solutions; %d at the edge of where there is an answer", solved, apart, edges)
	}
}
