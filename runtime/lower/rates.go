package lower

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Rates are how a solution on a face moves under a perturbation.
type Rates struct {
	Y, Lambda []float64 // per unit of the perturbation; len Dy, m
	// Change is the last correction of Y, for a residual of the length Before. Left is the length of the residual that is left, the error of differences included.
	Change       []float64
	Before, Left float64
}

// Rates solves, at a solution s of g(x, .) on the face of the Equal rows and the rows `active`, the equations of its derivative with respect to
// the perturbation t of g by t q'y (len Dy) and of the rows by B_i y - t w_i (len m, or nil),
//
//	H y' + q = B'lambda',  B_i y' = w_i on the face,
//
// by conjugate gradients with products of H by central differences of grad_y g at s.Y, two gradients each, and by corrections for the residual, which extrapolated differences
// tell better; terms is the size of what grad_y g is a sum of, of which rounding makes its share. They are preconditioned with a Hessian that was measured near by, where s has one. nil where rows depend on each other, differences leave the domain of g, or a residual is left of
// more than half of the digits.
func (f *FaceSolver) Rates(ctx context.Context, p *problem.Problem, x []float64, active []int, s *Solution, q, w []float64, terms float64) *Rates {
	obj := G(p, x)
	if s.Sparse && sparsely(p, obj) || curvatureOf(obj).Quadratic {
		return nil
	}
	f.fresh = false
	f.poly.set(p, x, s)
	n := &f.newton
	n.reset(obj, p.Dy)
	n.curvature.told(s)
	n.value = obj.ValueGrad(n.grad, s.Y)
	if !linalg.Finite(n.grad) {
		return nil
	}
	n.curvature.move(s.Y, n.grad)
	unused := &Solution{}
	if witness, _ := f.gather(active, unused); witness || len(unused.Dependent) > 0 {
		return nil
	}
	var near *denseHessian
	if m := s.Memory; m.Complete() && m.Near && m.N == p.Dy {
		if near = m.unpacked(curvatureOf(obj).Mu); near.factors == nil {
			near = nil
		}
	}
	r := &Rates{Y: make([]float64, p.Dy), Lambda: make([]float64, p.Rows.Len()), Change: make([]float64, p.Dy)}
	if w != nil {
		n.face.shift(r.Y, w)
	}
	rhs, rest, best := make([]float64, p.Dy), make([]float64, p.Dy), math.Inf(1)
	first := 0.0
	for ctx.Err() == nil {
		off := n.curvature.exact(rest, r.Y, terms)
		copy(rhs, q)
		linalg.Axpy(rhs, 1, rest)
		copy(rest, rhs)
		n.face.project(rest)
		left := linalg.Norm(rest)
		if first == 0 {
			first = left
		}
		if !(left+off < best/2) { // further steps go round in what differences do not tell
			linalg.Axpy(r.Y, -1, r.Change)
			break
		}
		best, r.Left = left+off, left+off
		if n.face.multipliers(r.Lambda, rhs); left == 0 {
			break
		}
		r.Before = left
		step := n.system(ctx, rest, near)
		if step == nil {
			return nil
		}
		r.Change = step
		linalg.Axpy(r.Y, 1, step)
	}
	if ctx.Err() != nil || !(r.Left <= math.Sqrt(tolerance.Roundoff)*first) {
		return nil
	}
	return r
}

// shift sets y to the shortest one with B_i y = w_i on the face.
func (f *face) shift(y, w []float64) {
	for j, i := range f.fixer {
		if i >= 0 {
			y[j] = w[i] / f.poly.coef[i]
		}
	}
	k := len(f.members)
	if k == 0 {
		return
	}
	c := f.coef[:k]
	for j, i := range f.members {
		c[j] = (w[i] - f.poly.rows.B.RowDot(i, y)) / f.poly.norm[i]
	}
	f.qr.SolveT(c)
	f.qr.AddScaled(y, 1, c)
}

// system is d on the face with P H d = -r, r in its directions: by conjugate gradients, preconditioned with the Hessian near, unless that is nil. nil where a gradient is not finite.
func (w *newton) system(ctx context.Context, r []float64, near *denseHessian) []float64 {
	size := linalg.Norm(r)
	if near == nil {
		w.krylov.start(r)
		if end, _ := w.krylov.run(ctx, tolerance.SolveAccuracy*size, nil); end == undefined || end == flat || end == halted {
			return nil
		}
		return slices.Clone(w.krylov.d)
	}
	d, rest, z, p, hp := make([]float64, w.n), slices.Clone(r), make([]float64, w.n), make([]float64, w.n), make([]float64, w.n)
	floats.Scale(-1, rest)
	before, bz := make([]float64, w.n), 0.0
	for range w.n {
		if ctx.Err() != nil || !near.direction(z, &w.face, rest) {
			return nil
		}
		w.face.project(z)
		rz := linalg.Dot(rest, z)
		beta := 0.0
		if bz > 0 { // after Polak and Ribiere, as products and the preconditioner are inexact
			beta = math.Max(0, (rz-linalg.Dot(before, z))/bz)
		}
		bz = rz
		floats.AddScaledTo(p, z, beta, p)
		if !w.curvature.apply(hp, p) {
			return nil
		}
		php := linalg.Dot(p, hp)
		if !(php > 0) || !(rz > 0) {
			return nil
		}
		t := rz / php
		linalg.Axpy(d, t, p)
		copy(before, rest)
		w.face.project(hp)
		linalg.Axpy(rest, -t, hp)
		if linalg.Norm(rest) <= tolerance.SolveAccuracy*size {
			break
		}
	}
	return d
}

// exact sets dst to H v by extrapolated differences, and returns an estimate of its error; +Inf outside the domain of g.
func (c *curvature) exact(dst, v []float64, terms float64) float64 {
	size := linalg.Norm(v)
	clear(dst)
	if size == 0 {
		return 0
	}
	c.work()
	return linalg.Derivative(dst, func(dst []float64, t float64) { c.beyond(dst, v, t) }, c.shrink*c.step()/math.Cbrt(tolerance.Roundoff)/16/size, terms, true)
}
