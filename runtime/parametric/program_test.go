package parametric_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/oracle/oracletest"
	"bilevelc/runtime/parametric"
	"bilevelc/runtime/problem"
)

// random is a parametric quadratic program with its matrices.
type random struct {
	p          *problem.Problem
	h, n, a, b *mat.Dense // curvature, grad_xy g (dy x dx), rows A x - B y - rhs
	c, rhs     []float64  // grad_y g at 0
}

func draw(rng *rand.Rand) *random {
	dx, dy := 1+rng.IntN(3), 2+rng.IntN(3)
	m := 1 + rng.IntN(dy)
	normal := func(r, c int) *mat.Dense {
		d := mat.NewDense(r, c, nil)
		for i := range r {
			for j := range c {
				d.Set(i, j, rng.NormFloat64())
			}
		}
		return d
	}
	l := normal(dy, dy)
	r := &random{h: mat.NewDense(dy, dy, nil), n: normal(dy, dx), a: mat.NewDense(m, dx, nil), b: normal(m, dy), c: make([]float64, dy), rhs: make([]float64, m)}
	r.h.Mul(l, l.T())
	units := math.Pow(10, float64(rng.IntN(7)-3)) // of g
	for j := range dy {
		r.h.Set(j, j, r.h.At(j, j)+0.1)
		r.c[j] = units * 3 * rng.NormFloat64()
	}
	r.h.Scale(units, r.h)
	r.n.Scale(units, r.n)
	for i := range m {
		r.rhs[i] = rng.NormFloat64() // 0 = A x - B y - rhs at most: some hold at y of size 1
		if rng.IntN(2) == 0 {
			for j := range dx {
				r.a.Set(i, j, rng.NormFloat64())
			}
		}
	}
	kinds := make([]problem.Kind, m)
	if m > 1 && rng.IntN(3) == 0 {
		kinds[0] = problem.Equal
	}
	lower := oracletest.FromFormula(dx, dy, func(x, y []float64) float64 {
		v := 0.0
		for i := range dy {
			v += r.c[i] * y[i]
			for j := range dy {
				v += y[i] * r.h.At(i, j) * y[j] / 2
			}
			for j := range dx {
				v += y[i] * r.n.At(i, j) * x[j]
			}
		}
		return v
	})
	f := oracletest.FromFormula(dx, dy, func(x, y []float64) float64 {
		v := 0.0
		for j := range x {
			v += x[j] * x[j] / 2
		}
		for j := range y {
			v += (y[j] - 1) * (y[j] - 1) * float64(j+1)
		}
		return v
	})
	r.p = &problem.Problem{Dx: dx, Dy: dy, F: f, G: lower, X: oracletest.Box(dx, -10, 10), Start: make([]float64, dx),
		Rows: &problem.Rows{Kind: kinds, A: sparse.FromDense(m, dx, r.a.RawMatrix().Data), B: sparse.FromDense(m, dy, r.b.RawMatrix().Data),
			Rhs: r.rhs, Name: make([]string, m)},
		Facts: problem.Facts{StrongConvexity: 0.1 * units, QuadraticInY: true, FixedHessian: true, JointlyQuadratic: true}}
	return r
}

// answer is the answer to x, by enumeration of the sets of rows that may hold it; margin is how far the
// decisions on rows are from another one.
func (r *random) answer(x []float64) (y []float64, margin float64) {
	dy, m := r.p.Dy, r.p.Rows.Len()
	for set := range 1 << m {
		var rows []int
		skip := false
		for i := range m {
			if set>>i&1 == 1 {
				rows = append(rows, i)
			} else if r.p.Rows.Kind[i] == problem.Equal {
				skip = true
			}
		}
		if k := len(rows); !skip && k <= dy {
			kkt, rhs := mat.NewDense(dy+k, dy+k, nil), mat.NewVecDense(dy+k, nil)
			for i := range dy {
				v := -r.c[i]
				for j := range x {
					v -= r.n.At(i, j) * x[j]
				}
				rhs.SetVec(i, v)
				for j := range dy {
					kkt.Set(i, j, r.h.At(i, j))
				}
			}
			for t, i := range rows {
				v := -r.rhs[i]
				for j := range x {
					v += r.a.At(i, j) * x[j]
				}
				rhs.SetVec(dy+t, v)
				for j := range dy {
					kkt.Set(j, dy+t, -r.b.At(i, j))
					kkt.Set(dy+t, j, r.b.At(i, j))
				}
			}
			var z mat.VecDense
			if z.SolveVec(kkt, rhs) != nil {
				continue
			}
			y = z.RawVector().Data[:dy]
			slack := make([]float64, m)
			r.p.Rows.Residual(slack, x, y)
			margin = math.Inf(1)
			for i := range m {
				if set>>i&1 == 0 {
					margin = math.Min(margin, -slack[i])
				}
			}
			for t, i := range rows {
				if r.p.Rows.Kind[i] != problem.Equal {
					margin = math.Min(margin, z.AtVec(dy+t)/r.p.Facts.StrongConvexity)
				}
			}
			if margin >= 0 {
				return y, margin
			}
		}
	}
	return nil, 0
}

// TestEvaluate: F is f at the answer that enumeration finds, and its gradient what central differences of these say, at
// points that the program comes to in turn, from pieces of F that it was on before.
func TestEvaluate(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	values, gradients := 0, 0
	for k := range 400 {
		r := draw(rng)
		p := r.p.Counted()
		if !parametric.Applies(p) {
			continue
		}
		q := parametric.New(context.Background(), p, r.h.RawMatrix().Data)
		if q == nil {
			t.Fatalf("program %d: none", k)
		}
		if c := p.Calls(); c.G != 0 || c.GradG != int64(r.p.Dx+1) || c.F+c.GradF != 0 {
			t.Errorf("program %d: %+v to prepare it", k, c)
		}
		value := func(x []float64) (float64, float64) {
			y, margin := r.answer(x)
			if y == nil {
				return math.NaN(), 0
			}
			return r.p.F.Value(x, y), margin
		}
		for range 8 {
			x, grad := make([]float64, r.p.Dx), make([]float64, r.p.Dx)
			for j := range x {
				x[j] = 3 * rng.NormFloat64()
			}
			before := p.Calls()
			f, ok := q.Evaluate(grad, x)
			if c := p.Calls().Sub(before); c.G+c.GradG != 0 {
				t.Errorf("program %d: %+v for a value", k, c)
			}
			want, margin := value(x)
			if margin < 1e-6 {
				continue
			}
			if !ok || math.Abs(f-want) > 1e-8*(1+math.Abs(want)) {
				t.Fatalf("program %d at %v: F %.17g (%v), not %.17g", k, x, f, ok, want)
			}
			values++
			const step = 1e-6
			if margin < 1e3*step {
				continue
			}
			for j, v := range grad {
				at := x[j]
				x[j] = at + step
				up, one := value(x)
				x[j] = at - step
				down, two := value(x)
				x[j] = at
				if d := (up - down) / (2 * step); one > 0 && two > 0 && math.Abs(v-d) > 1e-5*(1+math.Abs(want)+math.Abs(v)) {
					t.Fatalf("program %d at %v: derivative %d is %.10g, not %.10g", k, x, j, v, d)
				}
				gradients++
			}
		}
	}
	if values < 2000 || gradients < 2000 {
		t.Errorf("only %d values and %d derivatives were compared", values, gradients)
	}
}

// TestNoAnswer: where x leaves no y, or breaks a row that y does not enter, F has no value, and the program goes on to
// the next x as if it had not been there.
func TestNoAnswer(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for k := range 100 {
		r := draw(rng)
		m, dx := r.p.Rows.Len(), r.p.Dx
		if m+2 > r.p.Dy {
			continue
		}
		// The first row again, and its opposite x away from it, or a row on x alone.
		a, b, rhs := append([]float64(nil), r.a.RawMatrix().Data...), append([]float64(nil), r.b.RawMatrix().Data...), append([]float64(nil), r.rhs...)
		alone := rng.IntN(2) == 0
		for j := range dx {
			v := -r.a.At(0, j)
			if j == 0 {
				v += 1
			}
			if alone {
				v = 0
				if j == 0 {
					v = 1
				}
			}
			a = append(a, v)
		}
		for j := range r.p.Dy {
			v := -r.b.At(0, j)
			if alone {
				v = 0
			}
			b = append(b, v)
		}
		if alone {
			rhs = append(rhs, 0)
		} else {
			rhs = append(rhs, -r.rhs[0])
		}
		kinds := append(append([]problem.Kind(nil), r.p.Rows.Kind...), problem.AtMost)
		kinds[0] = problem.AtMost
		r.p.Rows = &problem.Rows{Kind: kinds, A: sparse.FromDense(m+1, dx, a), B: sparse.FromDense(m+1, r.p.Dy, b), Rhs: rhs, Name: make([]string, m+1)}
		q := parametric.New(context.Background(), r.p.Counted(), r.h.RawMatrix().Data)
		again := parametric.New(context.Background(), r.p.Counted(), r.h.RawMatrix().Data)
		grad := make([]float64, dx)
		x := make([]float64, dx)
		x[0] = 1 + rng.Float64() // A x - B y - rhs and its opposite add up to x_0, which is to be at most 0
		if f, ok := q.Evaluate(grad, x); ok {
			t.Errorf("program %d: F %g where there is no answer (%v)", k, f, alone)
		}
		x[0] = -1 - rng.Float64()
		f, ok := q.Evaluate(grad, x)
		want, also := again.Evaluate(grad, x)
		if !ok || !also || math.Abs(f-want) > 1e-10*(1+math.Abs(want)) {
			t.Errorf("program %d: F %g (%v), and %g (%v) had it not been there", k, f, ok, want, also)
		}
	}
}

// TestApplies: a lower level that is another one is none.
func TestApplies(t *testing.T) {
	for name, change := range map[string]func(p *problem.Problem){
		"forces are not affine in x": func(p *problem.Problem) { p.Facts.JointlyQuadratic = false },
		"f reads multipliers":        func(p *problem.Problem) { p.Duals = []int{0} },
		"coupled":                    func(p *problem.Problem) { p.Coupled = &problem.Coupled{} },
		"more rows than variables":   func(p *problem.Problem) { p.Dy = p.Rows.Len() - 1 },
		"smooth":                     func(p *problem.Problem) { p.Rows.Kind = []problem.Kind{problem.Equal} },
	} {
		r := draw(rand.New(rand.NewPCG(3, 3)))
		if !parametric.Applies(r.p) {
			t.Fatal("it does not apply at all")
		}
		if change(r.p); parametric.Applies(r.p) {
			t.Errorf("%s, and it applies", name)
		}
	}
}

// TestEnds: a context that has ended makes no program.
func TestEnds(t *testing.T) {
	r := draw(rand.New(rand.NewPCG(4, 4)))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if parametric.New(ctx, r.p, r.h.RawMatrix().Data) != nil {
		t.Error("one was made")
	}
}

// TestSingular: a Hessian without curvature in some direction, but for rounding, makes none.
func TestSingular(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for k := range 50 {
		r := draw(rng)
		n := r.p.Dy
		l := mat.NewDense(n, n-1, nil)
		for i := range n {
			for j := range n - 1 {
				l.Set(i, j, rng.NormFloat64())
			}
		}
		r.h.Mul(l, l.T())
		if parametric.New(context.Background(), r.p, r.h.RawMatrix().Data) != nil {
			t.Errorf("program %d: one was made", k)
		}
	}
}
