package outer

import (
	"context"
	"errors"
	"math"

	"bilevelc/internal/must"
	"bilevelc/runtime/central"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// smoothDescent minimizes F_mu over X from a point by Newton's method with a trust
// region. The model of a step has the second derivative of F_mu (central.Second), in
// products with vectors alone; it is minimized over X and the region in rounds, each of
// conjugate gradients on the face of X that the point is on and that the model's gradient
// holds it to, until the model curves down or the region ends (Steihaug 1983), and of a
// search along the projection of what they give (Moré and Toraldo 1991; Lin and Moré 1999).
type smoothDescent struct {
	run    *Run
	path   *central.Path
	mu     float64
	radius float64 // of the trust region; it is taken over from the stage before
	gain   float64 // a decrease of F_mu that does not matter

	known  *float64 // F where the descent begins, from which gain then follows; nil: gain is all
	most   int      // steps that are taken at most; 0: all
	whole  bool     // the first second derivative is made a matrix at once
	plain  bool     // F_mu is F, so that a lower solve finds the path's point where the path does not
	lost   bool     // the last evaluation has found it so
	steps  int      // taken or refused
	metric *metric  // nil before there is one

	set *problem.Set
	at  *hessian // the second derivative where the descent stands; nil: not yet
}

// minimize returns where descent from x has come to, or from ahead, where that is not nil
// and F_mu is lower there; nil where the path was not found at x itself.
func (d *smoothDescent) minimize(ctx context.Context, ahead, x []float64) (_ *Sample, err error) {
	defer must.Catch(&err)
	d.set = d.run.h.Problem().X
	c, err := d.evaluate(ctx, x)
	if err != nil || c == nil {
		return nil, err
	}
	if ahead != nil {
		must.Do(d.run.projector.ProjectUpper(ahead, ahead))
		next := must.Get(d.evaluate(ctx, ahead))
		if next == nil {
			next = must.Get(d.evaluate(ctx, linalg.Plus(x, 0.5, linalg.Minus(ahead, x))))
		}
		if next != nil && next.F < c.F {
			c = next
		} else if c, err = d.evaluate(ctx, x); err != nil || c == nil {
			return nil, err
		}
	}
	if d.known != nil {
		d.gain = math.Max(d.gain, tolerance.HalfDigits*math.Abs(c.F-*d.known))
	}
	first := 0.0
	d.at = nil
	taken := 0
	for {
		d.steps++
		held := d.faceAt(c.X, c.G)
		rest := linalg.Clone(c.G)
		held.project(rest)
		slope := linalg.Norm(rest)
		if first == 0 {
			first = slope
		}
		if slope == 0 {
			break
		}
		if d.at == nil {
			d.at = &hessian{second: d.path.Second(c.X), n: len(c.X)}
			if d.whole && d.metric == nil {
				d.at.form()
				d.formed(d.at)
			}
		}
		step, decrease, edge, err := d.model(ctx, d.at, c, math.Min(tolerance.Forcing, math.Sqrt(slope/first)))
		if err != nil {
			return nil, err
		}
		length := linalg.Norm(step)
		if !(decrease > d.gain) && !edge || !(length > 1e-15*d.run.Size(c.X)) {
			break
		}
		next := must.Get(d.evaluate(ctx, linalg.Plus(c.X, 1, step)))
		ratio := math.Inf(-1)
		if next != nil {
			ratio = (c.F - next.F) / decrease
		}
		switch {
		case !(ratio >= tolerance.TrustPoor):
			d.radius = 0.25 * length
		case ratio > 1-tolerance.TrustPoor && edge:
			d.radius *= 2.5
		}
		if next != nil && ratio > tolerance.Armijo {
			if !edge || !(ratio > 1-tolerance.TrustPoor) { // else the region grows by itself
				next = must.Get(d.lengthen(ctx, c, next, step))
				d.radius = math.Max(d.radius, linalg.Distance(next.X, c.X))
			}
			c, d.at = next, nil
			if taken++; taken == d.most {
				break
			}
			continue
		}
		if !(decrease > d.gain) {
			break
		}
		// Products need the path at c, and so does the next trial.
		if d.lost || !d.path.Return(c.X) {
			if c, err = d.evaluate(ctx, c.X); err != nil || c == nil {
				return nil, err
			}
			d.at = nil
		}
	}
	// The point of the path is that of the last trial.
	return d.evaluate(ctx, c.X)
}

// lengthen doubles a step from c to next, which the model has ended, or the region, while F falls on along it nearly as steeply as at c: the
// curvature is then too large, of either sign, as where it is the rounding of the derivatives that it is made of, or next to where the follower's has no bound, and steps by it would
// creep. The part 0.9 of the slope is that of Wolfe's condition for steps of Newton's method (Nocedal and Wright, section 3.1).
func (d *smoothDescent) lengthen(ctx context.Context, c, next *Sample, step []float64) (_ *Sample, err error) {
	defer must.Catch(&err)
	slope := linalg.Dot(c.G, step)
	for k := 1; k <= 20 && linalg.Dot(next.G, step) < 0.9*slope; k++ { // as many as those of quasi-Newton steps (accept)
		x := linalg.Plus(c.X, math.Ldexp(1, k), step)
		must.Do(d.run.projector.ProjectUpper(x, x))
		longer := must.Get(d.evaluate(ctx, x))
		if longer == nil || !(longer.F < next.F) {
			break
		}
		next = longer
	}
	return next, nil
}

// evaluate returns F_mu and its gradient at x; nil where the path was not found.
func (d *smoothDescent) evaluate(ctx context.Context, x []float64) (_ *Sample, err error) {
	defer must.Catch(&err)
	must.Do(d.run.check(ctx))
	d.run.Evaluations++
	s := &Sample{X: linalg.Clone(x), G: make([]float64, len(x))}
	s.F, err = d.path.Evaluate(ctx, s.G, x, d.mu)
	if d.lost = d.plain && errors.Is(err, central.ErrOff); d.lost {
		// Newton's method for the follower does not converge next to where its second derivative has no bound, such as that of |e|^1.5 at 0.
		pt, failed := d.run.h.Value(ctx, x)
		if failed != nil {
			return nil, ignoring(failed)
		}
		d.path.Begin(pt.Lower.Y, central.Barrier{})
		s.F, err = d.path.Evaluate(ctx, s.G, x, d.mu)
	}
	if err != nil {
		if errors.Is(err, central.ErrOff) {
			err = nil
		}
		return nil, err
	}
	return s, nil
}
