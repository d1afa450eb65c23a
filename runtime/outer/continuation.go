package outer

import (
	"bilevelc/runtime/linalg"
	"context"
	"errors"
	"math"
)

// The stages of a continuation: tau in units of the curvature of g, so large at first
// that the follower's own curvature hardly counts, then smaller by about the root of
// ten, which is as far as a minimizer of one stage was found to be a good start for the
// next.
var stages = []float64{3, 1, 0.3, 0.1, 0.03, 0.01, 0.003}

// continuation looks for a lower point than the center by way of smoothed followers: it
// follows the minimizer of F with g + tau/2 |y|^2 in the place of g from the run's start
// as tau goes to 0 and descends on F from where that leads. It returns nil where that
// is nowhere lower.
//
// In evaluations of F a stage may cost a tenth of what the search
// has taken before, or 60, which small problems need, and no more than 25 steps,
// as only the last minimum counts; its end on F itself as much as the search before, or 300.
func (m *bundle) continuation(ctx context.Context, run *Run) (*Sample, error) {
	h := run.h
	pt, err := h.Value(ctx, run.Start)
	if err != nil {
		return nil, ignoring(err)
	}
	curvature, spent := h.Curvature(pt), run.Evaluations
	if !(curvature > 0) || math.IsInf(curvature, 0) {
		return nil, nil
	}
	x := run.Start
	for _, stage := range stages {
		if err := run.check(ctx); err != nil {
			return nil, err
		}
		smooth := h.Smoothed(stage * curvature)
		if smooth == nil {
			return nil, nil
		}
		most := max(60, spent/10)
		if all := run.limits.Evaluations; all > 0 {
			most = min(most, all-run.Evaluations)
		}
		part := &Run{Start: x, Rand: run.Rand, h: smooth, projector: run.projector, source: run.source, width: run.width,
			limits: Limits{Evaluations: most}, published: &published{}}
		end, err := m.follow(ctx, part, x, 25, nil)
		run.Evaluations += part.Evaluations
		if err != nil {
			return nil, ignoring(err)
		}
		x = end.X
	}
	before := run.limits
	limit := run.Evaluations + max(300, spent)
	if before.Evaluations == 0 || limit < before.Evaluations {
		run.limits.Evaluations = limit
	}
	end, err := m.follow(ctx, run, x, run.limits.Evaluations, &m.State.Center)
	run.limits = before
	if end := run.check(ctx); end != nil { // cut short, it found nothing out
		return nil, end
	}
	if err != nil {
		return nil, ignoring(err)
	}
	if end.F < m.State.Center.F-10*run.Noise(&m.State.Center) {
		return end, nil
	}
	return nil, nil
}

// follow descends from x on the run's F until that stalls, or for a number of steps, or
// to a limit of the run, or to where the search around a known point has looked already, and
// returns where it has come to.
func (m *bundle) follow(ctx context.Context, run *Run, x []float64, steps int, known *Sample) (*Sample, error) {
	c, err := run.Gradient(ctx, x)
	if err != nil {
		return nil, err
	}
	d := &bundle{Settings: m.Settings, Keeps: Keeps[bundleState]{bundleState{Center: *c, Measure: linalg.Norm(c.G)}}}
	d.rescale(run)
	for range steps {
		before := d.State.Center
		moved, err := d.descend(ctx, run)
		if errors.As(err, new(*limitError)) || err != nil && Outside(err) {
			break
		}
		if err != nil {
			return nil, err
		}
		if !moved || before.F-d.State.Center.F <= run.Noise(&before) {
			break
		}
		if c := d.State.Center; known != nil && c.F >= known.F && linalg.Distance(c.X, known.X) <= run.Radius(m.radii()[0], known.X) {
			break
		}
	}
	return &d.State.Center, nil
}

// ignoring is nil for what ends a continuation alone, and the error for what ends the
// run.
func ignoring(err error) error {
	if errors.As(err, new(*limitError)) || Outside(err) {
		return nil
	}
	return err
}
