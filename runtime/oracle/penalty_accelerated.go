package oracle

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/must"
	"bilevelc/runtime/convex"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

var (
	errNotFinite = errors.New("penalty: the gradient of f or g is not finite")
	errNotConvex = errors.New("penalty: f + a1 g has no curvature along a direction that the active rows leave free; a smaller alpha weighs g more")
)

// scaling is M with the Hessian of the penalty function at most M, where C is a bound on
// the curvature of g + f/a1, in the unknown u = a1 w: a step is -M^-1 r.
type scaling interface {
	rescale(c float64)                 // sets C
	solve(dst pair, r []float64) error // dst = M^-1 r
}

// uniform is M = (C + alpha^-2 |B_I|^2) I, whose step is that of alg:inexact-gradient-oracle.
type uniform struct {
	*penalized
	c, rows float64 // rows: |B_I|^2
}

func newUniform(q *penalized, c float64) (*uniform, error) {
	m := &uniform{penalized: q, c: c}
	if b := q.activeRows(); b != nil {
		var svd mat.SVD
		if !svd.Factorize(b, mat.SVDNone) {
			return nil, errors.New("penalty: the singular values of the active rows were not found")
		}
		m.rows = math.Pow(svd.Values(nil)[0], 2)
	}
	return m, nil
}

func (m *uniform) rescale(c float64) { m.c = c }

func (m *uniform) solve(dst pair, r []float64) error {
	length := 1 / (m.c + m.a1*m.rows)
	floats.ScaleTo(dst.u, length, r)
	for k, i := range m.active {
		dst.nu[k] = m.a1 * m.weight[k] * m.at.Problem.Rows.B.RowDot(i, dst.u)
	}
	return nil
}

// minimize minimizes the penalty function as alg:inexact-gradient-oracle says, by
// Nesterov's accelerated gradient method, with restarts (O'Donoghue and Candes 2015) in
// place of the unknown modulus, and C doubled where two gradients show more curvature. In
// the scaled unknown u = a1 w the gradient is
//
//	r(u) = grad_y f(y* + u/a1) + a1 (grad_y g(y* + u/a1) - grad_y g(y*)) + B_I'nu,
//
// and the Hessian H_g + H_f/a1 + alpha^-2 B_I'B_I.
//
// It stops at |r| <= alpha tolerance |grad_y f(y*)|, in the Euclidean norm, which
// bounds the hypergradient's error evenly in alpha: the errors e of u and eta of
// nu that r causes solve H e + B_I'eta = r, B_I e = alpha^2 eta, so that
// |e| <= |r|/mu and |eta| <= (1 + kappa)|r|/s, with s the smallest positive
// singular value of B_I. In the dual norm of the metric itself, the part of r in
// the range of B_I', of which eta is made, would count by a factor of alpha only.
//
// It returns w, nu and |r|/|grad_y f(y*)|. Steps of differences (scaledChange) that are long against the length on which g
// is curved find another gradient than shorter ones do, or, where they are much too long, than those that rounding allows at all.
func (q *penalized) minimize(ctx context.Context) (w, nu []float64, left float64, err error) {
	force := linalg.Norm(q.force)
	if !linalg.Finite(q.force) {
		return nil, nil, 0, errNotFinite
	}
	u := newPair(len(q.force), len(q.active))
	target := q.s.Alpha * q.s.Tolerance * force
	// Steps of differences are shortened by 64 at a time, until nothing of a double is left; the other ones are of little more than its rounding.
	for range 8 {
		var c float64
		if c, left, err = q.descend(ctx, u, target); err != nil {
			return nil, nil, 0, err
		}
		if q.at.Problem.Facts.QuadraticInY {
			break
		}
		before, found, long := q.short, left, false
		for _, by := range []float64{0x1p-24, 1.0 / 64} {
			q.short = before * by
			r, noise, err := q.gradient(u, c)
			if err != nil {
				return nil, nil, 0, err
			}
			size := linalg.Norm(q.vector(r))
			long = long || size > math.Max(10*math.Max(target, noise), found)
			left = math.Max(found, size-noise) // by the shorter steps that are known best
		}
		if !long {
			q.short = before
			break
		}
	}
	for j := range u.u {
		u.u[j] /= q.a1
	}
	return u.u, u.nu, left / math.Max(force, math.SmallestNonzeroFloat64), nil
}

// descend moves u to where |r| is the target, or rounding: that is left at most. c is the curvature that it has met.
func (q *penalized) descend(ctx context.Context, u pair, target float64) (c, left float64, err error) {
	defer must.Catch(&err)
	n, k := len(q.force), len(q.active)
	c = q.stiffness() + q.at.Problem.Facts.SmoothnessF/q.a1
	var m scaling = newMetric(q.activeRows(), q.s.Alpha, c)
	if !q.s.Metric {
		m = must.Get(newUniform(q, c))
	}
	here, last, next, step := newPair(n, k), newPair(n, k), newPair(n, k), newPair(n, k) // u is the extrapolated point, last the one before
	here.copy(u)
	var before pair // the gradient at last
	var momentum convex.Momentum
	for calls := 0; ; calls++ {
		if calls%64 == 0 && ctx.Err() != nil {
			return 0, 0, context.Cause(ctx)
		}
		r, noise, err := q.gradient(u, c)
		if err != nil {
			return 0, 0, err
		}
		vector := q.vector(r)
		if !linalg.Finite(vector) {
			return 0, 0, errNotFinite
		}
		if left = linalg.Norm(vector); left <= math.Max(target, noise) {
			return c, math.Max(left, noise), nil
		}
		if calls > 0 {
			step.set(u, -1, last)
			along, length := linalg.Dot(linalg.Minus(r.u, before.u), step.u), linalg.Norm(step.u)
			unsure := (tolerance.FewRoundings*(linalg.Norm(r.u)+linalg.Norm(before.u)) + 2*noise) * length
			if along > c*length*length*(1+1e-6)+unsure {
				c *= 2
				m.rescale(c)
				u.copy(last)
				here.copy(last)
				momentum.Restart()
				continue
			}
			if held := q.s.Alpha * linalg.Norm(step.nu); along+held*held < -unsure {
				return 0, 0, errNotConvex
			}
		}
		must.Do(m.solve(step, vector))
		last.copy(u)
		before = r
		next.set(u, -1, step)
		step.set(next, -1, here)
		beta := momentum.Next(step.pairing(q.s.Alpha, r) > 0)
		here.copy(next)
		u.set(next, beta, step)
	}
}

// gradient is r at a point, without B_I' of its second part, and the rounding in it; c is the
// curvature of g.
func (q *penalized) gradient(at pair, c float64) (r pair, noise float64, err error) {
	if q.calls++; q.calls > q.s.MaxCalls {
		return r, 0, fmt.Errorf("penalty: not minimized within gradients at %d points", q.s.MaxCalls)
	}
	p, n := q.at.Problem, len(at.u)
	w, change := make([]float64, n), make([]float64, n)
	linalg.Axpy(w, 1/q.a1, at.u)
	r = pair{make([]float64, n), append([]float64(nil), at.nu...)}
	amplified := q.scaledChange(change, p.G.GradY, q.g0, w, p.Facts.QuadraticInY)
	p.F.GradY(r.u, q.at.X, q.moveTo(1, w))
	size := linalg.Norm(q.at.Lower.Y)
	if p.Facts.QuadraticInY {
		size += q.reach
	}
	noise = tolerance.FewRoundings * (linalg.Norm(r.u) + amplified*(linalg.Norm(q.g0)+c*size))
	linalg.Axpy(r.u, 1, change)
	return r, noise, nil
}

// curvature estimates C_g by the gradient's change along the force, the first
// step of the power method; minimize raises it where it is too small.
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
