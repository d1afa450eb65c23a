package central

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// quadratic is 1/2 y'Qy + x'Py + quartic sum_j y_j^4 + bend (x_1^2, x_2^2, ...)'Py + c'y, or, with a Q of zeros, any f.
type quadratic struct {
	q, p, c       []float64
	nx, ny        int
	quartic, bend float64
}

func (f *quadratic) ValueGrad(dx, dy, x, y []float64) float64 {
	clear(dx)
	v := 0.0
	for i, yi := range y {
		dy[i] = f.c[i] + 4*f.quartic*yi*yi*yi
		v += f.c[i]*yi + f.quartic*yi*yi*yi*yi
		for j, yj := range y {
			dy[i] += f.q[i*f.ny+j] * yj
			v += yi * f.q[i*f.ny+j] * yj / 2
		}
		for j, xj := range x {
			at := xj + f.bend*xj*xj
			dy[i] += at * f.p[j*f.ny+i]
			dx[j] += (1 + 2*f.bend*xj) * f.p[j*f.ny+i] * yi
			v += at * f.p[j*f.ny+i] * yi
		}
	}
	return v
}

func (f *quadratic) Value(x, y []float64) float64 {
	return f.ValueGrad(make([]float64, f.nx), make([]float64, f.ny), x, y)
}
func (f *quadratic) GradX(dst, x, y []float64) { f.ValueGrad(dst, make([]float64, f.ny), x, y) }
func (f *quadratic) GradY(dst, x, y []float64) { f.ValueGrad(make([]float64, f.nx), dst, x, y) }
func (f *quadratic) ValueGradY(dst, x, y []float64) float64 {
	return f.ValueGrad(make([]float64, f.nx), dst, x, y)
}
func (f *quadratic) Clone() problem.Function { return f }

func vector(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return v
}

// random is a problem with bounds, general inequalities and an equality row, some of
// which read x, and an x at which there is a y inside of them.
func random(rng *rand.Rand, curved bool) (*problem.Problem, []float64) {
	nx, ny, general := 3, 6, 4
	x, inside := vector(rng, nx), vector(rng, ny)
	g := &quadratic{q: make([]float64, ny*ny), p: vector(rng, nx*ny), c: vector(rng, ny), nx: nx, ny: ny}
	if curved {
		g.quartic = 0.3
	}
	for range ny {
		v := vector(rng, ny)
		for i := range ny {
			for j := range ny {
				g.q[i*ny+j] += v[i] * v[j]
			}
		}
	}
	for i := range ny {
		g.q[i*ny+i]++
	}
	f := &quadratic{q: make([]float64, ny*ny), p: vector(rng, nx*ny), c: vector(rng, ny), nx: nx, ny: ny, quartic: 0.1}
	var a, b []sparse.Entry
	rows := &problem.Rows{}
	add := func(kind problem.Kind, reads bool, coef []float64, room float64) {
		i, h := rows.Len(), -room
		for j, v := range coef {
			if v != 0 {
				b = append(b, sparse.Entry{Row: i, Col: j, Val: v})
				h += v * inside[j]
			}
		}
		rhs := -h
		for j := range x {
			if reads {
				v := rng.NormFloat64()
				a = append(a, sparse.Entry{Row: i, Col: j, Val: v})
				rhs += v * x[j]
			}
		}
		// A x - B y - b = -room at (x, inside).
		rows.Kind, rows.Rhs, rows.Name = append(rows.Kind, kind), append(rows.Rhs, rhs-2*room*0), append(rows.Name, "")
	}
	for j := range ny {
		unit := make([]float64, ny)
		unit[j] = 1 + rng.Float64()
		add(problem.AtMost, j%2 == 0, unit, 0.2+rng.Float64())
		unit = make([]float64, ny)
		unit[j] = -1
		add(problem.AtMost, j%3 == 0, unit, 0.2+rng.Float64())
	}
	for range general {
		add(problem.AtMost, true, vector(rng, ny), 0.2+rng.Float64())
	}
	add(problem.Equal, true, vector(rng, ny), 0)
	rows.A, rows.B = sparse.FromEntries(rows.Len(), nx, a), sparse.FromEntries(rows.Len(), ny, b)
	p := &problem.Problem{Dx: nx, Dy: ny, F: f, G: g, Rows: rows, Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: !curved, FixedHessian: !curved}}
	return p, x
}

// barrier is one in units of forces for two problems of four.
func barrier(rng *rand.Rand, p *problem.Problem, k int) Barrier {
	if k%4 < 2 {
		return Barrier{}
	}
	return Barrier{Mu: 1, Floor: 0.05 + rng.Float64(), At: vector(rng, p.Dy)}
}

// share is mu_i/mu at x where all of y is one part.
func share(p *problem.Problem, b Barrier, x []float64) float64 {
	if b.Floor == 0 {
		return 1
	}
	force := make([]float64, p.Dy)
	p.G.GradY(force, x, b.At)
	u := linalg.Dot(force, force) / float64(p.Dy) / (b.Floor * b.Floor)
	return math.Sqrt(1 + math.Pow(math.Max(0, u-1), 3)/(u*u))
}

// Points of the path satisfy its equations, and the gradient is that of the values.
func TestPathAndGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for k := range 60 {
		p, x := random(rng, k%2 == 1)
		c := New(p, nil)
		if c == nil {
			t.Fatal("no path")
		}
		y := make([]float64, p.Dy)
		b := barrier(rng, p, k)
		c.Begin(y, b)
		for _, mu := range []float64{3, 1e-2, 1e-5} {
			grad := make([]float64, p.Dx)
			if _, err := c.Evaluate(context.Background(), grad, x, mu); err != nil {
				t.Fatalf("problem %d, mu %g: %v", k, mu, err)
			}
			force, h := make([]float64, p.Dy), make([]float64, p.Rows.Len())
			p.G.GradY(force, x, c.y)
			p.Rows.B.AddMulVecT(force, -1, c.lambda)
			p.Rows.Residual(h, x, c.y)
			if off := linalg.NormInf(force); off > 1e-7*(1+linalg.Norm(c.lambda)) {
				t.Errorf("problem %d, mu %g: off stationarity by %g", k, mu, off)
			}
			for i, v := range h {
				if p.Rows.Kind[i] == problem.Equal {
					if math.Abs(v) > 1e-7 {
						t.Errorf("problem %d, mu %g: equality row off by %g", k, mu, v)
					}
				} else if own := mu * share(p, b, x); !(v < 0) || math.Abs(-v*c.lambda[i]-own) > 1e-3*own {
					t.Errorf("problem %d, mu %g: slack %g times multiplier %g is not %g", k, mu, -v, c.lambda[i], own)
				}
			}
			if mu < 1e-4 {
				continue // pieces of F are that near
			}
			for j := range x {
				const step = 1e-4
				at := func(by float64) float64 {
					z := append([]float64(nil), x...)
					z[j] += by
					v, err := c.Evaluate(context.Background(), make([]float64, p.Dx), z, mu)
					if err != nil {
						t.Fatalf("problem %d, mu %g: %v", k, mu, err)
					}
					return v
				}
				if d := (at(step) - at(-step)) / (2 * step); math.Abs(d-grad[j]) > 1e-3*(linalg.Norm(grad)+1e-2) {
					t.Errorf("problem %d, mu %g: gradient %g, differences %g", k, mu, grad[j], d)
				}
			}
		}
	}
}

// Where there is no y inside the rows the path is off, and the point stays where it was.
func TestNoInside(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	p, x := random(rng, false)
	c := New(p, nil)
	c.Begin(make([]float64, p.Dy), Barrier{})
	grad := make([]float64, p.Dx)
	first, err := c.Evaluate(context.Background(), grad, x, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	rhs := append([]float64(nil), p.Rows.Rhs...)
	p.Rows.Rhs[0] -= 1e3
	p.Rows.Rhs[1] -= 1e3
	if _, err := c.Evaluate(context.Background(), grad, x, 0.1); err != ErrOff {
		t.Fatalf("bounds that exclude each other: %v", err)
	}
	copy(p.Rows.Rhs, rhs)
	if again, err := c.Evaluate(context.Background(), grad, x, 0.1); err != nil || math.Abs(again-first) > 1e-6*(1+math.Abs(first)) {
		t.Fatalf("%g after a failure, %g before (%v)", again, first, err)
	}
}

// Where no row holds y the force there is none, and the path begins all the same.
func TestFreeFollower(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	p, x := random(rng, false)
	for i, kind := range p.Rows.Kind {
		if kind == problem.Equal {
			p.Rows.Kind[i] = problem.AtMost
		}
		p.Rows.Rhs[i] += 100
	}
	c := New(p, nil)
	// Newton's method finds the minimizer without rows: it is 0 for c = -P'x.
	g := p.G.(*quadratic)
	for i := range g.c {
		g.c[i] = 0
		for j, v := range x {
			g.c[i] -= v * g.p[j*g.ny+i]
		}
	}
	y := make([]float64, p.Dy)
	b := c.Of(x, y, make([]float64, p.Rows.Len()))
	if !(b.Mu > 0) || !(b.Floor > 0) || math.IsInf(b.Floor, 0) {
		t.Fatalf("%+v", b)
	}
	c.Begin(y, b)
	if _, err := c.Evaluate(context.Background(), make([]float64, p.Dx), x, b.Mu); err != nil {
		t.Fatal(err)
	}
}

// Where forces are well above the floor a follower whose objective is multiplied answers as
// before, and so F_mu is as before: no leader who can do that gains by it.
func TestForcesDoNotCount(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for k := range 20 {
		p, x := random(rng, false)
		at := vector(rng, p.Dy)
		var first float64
		for _, times := range []float64{1, 1e4} {
			g := *p.G.(*quadratic)
			for _, v := range []*[]float64{&g.q, &g.p, &g.c} {
				*v = append([]float64(nil), *v...)
				for i := range *v {
					(*v)[i] *= times
				}
			}
			scaled := *p
			scaled.G = &g
			c := New(&scaled, nil)
			c.Begin(make([]float64, p.Dy), Barrier{Mu: 1, Floor: 1e-9, At: at})
			value, err := c.Evaluate(context.Background(), make([]float64, p.Dx), x, 1e-10)
			if err != nil {
				t.Fatalf("problem %d, times %g: %v", k, times, err)
			}
			if times == 1 {
				first = value
			} else if math.Abs(value-first) > 1e-7*(1+math.Abs(first)) {
				t.Errorf("problem %d: F_mu is %g, and %g where g is multiplied by %g", k, first, value, times)
			}
		}
	}
}

// Return brings back the point, and the factors, from before a failed or finished move.
func TestReturn(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for k := range 8 {
		p, x := random(rng, k%2 == 1)
		c := New(p, nil)
		c.Begin(make([]float64, p.Dy), barrier(rng, p, k))
		if _, err := c.Evaluate(context.Background(), make([]float64, p.Dx), x, 0.1); err != nil {
			t.Fatal(err)
		}
		second, v := c.Second(x), vector(rng, p.Dx)
		before, after := make([]float64, p.Dx), make([]float64, p.Dx)
		second.Apply(before, v)
		z := append([]float64(nil), x...)
		z[0] += 0.02
		if _, err := c.Evaluate(context.Background(), make([]float64, p.Dx), z, 0.1); err != nil {
			t.Fatal(err)
		}
		if !c.Return(x) {
			t.Fatal("no return")
		}
		second.Apply(after, v)
		if linalg.Distance(before, after) > 1e-6*(1+linalg.Norm(before)) {
			t.Errorf("problem %d: %v before, %v after", k, before, after)
		}
	}
}
