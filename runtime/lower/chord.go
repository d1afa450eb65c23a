package lower

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// The chord method for objectives that are not quadratic: Newton's method over the
// rows with a Hessian that was measured once, somewhere near. A step is a quadratic
// program and one gradient; a Hessian is n gradients, and serves the solves at the
// next x, too (Solution.Memory).

// chords reports whether n gradients for a Hessian are expected to be less than those of the Newton systems of one evaluation of F with its gradient: about five of
// the lower level, and that of its derivative (FaceSolver.Rates), of two gradients a product, at a forcing of 1e-3 in the middle.
func (g *stage) chords(y []float64) bool {
	w := &g.active
	return g.recycle && !w.known.Quadratic && (g.near != nil && w.known.Mu > 0 && w.curvature.limit >= w.n || w.pays(y, 2*6, 1e-3))
}

// patient is the reduction that a step with a Hessian at hand has to make, or else it is
// measured anew: with it rounding is reached in as many steps as a Hessian has columns.
func patient(n int) float64 { return math.Max(0.1, math.Exp(math.Log(tolerance.Roundoff)/float64(n))) }

// chord moves y near the solution and makes the rows that hold it there the guess. It
// reports false where it could not: y is then feasible, and no worse than at the start.
func (g *stage) chord(ctx context.Context, y []float64) (bool, error) {
	w := &g.active
	if err := w.enter(y, g.guess); err != nil {
		return false, err
	}
	if !w.defined(y) {
		return false, nil
	}
	fresh := false
	// A Hessian from elsewhere that has cost more steps than its own measurement
	// would: all of an evaluation, of which the lower level is a fifth.
	if g.near == nil || 5*g.near.Steps > w.n {
		if !g.measure(y) {
			return false, nil
		}
		fresh = true
	}
	last := math.Inf(1)
	for ctx.Err() == nil {
		h := g.near.unpacked(g.active.known.Mu)
		if h.factors == nil {
			return false, nil
		}
		rows, ok := h.pivots(&g.poly, w.z, y, w.grad, g.guess)
		if !ok {
			return false, nil
		}
		floats.SubTo(w.d, w.z, y)
		length := linalg.Norm(w.d)
		if math.IsNaN(length) {
			return false, nil
		}
		if length <= tolerance.Target*g.poly.unit(y) {
			g.guess = append(g.guess[:0], rows...)
			return true, nil
		}
		if length > patient(w.n)*last {
			if fresh || !g.measure(y) {
				return false, nil
			}
			fresh, last = true, math.Inf(1)
			continue
		}
		if !g.descend(y) {
			return false, nil
		}
		g.guess, last = append(g.guess[:0], rows...), length
		g.near = g.near.stepped()
	}
	return true, nil // the polish sees that the context has ended
}

// descend moves y along d by the first of 1, 1/2, ... with a sufficient decrease, and
// leaves value and gradient there; false where there is none.
func (g *stage) descend(y []float64) bool {
	w := &g.active
	slope := linalg.Dot(w.grad, w.d)
	for t := 1.0; t > 1e-3; t /= 2 {
		floats.AddScaledTo(w.trial, y, t, w.d)
		value := w.obj.ValueGrad(w.tgrad, w.trial)
		if linalg.Finite(w.tgrad) && value <= w.value+tolerance.Armijo*t*slope {
			copy(y, w.trial)
			w.grad, w.tgrad, w.value = w.tgrad, w.grad, value
			return true
		}
	}
	return false
}

// measure takes the Hessian at y from n forward differences along the axes: half of the
// digits, which is enough for steps from true gradients. The gradient at y is known.
func (g *stage) measure(y []float64) bool {
	w := &g.active
	w.curvature.move(y, w.grad)
	// The error of a forward difference is least at the square root of the rounding
	// unit, where that of a central one is at the cube root.
	h := w.curvature.axes(w.curvature.step() * math.Sqrt(tolerance.Roundoff) / math.Cbrt(tolerance.Roundoff))
	if h == nil {
		return false
	}
	g.near = remember(len(y), h)
	g.near.Near = true
	return true
}
