package outer

import (
	"context"
	"math"

	"bilevelc/runtime/qp"
)

// bundleModel is the model of a step, with where its parts come from.
type bundleModel struct {
	qp.Model
	bundle []int // for each piece but the first, its place in the bundle
	kinks  []int // for each hinge, its place among the kinks
}

// model collects the pieces and hinges for the step: the center, the bundle's
// pieces extrapolated to it, and the kinks known row by row.
func (m *goldstein) model() *bundleModel {
	s := &m.state
	model := &bundleModel{Model: qp.Model{Pieces: []qp.Affine{{Gradient: s.Center.G}}}}
	for i, b := range s.Bundle {
		if (b.Piece == s.Center.Piece && b.Piece != "") || m.explained(&b) {
			continue
		}
		away := minus(s.Center.X, b.X)
		hs := s.H.multiply(away)
		// F_b and its gradient at x, had its piece the curvature H.
		a := qp.Affine{Gradient: plus(b.G, 1, hs), Offset: b.F + dot(b.G, away) + dot(away, hs)/2 - s.Center.F}
		// A piece above F at x is not one of a maximum there; if it is clearly
		// above, by a part of what the gradients' difference can make, the kink is
		// concave and the piece no obstacle to descent.
		if a.Offset > concave*distance(b.G, s.Center.G)*norm(away) {
			continue
		}
		a.Offset = math.Min(a.Offset, 0)
		model.Pieces, model.bundle = append(model.Pieces, a), append(model.bundle, i)
	}
	for i := range s.Kinks {
		if a, convex := m.hinge(&s.Kinks[i]); convex {
			model.Hinges, model.kinks = append(model.Hinges, a), append(model.kinks, i)
		}
	}
	return model
}

// concave separates concave kinks, where the offset is a good part of
// |g_b - g| |x - x_b|, from convex ones, where only the error of the
// extrapolation, of second order, makes it positive.
const concave = 0.1

// residual is |sum_i w_i g_i + sum_k theta_k h_k + normal|, which at the model's
// solution is |Hd|.
func (model *bundleModel) residual(step *qp.Step) float64 {
	r := clone(step.Normal)
	for i, a := range model.Pieces {
		r = plus(r, step.Weights[i], a.Gradient)
	}
	for i, a := range model.Hinges {
		r = plus(r, step.Slopes[i], a.Gradient)
	}
	return norm(r)
}

// renew checks what binds a step against the step's own length. What is known from
// more than stale times as far is extrapolated beyond what it can tell, and where
// it is in the way, steps shrink at a point that is not stationary: kinks are then
// flipped at the center itself, and pieces forgotten, as a trial that meets one
// brings it back. It reports whether the model has changed.
func (m *goldstein) renew(ctx context.Context, run *Run, model *bundleModel, step *qp.Step, length float64) (bool, error) {
	s := &m.state
	far := stale*length + 1e-15*run.size(s.Center.X)
	forgotten := make([]bool, len(s.Bundle))
	changed := false
	for i, w := range step.Weights[1:] {
		b := model.bundle[i]
		if w > 0 && distance(s.Bundle[b].X, s.Center.X) > far {
			forgotten[b], changed = true, true
		}
	}
	if changed {
		var kept []Sample
		for i, b := range s.Bundle {
			if !forgotten[i] {
				kept = append(kept, b)
			}
		}
		s.Bundle = kept
	}
	var rows []int
	for i, w := range step.Slopes {
		if k := s.Kinks[model.kinks[i]]; w > 0 && distance(k.X, s.Center.X) > far {
			rows = append(rows, k.Row)
		}
	}
	for _, row := range rows {
		if _, err := m.flip(ctx, run, row); err != nil {
			return false, err
		}
		changed = true
	}
	return changed, nil
}

// stale is how many steps away a sample may be and still bind one: a bundle
// collects its pieces within a few.
const stale = 10

// informs reports that a trial adds to the model: it lies on another piece than
// x, and the model at d lies clearly below what the piece shows there.
func (m *goldstein) informs(trial *Sample, step *qp.Step) bool {
	c := &m.state.Center
	if (trial.Piece == c.Piece && trial.Piece != "") || m.explained(trial) {
		return false
	}
	away := minus(c.X, trial.X)
	hs := m.state.H.multiply(away)
	offset := trial.F + dot(trial.G, away) + dot(away, hs)/2 - c.F
	if offset > concave*distance(trial.G, c.G)*norm(away) {
		return false
	}
	value := math.Min(offset, 0) + dot(plus(trial.G, 1, hs), step.D)
	return value > step.Value+0.1*math.Abs(step.Value)
}

// remember puts a sample into the bundle, unless it holds one of that piece that
// is nearer to the center.
func (m *goldstein) remember(sample *Sample) {
	s := &m.state
	away := distance(sample.X, s.Center.X)
	for _, b := range s.Bundle {
		if b.Piece == sample.Piece && b.Piece != "" && distance(b.X, s.Center.X) <= away {
			return
		}
	}
	m.replace(sample)
}

// replace puts a sample into the bundle, in place of the one of its piece.
func (m *goldstein) replace(sample *Sample) {
	s := &m.state
	kept := make([]Sample, 0, len(s.Bundle)+1)
	for _, b := range s.Bundle {
		if b.Piece != sample.Piece || b.Piece == "" {
			kept = append(kept, b)
		}
	}
	limit := m.Settings.Memory
	if limit == 0 {
		limit = max(40, 2*len(sample.X))
	}
	if len(kept) >= limit {
		kept = kept[len(kept)-limit+1:]
	}
	s.Bundle = append(kept, *sample)
}
