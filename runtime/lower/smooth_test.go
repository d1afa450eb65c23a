package lower

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/runtime/problem"
)

// separable is sum_k phi(a_k'y) w_k + mu/2 |y|^2 + c'y with phi the softplus
// log(1 + exp(u)), or with joint set log(sum_k w_k exp(a_k'y)) instead.
type smooth struct {
	a       [][]float64
	w, c    []float64
	mu      float64
	joint   bool
	scratch []float64
}

func (g *smooth) Clone() problem.Function {
	h := *g
	h.scratch = make([]float64, len(g.c))
	return &h
}
func (g *smooth) Value(x, y []float64) float64             { return g.ValueGradY(g.scratch, x, y) }
func (g *smooth) GradX(dst, x, y []float64)                { clear(dst) }
func (g *smooth) GradY(dst, x, y []float64)                { g.ValueGradY(dst, x, y) }
func (g *smooth) ValueGrad(dx, dy, x, y []float64) float64 { clear(dx); return g.ValueGradY(dy, x, y) }

func (g *smooth) ValueGradY(dst, x, y []float64) float64 {
	value := 0.0
	for j, v := range y {
		dst[j] = g.mu*v + g.c[j]
		value += g.mu*v*v/2 + g.c[j]*v
	}
	u := make([]float64, len(g.a))
	top := math.Inf(-1)
	for k, row := range g.a {
		u[k] = dotProduct(row, y)
		top = math.Max(top, u[k])
	}
	if g.joint {
		total := 0.0
		for k := range u {
			u[k] = g.w[k] * math.Exp(u[k]-top)
			total += u[k]
		}
		value += top + math.Log(total)
		for k, row := range g.a {
			for j, v := range row {
				dst[j] += u[k] / total * v
			}
		}
		return value
	}
	for k, row := range g.a {
		value += g.w[k] * (math.Max(u[k], 0) + math.Log1p(math.Exp(-math.Abs(u[k]))))
		slope := g.w[k] / (1 + math.Exp(-u[k]))
		for j, v := range row {
			dst[j] += slope * v
		}
	}
	return value
}

// plantSmooth replaces the objective of a planted problem by a smooth one with
// the same solution and multipliers.
func plantSmooth(made *planted, mu, scale float64, joint bool, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 2))
	n := made.problem.Dy
	g := &smooth{mu: mu, joint: joint, c: make([]float64, n), scratch: make([]float64, n)}
	for k := 0; k < 2*n; k++ {
		row := normal(rng, n)
		for j := range row {
			row[j] *= scale / math.Sqrt(float64(n))
		}
		g.a = append(g.a, row)
		g.w = append(g.w, 0.5+rng.Float64())
	}
	grad := make([]float64, n)
	g.ValueGradY(grad, nil, made.y)
	for j := range g.c {
		g.c[j] = -grad[j]
	}
	made.problem.Rows.B.AddMulVecT(g.c, 1, made.lambda)
	made.problem.G = g
	made.problem.Facts = problem.Facts{StrongConvexity: mu}
}

func TestSmoothObjectives(t *testing.T) {
	for _, c := range []struct {
		plan
		mu, scale float64
		joint     bool
	}{
		{plan{n: 10, condition: 1, active: 3, inactive: 4}, 1, 1, false},
		{plan{n: 30, condition: 1, active: 8, inactive: 10, equal: 2}, 0.1, 3, false},
		{plan{n: 30, condition: 1, active: 8, inactive: 10, atBound: 6, boxed: true}, 0.1, 10, false},
		{plan{n: 30, condition: 1, active: 8, inactive: 10, atBound: 6, boxed: true, weak: 2, duplicates: 2}, 0.1, 10, true},
		{plan{n: 100, condition: 1, active: 20, inactive: 30}, 0.01, 5, false},
		{plan{n: 100, condition: 1, active: 20, inactive: 30}, 0.01, 20, true},
	} {
		made := c.build(11)
		plantSmooth(made, c.mu, c.scale, c.joint, 5)
		p := made.problem.Counted()
		solver := newALM(defaultALM())
		s := solver.Solve(context.Background(), p, G(p, made.x), made.x, nil)
		t.Logf("%v mu %g scale %g joint %v: %v, %d calls, %d changes, y %.1e lambda %.1e bound %.1e stationarity %.1e", c.plan, c.mu, c.scale, c.joint,
			s.Status, p.Calls().GradG, solver.active.changes, distance(s.Y, made.y), distance(s.Lambda, made.lambda), s.ErrorBound, s.Residuals.Stationarity)
		if s.Status != Solved {
			t.Errorf("%v: %v: %s", c.plan, s.Status, s.Reason)
		}
		if d := distance(s.Y, made.y); d > 1e-9 {
			t.Errorf("%v: y is off by %g", c.plan, d)
		}
	}
}
