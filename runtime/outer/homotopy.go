package outer

import (
	"context"
	"math"

	"bilevelc/runtime/central"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/tolerance"
)

// pathState is the way from the start to where bundles take over: descent on F_mu, which
// is smooth, for a mu that falls from where the barrier is as strong as the rows to where
// its minimizers have come to rest (central.Path). Each stage is one step of the run and
// begins at what this says of it alone.
type pathState struct {
	Stage    int
	Mu       float64   // of the stage to come
	Ratio    float64   // by which mu falls
	Whole    int       // stages to come that make a matrix of a second derivative at once
	Wholes   int       // how many they were in all; 0 where the last stage needed none
	Last     float64   // that of the one before; 0 at first
	Older    float64   // that of the one before that; 0 before there is one
	X, Y     []float64 // where that one has come to
	Before   []float64 // X of the one before that; nil before there is one
	Moved    float64   // length of the last stage
	Radius   float64   // of the trust region
	Gain     float64   // what is left between F_mu and F, or what the last stage has changed in F_mu
	F        float64   // F_mu at its end
	Scale    central.Barrier
	Start    float64 // F at the run's start
	Recalled bool    // the path has its Hessian from lower solves, see oracle.Hyper.Central
}

// The stages. A stage that a few steps have ended shows that minimizers are followed well, and
// mu then falls by more; one that took many, by less: where mu is too small for its start,
// so that followers switch on the way, the trust region has to shrink, and that costs tens of
// steps more than another mu in between. Where F has kinks minimizers of F_mu are as far from
// its own as slacks and multipliers are of size sqrt(mu); the last stage is the one after
// which a small part of the certificate's radius is left to go and F_mu is near F, as what X
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

	pathEndShare = 0.01 // of the certificate's radius, and of F
)

// Path is a start for a search on F that has looked past poor kinks on the way from another one: where F is lowest at the ends of the stages of its path (advance), or, where the follower has no central path, what a
// continuation over followers that react less leads to. nil where that is nowhere lower.
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
	m := &bundle{Settings: *defaultBundle(), Keeps: Keeps[bundleState]{bundleState{Center: *c}}}
	m.rescale(run)
	if err := m.prepare(ctx, run, c); err != nil {
		return nil, err
	}
	if m.State.Path == nil {
		end, err := m.continuation(ctx, run)
		if end == nil {
			return nil, err
		}
		return end.X, nil
	}
	for m.State.Path != nil {
		if err := m.advance(ctx, run); err != nil {
			return nil, ignoring(err)
		}
	}
	if m.State.Center.F < c.F-run.Noise(c) {
		return m.State.Center.X, nil
	}
	return nil, nil
}

// prepare makes the run begin with a path from the start, where the lower level has a
// path.
func (m *bundle) prepare(ctx context.Context, run *Run, start *Sample) error {
	s := &m.State
	h := run.h
	if p := h.Problem(); !m.Settings.Continuation || len(run.projector.Balls()) > 0 || p.Dx+p.Dy < tolerance.LeastSparse || !p.HasInequalities() {
		return nil
	}
	pt, err := h.Value(ctx, start.X)
	if err != nil {
		return ignoring(err)
	}
	recalled := h.Recalls()
	path := h.Central(recalled)
	if path == nil {
		return nil
	}
	x := start.X
	scale := path.Of(x, pt.Lower.Y, pt.Lower.Lambda)
	y := pt.Lower.Y
	path.Begin(y, scale)
	if !(scale.Mu > 0) || path.At(ctx, x, scale.Mu) != nil {
		// On the edge of D, or next to it, rows have no inside.
		if x, y, scale, err = m.enter(ctx, run, path, pt); err != nil || x == nil {
			return ignoring(err)
		}
	}
	s.Path = &pathState{Mu: scale.Mu, Ratio: tolerance.MuShrink, X: linalg.Clone(x), Y: linalg.Clone(y), Scale: scale, Start: s.Center.F, Recalled: recalled}
	m.path = path
	return nil
}

// enter finds a point inside D near the start at which the path begins.
func (m *bundle) enter(ctx context.Context, run *Run, path *central.Path, from *oracle.Point) (x, y []float64, scale central.Barrier, err error) {
	if run.projector.Everywhere() {
		return nil, nil, scale, nil
	}
	for _, share := range []float64{1, 0.3, 0.1, 0.01} {
		inside := run.projector.Inside(from.X, share)
		x = make([]float64, len(from.X))
		if inside.Project(x, from.X) != nil {
			continue
		}
		pt, err := run.h.Value(ctx, x)
		if err != nil {
			if Outside(err) {
				continue
			}
			return nil, nil, scale, err
		}
		y := inside.Witness(x)
		if y == nil {
			continue
		}
		y = linalg.Clone(y)
		if scale = path.Of(x, pt.Lower.Y, pt.Lower.Lambda); !(scale.Mu > 0) {
			continue
		}
		path.Begin(y, scale)
		if path.At(ctx, x, scale.Mu) == nil {
			return x, y, scale, nil
		}
	}
	return nil, nil, scale, nil
}

// advance does one stage of the path.
func (m *bundle) advance(ctx context.Context, run *Run) error {
	s := &m.State
	a := *s.Path
	if m.path == nil {
		m.path = run.h.Central(a.Recalled)
	}
	if m.path == nil {
		return Stuck("the state is of a problem whose lower level has a central path")
	}
	m.path.Begin(a.Y, a.Scale)
	reach := m.Settings.InitialStep * run.Size(a.X)
	d := &smoothDescent{run: run, path: m.path, mu: a.Mu, radius: a.Radius,
		gain: math.Max(run.Noise(&s.Center), tolerance.HalfDigits*a.Gain)}
	d.whole = a.Whole > 0
	if a.Last == 0 {
		d.known = &s.Center.F
	}
	if a.Moved == 0 {
		d.radius = reach
	}
	end, err := d.minimize(ctx, a.ahead(), a.X)
	if err != nil {
		return err
	}
	led, apart := end != nil, false
	if led {
		if a.Last > 0 {
			a.Gain = math.Abs(end.F - a.F)
		}
		a.F, a.Moved = end.F, linalg.Distance(end.X, a.X)
		a.Before, a.X, a.Y, a.Radius = a.X, end.X, linalg.Clone(m.path.Y()), d.radius
		if a.Last == 0 {
			a.Before = nil
		}
		// Rounding may leave x outside D, where values of F mean nothing.
		inside := make([]float64, len(a.X))
		var now *Sample
		err := run.Project(inside, a.X)
		if err == nil {
			now, err = run.Gradient(ctx, inside)
		}
		switch {
		case err != nil && !Outside(err):
			return err
		case err == nil && now.F < s.Center.F:
			s.LastStep = linalg.Distance(now.X, s.Center.X)
			s.Center = *now
		}
		if led = err == nil; led {
			apart = math.Abs(end.F-now.F) > pathEndShare*math.Max(math.Abs(end.F), math.Abs(now.F))
		}
	}
	left := a.left()
	rest := pathEndShare * run.Radius(m.Settings.Delta, s.Center.X)
	first := a.Stage == 0
	a.learn(d)
	a.fall(d.steps)
	if a.Last >= tolerance.Roundoff*a.Scale.Mu && (led && (left > rest || apart) || first) {
		a.Stage++
		s.Path = &a
		return nil
	}
	s.Path = nil
	s.Continued = "the central path of the follower led nowhere lower than the start"
	if s.Center.F < a.Start-run.Noise(&s.Center) {
		s.FollowedPath, s.Continued = true, "reached along the central path of the follower, from the start"
	}
	// What is left of the way bounds the first steps. It says nothing of the curvature, which
	// where kinks meet is that of the pieces: one that makes the first step so short outlasts
	// it, as no two points in a row are of one piece.
	if m.rescale(run); led {
		s.Reach = math.Min(s.Reach, 10*math.Max(left, rest)) // as at a start of the initial step
	}
	return nil
}

// left is what is left of the way: minimizers move by about sqrt(mu) as long as there are
// kinks, by less where there are none.
func (a *pathState) left() float64 {
	before := a.Last
	if before == 0 {
		before = a.Mu / tolerance.MuShrink
	}
	return a.Moved * math.Sqrt(a.Mu) / (math.Sqrt(before) - math.Sqrt(a.Mu))
}

// fall sets the mu of the next stage, after one of some steps.
func (a *pathState) fall(steps int) {
	switch {
	case steps <= fewSteps:
		a.Ratio = math.Max(tolerance.MuShrink, math.Pow(a.Ratio, 1.5))
	case steps > manySteps:
		a.Ratio = math.Min(mostRatio, math.Sqrt(a.Ratio))
	}
	a.Older, a.Last, a.Mu = a.Last, a.Mu, a.Ratio*a.Mu
}

// learn says of the next stages whether they make a matrix of a second derivative at once:
// as one does that has come to need it (hessian). Whether later ones still do is told by one that
// does not begin so, after 1, 2, 4, ... that did.
func (a *pathState) learn(d *smoothDescent) {
	switch {
	case a.Whole > 0:
		a.Whole--
	case d.metric != nil:
		a.Wholes = max(1, 2*a.Wholes)
		a.Whole = a.Wholes
	default:
		a.Wholes = 0
	}
}

// ahead is where the next stage's minimizer is expected, from where the last two have come to;
// nil where these say nothing of that.
func (a *pathState) ahead() []float64 {
	if a.Before == nil || a.Older == 0 || a.Moved == 0 {
		return nil
	}
	return linalg.Plus(a.X, (math.Sqrt(a.Last)-math.Sqrt(a.Mu))/(math.Sqrt(a.Older)-math.Sqrt(a.Last)), linalg.Minus(a.X, a.Before))
}
