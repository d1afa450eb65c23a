package oracle

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"bilevelc/runtime/convex"
	"bilevelc/runtime/linalg"
)

// accelerated minimizes the penalty function as alg:inexact-gradient-oracle
// says: by Nesterov's accelerated gradient method with the step
// 1/(a1 C + a2 |B_I|^2), with restarts by the gradient's sign (O'Donoghue and
// Candes 2015) in place of the unknown modulus, and C doubled where two gradients
// show more curvature. It returns w, nu = a2 B_I w, and the factor by which the
// gradient has fallen.
func (q *penalized) accelerated(ctx context.Context) (w, nu []float64, left float64, err error) {
	n := len(q.force)
	rows := 0.0 // |B_I|^2
	if b := q.activeRows(); b != nil {
		var svd mat.SVD
		if !svd.Factorize(b, mat.SVDNone) {
			return nil, nil, 0, fmt.Errorf("penalty: the singular values of the active rows were not found")
		}
		rows = math.Pow(svd.Values(nil)[0], 2)
	}
	c := q.at.Problem.Facts.Smoothness + q.at.Problem.Facts.SmoothnessF/q.a1
	if q.at.Problem.Facts.Smoothness == 0 {
		c = q.curvature()
	}
	e := &plainGradient{penalized: q, g: make([]float64, n), f: make([]float64, n), nu: make([]float64, len(q.active))}
	w = make([]float64, n)
	v, last := make([]float64, n), make([]float64, n) // extrapolated point and the one before
	gv, next := make([]float64, n), make([]float64, n)
	smooth, lastSmooth := make([]float64, n), make([]float64, n) // gradient without the rows' part
	start := -1.0
	var momentum convex.Momentum
	for calls := 0; ; calls++ {
		if calls%64 == 0 && ctx.Err() != nil {
			return nil, nil, 0, context.Cause(ctx)
		}
		if err := q.count(); err != nil {
			return nil, nil, 0, err
		}
		e.grad(gv, v)
		for i := range smooth {
			smooth[i] = e.f[i] + q.a1*e.g[i]
		}
		if calls > 0 && tooCurved(q.a1*c, v, last, smooth, lastSmooth) {
			c *= 2
			copy(v, last)
			copy(w, last)
			momentum.Restart()
			continue
		}
		step := 1 / (q.a1*c + q.a2*rows)
		size := linalg.Norm(gv) * math.Sqrt(step) // of the gradient, in the dual metric
		if math.IsNaN(size) {
			return nil, nil, 0, errNotFinite
		}
		if start < 0 {
			start = size
		}
		if size <= q.s.Alpha*q.s.Tolerance*start {
			return v, e.nu, size / math.Max(start, 1e-300), nil
		}
		uphill := 0.0
		for i := range next {
			next[i] = v[i] - step*gv[i]
			uphill += gv[i] * (next[i] - w[i])
		}
		beta := momentum.Next(uphill > 0)
		copy(last, v)
		copy(lastSmooth, smooth)
		for i := range v {
			v[i] = next[i] + beta*(next[i]-w[i])
		}
		copy(w, next)
	}
}

// plainGradient evaluates the penalty function's gradient.
type plainGradient struct {
	*penalized
	g, f []float64 // grad_y g and grad_y f at y* + w
	nu   []float64 // a2 B_I w
}

// grad sets dst to the penalty function's gradient at w.
func (e *plainGradient) grad(dst, w []float64) {
	p, y := e.at.Problem, e.moveTo(1, w)
	p.G.GradY(e.g, e.at.X, y)
	p.F.GradY(e.f, e.at.X, y)
	for i := range dst {
		dst[i] = e.f[i] + e.a1*(e.g[i]-e.g0[i])
	}
	for r, i := range e.active {
		e.nu[r] = e.a2 * e.weight[r] * p.Rows.B.RowDot(i, w)
	}
	e.pull(dst, e.nu)
}

// tooCurved reports that a function has more curvature than limit between two
// points, by more than rounding makes of its gradients.
func tooCurved(limit float64, v, last, grad, lastGrad []float64) bool {
	curved, squared := 0.0, 0.0
	for i := range v {
		s := v[i] - last[i]
		curved += (grad[i] - lastGrad[i]) * s
		squared += s * s
	}
	noise := rounding * (linalg.Norm(grad) + linalg.Norm(lastGrad)) * math.Sqrt(squared)
	return curved > limit*squared*(1+1e-6)+noise
}

// curvature estimates C_g by the gradient's change along the force, the first
// step of the power method; accelerated raises it where it is too small.
func (q *penalized) curvature() float64 {
	size := linalg.Norm(q.force)
	if size == 0 {
		return 1
	}
	h := 1e-4 * q.at.size()
	g := make([]float64, len(q.force))
	q.at.Problem.G.GradY(g, q.at.X, q.moveTo(h/size, q.force))
	if c := linalg.Distance(g, q.g0) / h; c > 0 && !math.IsInf(c, 0) {
		return 2 * c
	}
	return 1
}
