package oracle

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/problem"
)

// growing is g = sum_j (h_j y_j^2 / 2 + e_j exp(k_j y_j)) + (c - x)'y.
type growing struct{ h, e, k, c []float64 }

func (g *growing) Value(x, y []float64) float64 {
	s := 0.0
	for j, v := range y {
		s += g.h[j]*v*v/2 + g.e[j]*math.Exp(g.k[j]*v) + (g.c[j]-x[j])*v
	}
	return s
}
func (g *growing) GradX(dst, x, y []float64) {
	for j, v := range y {
		dst[j] = -v
	}
}
func (g *growing) GradY(dst, x, y []float64) {
	for j, v := range y {
		dst[j] = g.h[j]*v + g.e[j]*g.k[j]*math.Exp(g.k[j]*v) + g.c[j] - x[j]
	}
}
func (g *growing) ValueGradY(dst, x, y []float64) float64 { g.GradY(dst, x, y); return g.Value(x, y) }
func (g *growing) ValueGrad(dstX, dstY, x, y []float64) float64 {
	g.GradX(dstX, x, y)
	return g.ValueGradY(dstY, x, y)
}
func (g *growing) Clone() problem.Function { return g }

// prices is f = q'y + w'lambda.
type prices struct{ q []float64 }

func (f prices) Value(x, z []float64) float64 { return linalg.Dot(f.q, z) }
func (f prices) GradX(dst, x, z []float64)    { clear(dst) }
func (f prices) GradY(dst, x, z []float64)    { copy(dst, f.q) }
func (f prices) ValueGradY(dst, x, z []float64) float64 {
	f.GradY(dst, x, z)
	return f.Value(x, z)
}
func (f prices) ValueGrad(dstX, dstZ, x, z []float64) float64 {
	f.GradX(dstX, x, z)
	return f.ValueGradY(dstZ, x, z)
}
func (f prices) Clone() problem.Function { return f }

// TestLeadersThatReadMultipliers: where f reads multipliers of a follower that is not quadratic,
// grad F is that of the implicit function theorem, whatever way the rows' motion takes y: against
// the pull of f on y or with it.
func TestLeadersThatReadMultipliers(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 33))
	with := 0
	for trial := range 200 {
		n := 2 + rng.IntN(3)
		m := 1 + rng.IntN(n-1)
		g := &growing{make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)}
		x, y, lambda := make([]float64, n), make([]float64, n), make([]float64, m)
		hessian := make([]float64, n)
		for j := range n {
			x[j], y[j] = rng.NormFloat64(), rng.NormFloat64()
			g.h[j], g.e[j], g.k[j] = 0.5+rng.Float64(), rng.Float64(), 2*rng.NormFloat64()
			hessian[j] = g.h[j] + g.e[j]*g.k[j]*g.k[j]*math.Exp(g.k[j]*y[j])
		}
		a, b, rhs, kinds := make([]float64, m*n), make([]float64, m*n), make([]float64, m), make([]problem.Kind, m)
		f := prices{make([]float64, n+m)}
		for j := range f.q {
			f.q[j] = rng.NormFloat64()
			if j >= n {
				f.q[j] *= math.Pow(10, 4*rng.Float64()-2)
			}
		}
		p := &problem.Problem{Name: "prices", Dx: n, Dy: n, F: f, G: g, Start: x,
			X: &problem.Set{E: sparse.FromEntries(0, n, nil)}, Facts: problem.Facts{StrongConvexity: 0.5}}
		for i := range m {
			p.Duals = append(p.Duals, i)
			if lambda[i] = rng.NormFloat64(); rng.IntN(2) == 0 {
				kinds[i], lambda[i] = problem.AtMost, 0.1+rng.ExpFloat64()
			} else {
				kinds[i] = problem.Equal
			}
			for j := range n {
				a[i*n+j], b[i*n+j] = rng.NormFloat64(), rng.NormFloat64()
				rhs[i] += a[i*n+j]*x[j] - b[i*n+j]*y[j]
				g.c[j] += b[i*n+j] * lambda[i]
			}
		}
		for j := range n {
			p.X.Lo, p.X.Hi = append(p.X.Lo, x[j]-1), append(p.X.Hi, x[j]+1)
			g.c[j] += x[j] - g.h[j]*y[j] - g.e[j]*g.k[j]*math.Exp(g.k[j]*y[j])
		}
		p.Rows = &problem.Rows{Kind: kinds, Rhs: rhs, A: sparse.FromDense(m, n, a), B: sparse.FromDense(m, n, b)}

		// H dy - B'dlambda = dx, B dy = A dx.
		system, motion := mat.NewDense(n+m, n+m, nil), mat.NewDense(n+m, n, nil)
		for j := range n {
			system.Set(j, j, hessian[j])
			motion.Set(j, j, 1)
			for i := range m {
				system.Set(j, n+i, -b[i*n+j])
				system.Set(n+i, j, b[i*n+j])
				motion.Set(n+i, j, a[i*n+j])
			}
		}
		var answer, moved mat.Dense
		if err := answer.Solve(system, motion); err != nil {
			continue
		}
		truth := make([]float64, n)
		for j := range truth {
			truth[j] = linalg.Dot(f.q, mat.Col(nil, j, &answer))
		}
		// Which way a perturbation takes y: H dy - B'dlambda = -q, B dy = w.
		push := mat.NewDense(n+m, 1, nil)
		for j, q := range f.q {
			push.Set(j, 0, q)
			if j < n {
				push.Set(j, 0, -q)
			}
		}
		if err := moved.Solve(system, push); err == nil && linalg.Dot(f.q[:n], mat.Col(nil, 0, &moved)[:n]) > 0 {
			with++
		}

		solver, err := lower.New("alm", nil, p, 1)
		if err != nil {
			t.Fatal(err)
		}
		pt, err := New(p, solver, &Face{Settings: *DefaultFace()}).Gradient(context.Background(), x)
		if err != nil {
			t.Errorf("trial %d: %v", trial, err)
			continue
		}
		if d := linalg.Distance(pt.Lower.Y, y); d > 1e-7*(1+linalg.Norm(y)) {
			t.Errorf("trial %d: y is off by %g", trial, d)
			continue
		}
		if off, size := linalg.Distance(pt.Grad, truth), linalg.Norm(truth); off > 30*pt.GradError+1e-9*size || pt.GradError > 1e-4*size {
			t.Errorf("trial %d: off by %.2g of %.2g, error claimed %.2g", trial, off, size, pt.GradError)
		}
	}
	if with < 40 {
		t.Errorf("only %d of 200 followers are moved the way that f pulls them", with)
	}
}
