package outer

import (
	"context"
	"errors"
	"math"

	"bilevelc/internal/must"
	"bilevelc/runtime/central"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/tolerance"
)

// path is the way from a start to where minimizers of F_mu, which is smooth, have come to rest: descent for a mu that falls from where the barrier is as strong as the rows (central.Path). Each stage begins at what
// this says of it alone.
type path struct {
	run  *Run
	of   *central.Path
	best *Sample // the lowest point that was met

	mu     float64   // of the stage to come
	ratio  float64   // by which mu falls
	whole  int       // stages to come that make a matrix of a second derivative at once
	wholes int       // how many they were in all; 0 where the last stage needed none
	last   float64   // mu of the one before; 0 at first
	older  float64   // that of the one before that; 0 before there is one
	x, y   []float64 // where that one has come to
	before []float64 // x of the one before that; nil before there is one
	moved  float64   // length of the last stage
	radius float64   // of the trust region
	gain   float64   // what is left between F_mu and F, or what the last stage has changed in F_mu
	f      float64   // F_mu at its end
	scale  central.Barrier
}

// The stages. A stage that a few steps have ended shows that minimizers are followed well, and
// mu then falls by more; one that took many, by less: where mu is too small for its start,
// so that followers switch on the way, the trust region has to shrink, and that costs tens of
// steps more than another mu in between. Where F has kinks minimizers of F_mu are as far from
// its own as slacks and multipliers are of size sqrt(mu); the last stage is the one after
// which less than half the digits of x are left to go and F_mu is near F, as what X
// holds does not move while the barrier is strong, or whose slacks and multipliers, of the size
// sqrt(mu), are still above the square root of the roundoff. A stage is done when a step promises less
// than tolerance.HalfDigits of what the one before has changed in F_mu; the first one, of what mu changes in F.
const (
	mostRatio = 0.5 // of a mu to the one before; tolerance.MuShrink is the first and the least
	fewSteps  = 3   // those of Newton's method from a tenth to 1e-8: after them the next ratio is that to the power of 3/2
	// After more, its root. Between a mu and its tenth there are 3.3 at the ratio of a half, and
	// each of those that follow well costs some seven evaluations: five steps and what is tried at
	// both ends. Twice that pays even where the next stages take half as many steps as this one.
	manySteps = 50

	pathEndShare = 0.01 // of F, which F_mu is off at the end at most
)

// Path is a start for a search on F that has looked past poor kinks on the way from another one: where F is lowest at the ends of the stages of its path. nil where that is nowhere lower, or the follower has no central path. Where ctx ends it is as far as the path has come.
func Path(ctx context.Context, h oracle.Hyperobjective, start []float64, seed uint64) ([]float64, error) {
	run := newRun(h, make([]float64, h.Dim()), seed)
	run.projector.Attend(ctx)
	if err := h.Project(run.Start, start); err != nil {
		return nil, ignoring(err)
	}
	run.width = run.widthAt(run.Start)
	c, err := run.Gradient(ctx, run.Start)
	if err != nil {
		return nil, ignoring(err)
	}
	a, err := begin(ctx, run, c)
	if a == nil || err != nil {
		return nil, err
	}
	for more := true; more; {
		if more, err = a.advance(ctx); err != nil && ctx.Err() == nil {
			return nil, ignoring(err)
		}
	}
	if a.best.F < c.F-run.Noise(c) {
		return a.best.X, nil
	}
	return nil, nil
}

// ignoring is nil for what ends a path alone, and the error for what ends the run.
func ignoring(err error) error {
	if errors.As(err, new(*limitError)) || Outside(err) {
		return nil
	}
	return err
}

// begin is the path from a start; nil where the lower level has none.
func begin(ctx context.Context, run *Run, start *Sample) (*path, error) {
	if len(run.projector.Balls()) > 0 {
		return nil, nil
	}
	pt, err := run.h.Value(ctx, start.X)
	if err != nil {
		return nil, ignoring(err)
	}
	of := run.h.Central(run.h.Recalls())
	if of == nil {
		return nil, nil
	}
	x, y := start.X, pt.Lower.Y
	scale := of.Of(x, y, pt.Lower.Lambda)
	of.Begin(y, scale)
	if !(scale.Mu > 0) || of.At(ctx, x, scale.Mu) != nil {
		return nil, nil // on the edge of D, or next to it, rows have no inside
	}
	return &path{run: run, of: of, best: start, mu: scale.Mu, ratio: tolerance.MuShrink, x: linalg.Clone(x), y: linalg.Clone(y), scale: scale}, nil
}

// advance does one stage, and reports whether there are more.
func (a *path) advance(ctx context.Context) (more bool, err error) {
	defer must.Catch(&err)
	run := a.run
	a.of.Begin(a.y, a.scale)
	d := &smoothDescent{run: run, path: a.of, mu: a.mu, radius: a.radius, gain: math.Max(run.Noise(a.best), tolerance.HalfDigits*a.gain), whole: a.whole > 0}
	if a.last == 0 {
		d.known = &a.best.F
	}
	if a.moved == 0 {
		d.radius = firstStep * run.Size(a.x)
	}
	end := must.Get(d.minimize(ctx, a.ahead(), a.x))
	led, apart := end != nil, false
	if led {
		if a.last > 0 {
			a.gain = math.Abs(end.F - a.f)
		}
		a.f, a.moved = end.F, linalg.Distance(end.X, a.x)
		a.before, a.x, a.y, a.radius = a.x, end.X, linalg.Clone(a.of.Y()), d.radius
		if a.last == 0 {
			a.before = nil
		}
		// Rounding may leave x outside D, where values of F mean nothing.
		now := must.Get(run.Try(ctx, linalg.Clone(a.x)))
		if led = now != nil; led {
			if now.F < a.best.F {
				a.best = now
			}
			apart = math.Abs(end.F-now.F) > pathEndShare*math.Max(math.Abs(end.F), math.Abs(now.F))
		}
	}
	first, left := a.last == 0, a.left()
	a.learn(d)
	a.fall(d.steps)
	return a.last >= tolerance.Roundoff*a.scale.Mu && (led && (left > run.Radius(tolerance.HalfDigits, a.best.X) || apart) || first), nil
}

// left is what is left of the way: minimizers move by about sqrt(mu) as long as there are
// kinks, by less where there are none.
func (a *path) left() float64 {
	before := a.last
	if before == 0 {
		before = a.mu / tolerance.MuShrink
	}
	return a.moved * math.Sqrt(a.mu) / (math.Sqrt(before) - math.Sqrt(a.mu))
}

// fall sets the mu of the next stage, after one of some steps.
func (a *path) fall(steps int) {
	switch {
	case steps <= fewSteps:
		a.ratio = math.Max(tolerance.MuShrink, math.Pow(a.ratio, 1.5))
	case steps > manySteps:
		a.ratio = math.Min(mostRatio, math.Sqrt(a.ratio))
	}
	a.older, a.last, a.mu = a.last, a.mu, a.ratio*a.mu
}

// learn says of the next stages whether they make a matrix of a second derivative at once:
// as one does that has come to need it (hessian). Whether later ones still do is told by one that
// does not begin so, after 1, 2, 4, ... that did.
func (a *path) learn(d *smoothDescent) {
	switch {
	case a.whole > 0:
		a.whole--
	case d.metric != nil:
		a.wholes = max(1, 2*a.wholes)
		a.whole = a.wholes
	default:
		a.wholes = 0
	}
}

// ahead is where the next stage's minimizer is expected, from where the last two have come to;
// nil where these say nothing of that.
func (a *path) ahead() []float64 {
	if a.before == nil || a.older == 0 || a.moved == 0 {
		return nil
	}
	return linalg.Plus(a.x, (math.Sqrt(a.last)-math.Sqrt(a.mu))/(math.Sqrt(a.older)-math.Sqrt(a.last)), linalg.Minus(a.x, a.before))
}
