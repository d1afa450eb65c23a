package oracle

import (
	"context"
	"errors"
	"fmt"
	"math"

	"bilevelc/runtime/linalg"
)

var (
	errNotFinite = errors.New("penalty: the gradient of f or g is not finite")
	errNotConvex = errors.New("penalty: f + a1 g has no curvature along a direction that the active rows leave free; a smaller alpha weighs g more")
)

// truncated minimizes the penalty function by a truncated Newton method. In the
// scaled unknown u = a1 w its gradient is
//
//	r(u) = grad_y f(y* + u/a1) + a1 (grad_y g(y* + u/a1) - grad_y g(y*)) + B_I'nu,
//
// and its Hessian K = H_g + H_f/a1 + alpha^-2 B_I'B_I. As u/a1 and H_f/a1 are of
// order alpha^2, K differs from K_0 = H_g(y*) + alpha^-2 B_I'B_I by as much. So
// every round solves K_0 d = -r by conjugate gradients in the metric, which reuse
// the directions of the rounds before, and then evaluates r anew. Where a round
// does not halve |r| (alpha is large, or g far from quadratic), K itself is used,
// at the current point, and steps are damped until |r| falls.
//
// It stops at |r| <= alpha tolerance |grad_y f(y*)|, in the Euclidean norm, which
// bounds the hypergradient's error evenly in alpha: the errors e of u and eta of
// nu that r causes solve H e + B_I'eta = r, B_I e = alpha^2 eta, so that
// |e| <= |r|/mu and |eta| <= (1 + kappa)|r|/s, with s the smallest positive
// singular value of B_I. In the dual norm of the metric itself, the part of r in
// the range of B_I', of which eta is made, would count by a factor of alpha only.
//
// It returns w, nu and |r|/|grad_y f(y*)|.
func (q *penalized) truncated(ctx context.Context) (w, nu []float64, left float64, err error) {
	force := linalg.Norm(q.force)
	if !linalg.Finite(q.force) {
		return nil, nil, 0, errNotFinite
	}
	n := &newton{penalized: q, model: newModel(q), x: newPair(len(q.force), len(q.active)), r: newPair(len(q.force), len(q.active))}
	copy(n.r.u, q.force) // r(0)
	target, enough := q.s.Alpha*q.s.Tolerance*force, q.s.Alpha*force
	if err := n.minimize(ctx, target, enough); err != nil {
		return nil, nil, 0, err
	}
	left = n.size()
	for range mostShortened {
		if p := q.at.Problem; p.Facts.QuadraticInY || force == 0 {
			break
		}
		// Steps of differences that are long against the length on which g bends find
		// another gradient than shorter ones, or, where they are much too long, than
		// those that rounding allows at all.
		before, long := q.short, false
		var r pair
		var noise, unseen float64
		for _, by := range []float64{shortest / shortened, 1 / float64(shortened)} {
			q.short = before * by
			if r, noise, err = n.residual(n.x); err != nil {
				return nil, nil, 0, err
			}
			size := linalg.Norm(n.vector(r))
			long = long || size > math.Max(10*math.Max(target, noise), left)
			unseen = size - noise // of the shorter steps, those that are known best
		}
		if !long {
			q.short = before
			left = math.Max(left, unseen)
			break
		}
		n.r, n.noise = r, noise
		n.model.renew(n.x)
		if err := n.minimize(ctx, target, enough); err != nil {
			return nil, nil, 0, err
		}
		left = n.size()
	}
	if force > 0 {
		left /= force
	}
	for i := range n.x.u {
		n.x.u[i] /= q.a1
	}
	return n.x.u, n.x.nu, left, nil
}

// By what the steps of differences are shortened at a time, and how often: until nothing
// of a double is left.
const (
	shortened     = 64
	mostShortened = 8
)

// newton is the outer iteration.
type newton struct {
	*penalized
	model *model
	x     pair    // the current point
	r     pair    // the gradient there
	noise float64 // the rounding in r
}

// size is |r|.
func (n *newton) size() float64 { return linalg.Norm(n.vector(n.r)) }

// decrease is the share of a step's length by which |r| has to fall: the usual
// constant of inexact Newton methods (Eisenstat and Walker 1994).
const decrease = 1e-4

// shortest is the step at which damping gives up: below it |r| cannot fall by
// more than a single-precision rounding.
const shortest = 0x1p-24

// minimize moves x until |r| is at most target or what rounding leaves of it.
// Where no step makes |r| fall, it is content with |r| <= enough.
func (n *newton) minimize(ctx context.Context, target, enough float64) error {
	d := newPair(len(n.x.u), len(n.x.nu))
	for size := n.size(); size > math.Max(target, n.noise); {
		newest := n.model.newest
		solvable, err := n.model.solve(ctx, d, n.r, target/2)
		if err != nil {
			return err
		}
		moved := false
		if solvable {
			after := size
			if after, err = n.advance(d, size, newest); err != nil {
				return err
			}
			moved = after < size
			if after <= size/2 {
				size = after
				n.model.newest = false
				continue
			}
			size = after
		}
		switch {
		case newest && !moved && size <= enough:
			return nil
		case newest && !solvable:
			return errNotConvex
		case newest && !moved:
			return fmt.Errorf("penalty: no step makes the gradient of norm %.1e fall to %.1e", size, target)
		}
		n.model.renew(n.x)
	}
	return nil
}

// advance makes the step d, or with damped the largest of d, d/2, d/4, ... that
// decreases |r| enough, and returns the new |r|. A step that does not decrease
// it is not made.
func (n *newton) advance(d pair, size float64, damped bool) (float64, error) {
	for step := 1.0; step >= shortest; step /= 2 {
		trial := newPair(len(d.u), len(d.nu))
		trial.set(n.x, step, d)
		r, noise, err := n.residual(trial)
		if err != nil {
			return size, err
		}
		if after := linalg.Norm(n.vector(r)); after <= (1-decrease*step)*size {
			n.x, n.r, n.noise = trial, r, noise
			return after, nil
		}
		if !damped {
			break
		}
	}
	return size, nil
}

// residual is r at a point, with the rounding in it.
func (n *newton) residual(at pair) (r pair, noise float64, err error) {
	if err := n.count(); err != nil {
		return r, 0, err
	}
	p, dim := n.at.Problem, len(at.u)
	w := make([]float64, dim)
	linalg.Axpy(w, 1/n.a1, at.u)
	r = pair{make([]float64, dim), append([]float64(nil), at.nu...)}
	g := make([]float64, dim)
	amplified := n.scaledChange(g, p.G.GradY, n.g0, w, p.Facts.QuadraticInY)
	p.F.GradY(r.u, n.at.X, n.moveTo(1, w))
	size := linalg.Norm(n.at.Lower.Y)
	if p.Facts.QuadraticInY {
		size += n.reach
	}
	noise = rounding * (linalg.Norm(r.u) + amplified*(linalg.Norm(n.g0)+n.model.metric.c*size))
	linalg.Axpy(r.u, 1, g)
	return r, noise, nil
}
