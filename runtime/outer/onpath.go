package outer

import (
	"context"
	"errors"
	"math"

	"bilevelc/runtime/central"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/oracle"
)

// onPath is F_mu, which is smooth: one piece, known with its gradient wherever the path is found. Elsewhere it has no value.
type onPath struct {
	oracle.Hyperobjective
	path *central.Path
	mu   float64
}

// Value implements Hyperobjective.
func (h *onPath) Value(ctx context.Context, x []float64) (*oracle.Point, error) {
	pt := &oracle.Point{X: linalg.Clone(x), Grad: make([]float64, len(x)), Lower: &lower.Solution{}, Strict: true, Open: true}
	var err error
	if pt.F, err = h.path.Evaluate(ctx, pt.Grad, x, h.mu); errors.Is(err, central.ErrOff) {
		return nil, &oracle.LowerError{X: pt.X, Status: lower.Failed, Reason: err.Error()}
	}
	return pt, err
}

// Gradient implements Hyperobjective.
func (h *onPath) Gradient(ctx context.Context, x []float64) (*oracle.Point, error) {
	return h.Value(ctx, x)
}

// Complete implements Hyperobjective: Value has made the gradient.
func (h *onPath) Complete(context.Context, *oracle.Point) error { return nil }

// alongPath minimizes F_mu from where the last stage has come to, or from ahead of it where F_mu is lower there, by the steps that descend on F:
// with one piece they are those of a quasi-Newton method, whose matrix goes from stage to stage, as curvatures of F_mu change by little. It ends
// where a step gains no more than a part of what the last stage has changed, and leaves the path there; nil where the path was not found.
func (m *bundle) alongPath(ctx context.Context, run *Run, a *pathState) (*Sample, error) {
	part := &Run{Start: a.X, Rand: run.Rand, Evaluations: run.Evaluations, h: &onPath{run.h, m.path, a.Mu}, projector: run.projector, source: run.source,
		width: run.width, limits: run.limits, before: run.before, published: &published{}}
	end, err := m.stage(ctx, part, a)
	run.Evaluations = part.Evaluations
	if err != nil && Outside(err) {
		return nil, nil
	}
	return end, err
}

// stage is alongPath on a run whose F is F_mu.
func (m *bundle) stage(ctx context.Context, part *Run, a *pathState) (*Sample, error) {
	c, err := part.Gradient(ctx, a.X)
	if err != nil {
		return nil, err
	}
	gain := math.Max(part.Noise(&m.State.Center), stageTolerance*a.Gain)
	if a.Last == 0 {
		gain = math.Max(gain, stageTolerance*math.Abs(c.F-m.State.Center.F))
	}
	if ahead := a.ahead(); ahead != nil {
		if err := part.projector.ProjectUpper(ahead, ahead); err != nil {
			return nil, err
		}
		next, err := part.Gradient(ctx, ahead)
		if err != nil && !Outside(err) {
			return nil, err
		}
		if err == nil && next.F < c.F {
			c = next
		}
	}
	d := &bundle{Settings: m.Settings, Keeps: Keeps[bundleState]{bundleState{Center: *c}}}
	if d.rescale(part); a.Last > 0 {
		d.State.H = m.State.H
	}
	for range maxEnd {
		before := d.State.Center.F
		moved, err := d.descend(ctx, part)
		if err != nil {
			return nil, err
		}
		if !moved || before-d.State.Center.F <= gain {
			break
		}
	}
	m.State.H = d.State.H
	return part.Gradient(ctx, d.State.Center.X) // the point of the path is that of the last trial
}
