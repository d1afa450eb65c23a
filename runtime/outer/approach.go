package outer

import (
	"context"
	"math"

	"bilevelc/runtime/central"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/problem"
)

// pathful is a Hyperobjective whose lower level has a central path.
type pathful interface {
	oracle.Hyperobjective
	Central(recalled bool) *central.Path // nil where it has none
	Recalls() bool
	Problem() *problem.Problem
}

// approach is the way from the start to where bundles take over: descent on F_mu, which
// is smooth, for a mu that falls from where the barrier is as strong as the rows to where
// its minimizers have come to rest (central.Path). Each stage is one step of the run and
// begins at what this says of it alone.
type approach struct {
	Stage    int
	X, Y     []float64
	Before   []float64 // X of the stage before; nil at first
	Moved    float64   // length of the stage before
	Radius   float64   // of the trust region
	Gain     float64   // what the stage before has changed in F_mu
	F        float64   // F_mu at its end
	Scale    float64   // mu of the first stage
	Limit    float64   // of forces, see central.Path.Begin
	Start    float64   // F at the run's start, or where the relaxation has led
	Priced   bool      // it is the latter
	Recalled bool      // the path has its Hessian from lower solves, see oracle.Hyper.Central
}

// waypoint is where the first stages have come to.
type waypoint struct {
	Scale float64 // mu of the first
	F     float64 // F_mu at the end of the last
	Work  float64 // see central.Path.Work
	Reach float64 // how far from the run's start that is
	Calls int64   // of all kinds up to there
}

// The stages. Each mu is a tenth of the one before: a minimizer of one is then a start
// for the next from which a few steps lead on. Where F has kinks minimizers of F_mu are as
// far from its own as slacks and multipliers are of size sqrt(mu); the last stage is the one
// after which a small part of the certificate's radius is left to go, or whose slacks and
// multipliers, of the size sqrt(mu), are still well above rounding.
const (
	approachStages = 18
	approachRatio  = 0.1
	approachSteps  = 400  // of one stage: what one of a few hundred variables took at first
	approachLeft   = 0.01 // of the certificate's radius
	arrivalReach   = 10   // of what is left of the way, as at a start of the initial step
	// A stage is done when a step promises less than a part of what the one before has
	// changed in F_mu.
	approachTolerance = 1e-8
	// approachLeast is the radius with which a stage begins at least, relative to that of
	// the first.
	approachLeast = 1e-2
)

// ApproachFrom is the least number of variables of both levels with which a run approaches
// along the central path. With fewer, a search from the start and another by way of
// followers that react less cost as little, and of the small public test problems they leave
// fewer at a point that is not the best (Bard's of 1988 ends at 25 behind an approach, at
// its optimum 17 without).
const ApproachFrom = 64

// prepare makes the run begin with an approach from the start, where the lower level has a
// path. Where the center is a lower point already the approach has to lead below that.
func (m *goldstein) prepare(ctx context.Context, run *Run, start *Sample) error {
	s := &m.state
	h, ok := run.h.(pathful)
	if !ok || !m.Settings.Continuation || len(run.projector.Balls()) > 0 {
		return nil
	}
	if p := h.Problem(); p.Dx+p.Dy < ApproachFrom {
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
	scale := path.Scale(x, pt.Lower.Y, pt.Lower.Lambda)
	y := pt.Lower.Y
	path.Begin(y, path.Forces(x, y))
	if !(scale > 0) || path.At(ctx, x, scale) != nil {
		// On the edge of D, or next to it, rows have no inside.
		if x, y, scale, err = m.enter(ctx, run, path, pt); err != nil || x == nil {
			return ignoring(err)
		}
	}
	first := 0
	if g := m.guidance; g != nil && path.At(ctx, x, g.scale) == nil {
		scale, first = g.scale, scoutFrom
	}
	s.Approach = &approach{Stage: first, X: clone(x), Y: clone(y), Scale: scale, Limit: path.Forces(x, y), Start: s.Center.F, Priced: s.Center.F < start.F, Recalled: recalled}
	m.path = path
	return nil
}

// enter finds a point inside D near the start at which the path begins.
func (m *goldstein) enter(ctx context.Context, run *Run, path *central.Path, from *oracle.Point) (x, y []float64, scale float64, err error) {
	if run.projector.Everywhere() {
		return nil, nil, 0, nil
	}
	for _, share := range []float64{1, 0.3, 0.1, 0.01} {
		inside := run.projector.Inside(from.X, share)
		x = make([]float64, len(from.X))
		if inside.Project(x, from.X) != nil {
			continue
		}
		pt, err := run.h.Value(ctx, x)
		if err != nil {
			if outside(err) {
				continue
			}
			return nil, nil, 0, err
		}
		y := inside.Witness(x)
		if y == nil {
			continue
		}
		y = clone(y)
		if scale = path.Scale(x, pt.Lower.Y, pt.Lower.Lambda); !(scale > 0) {
			continue
		}
		path.Begin(y, path.Forces(x, y))
		if path.At(ctx, x, scale) == nil {
			return x, y, scale, nil
		}
	}
	return nil, nil, 0, nil
}

// advance does one stage of the approach.
func (m *goldstein) advance(ctx context.Context, run *Run) error {
	s := &m.state
	a := *s.Approach
	if h, ok := run.h.(pathful); ok && m.path == nil {
		m.path = h.Central(a.Recalled)
	}
	if m.path == nil {
		return stuck("the state is of a problem whose lower level has a central path")
	}
	mu := a.Scale * math.Pow(approachRatio, float64(a.Stage))
	m.path.Begin(a.Y, a.Limit)
	reach := m.Settings.InitialStep * run.size(a.X)
	d := &smoothDescent{run: run, path: m.path, mu: mu, radius: math.Max(a.Radius, approachLeast*reach),
		gain: math.Max(run.noise(&s.Center), approachTolerance*a.Gain)}
	if a.Moved == 0 {
		d.radius = reach
	}
	end, err := d.minimize(ctx, a.ahead(), a.X)
	if err != nil {
		return err
	}
	led := end != nil
	if led {
		if a.Stage > 0 {
			a.Gain = math.Abs(end.F - a.F)
		}
		a.F, a.Moved = end.F, distance(end.X, a.X)
		a.Before, a.X, a.Y, a.Radius = a.X, end.X, clone(m.path.Y()), d.radius
		// Rounding may leave x outside D, where values of F mean nothing.
		inside := make([]float64, len(a.X))
		var now *Sample
		err := run.Project(inside, a.X)
		if err == nil {
			now, err = run.Gradient(ctx, inside)
		}
		switch {
		case err != nil && !outside(err):
			return err
		case err == nil && now.F < s.Center.F:
			s.LastStep = distance(now.X, s.Center.X)
			s.Center = *now
		}
		led = err == nil
	}
	// What is left of the way is a part sqrt(approachRatio) of the last stage, and of what
	// that leaves, as long as there are kinks.
	left := a.Moved * math.Sqrt(approachRatio) / (1 - math.Sqrt(approachRatio))
	rest := approachLeft * m.Settings.Delta * run.size(s.Center.X)
	if a.Stage+1 == scoutStages && end != nil {
		s.Waypoint = &waypoint{Scale: a.Scale, F: a.F, Work: m.path.Work(), Reach: distance(a.X, run.Start), Calls: total(run.Calls())}
	}
	if a.Stage++; a.Stage < approachStages && (led && (left > rest || a.Stage < 3) || a.Stage == 1) {
		s.Approach = &a
		return nil
	}
	s.Approach = nil
	s.Continued = "the central path of the follower led nowhere lower than the start"
	if a.Priced {
		s.Continued = "begun where a price on the follower's loss has led; its central path led nowhere lower"
	}
	if s.Center.F < a.Start-run.noise(&s.Center) {
		s.Approached, s.Continued = true, "reached along the central path of the follower, from the start"
	}
	// What is left of the way bounds the first steps. It says nothing of the curvature, which
	// where kinks meet is that of the pieces: one that makes the first step so short outlasts
	// it, as no two points in a row are of one piece.
	if m.rescale(run); led && left > 0 {
		s.Reach = math.Min(s.Reach, arrivalReach*left)
	}
	return nil
}

// ahead is where the next stage's minimizer is expected: minimizers move by about
// sqrt(mu) where kinks are in the way, by mu where none are. nil where the last two stages
// say nothing of that.
func (a *approach) ahead() []float64 {
	if a.Before == nil || a.Stage < 2 || a.Moved == 0 {
		return nil
	}
	return plus(a.X, math.Sqrt(approachRatio), minus(a.X, a.Before))
}
