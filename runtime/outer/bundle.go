package outer

import (
	"math"
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/qp"
	"bilevelc/runtime/tolerance"
)

// bundleModel is the model of a step, with where its parts come from.
type bundleModel struct {
	qp.Model
	bundle []int // for each piece but the first, its place in the bundle
}

// model collects the pieces for the step: the center, and the bundle's extrapolated to it.
func (m *bundle) model() *bundleModel {
	s := &m.State
	model := &bundleModel{Model: qp.Model{Pieces: []qp.Affine{{Gradient: s.Center.G}}}}
	for i, b := range s.Bundle {
		if b.Piece == s.Center.Piece && b.Piece != "" {
			continue
		}
		if a, convex := m.extrapolated(&b); convex {
			model.Pieces, model.bundle = append(model.Pieces, a), append(model.bundle, i)
		}
	}
	return model
}

// extrapolated is F_b and its gradient at x, had its piece the curvature H. A piece above F at x is not one of a maximum there; if it is clearly
// above, by 1/tolerance.Margin of what the gradients' difference can make, the kink is concave and the piece no obstacle to descent: at convex ones only the error of the
// extrapolation, of second order, puts it there.
func (m *bundle) extrapolated(b *Sample) (a qp.Affine, convex bool) {
	c := &m.State.Center
	away := linalg.Minus(c.X, b.X)
	hs := m.State.H.multiply(away)
	offset := b.F + linalg.Dot(b.G, away) + linalg.Dot(away, hs)/2 - c.F
	return qp.Affine{Gradient: linalg.Plus(b.G, 1, hs), Offset: math.Min(offset, 0)}, !(tolerance.Margin*offset > linalg.Distance(b.G, c.G)*linalg.Norm(away))
}

// residual is |sum_i w_i g_i + normal|, which at the model's solution is |Hd|.
func (model *bundleModel) residual(step *qp.Step) float64 {
	r := linalg.Clone(step.Normal)
	for i, a := range model.Pieces {
		r = linalg.Plus(r, step.Weights[i], a.Gradient)
	}
	return linalg.Norm(r)
}

// renew checks what binds a step against the step's own length. What is known from
// more than ten times as far is extrapolated beyond what it can tell, and where
// it is in the way, steps shrink at a point that is not stationary: pieces are then
// forgotten, as a trial that meets one brings it back. It reports whether the model has changed.
func (m *bundle) renew(run *Run, model *bundleModel, step *qp.Step, length float64) bool {
	s := &m.State
	// 10 is how many steps away a sample may be and still bind one: a bundle collects its pieces within a few.
	far := 10*length + 1e-15*run.Size(s.Center.X)
	forgotten := make([]bool, len(s.Bundle))
	for i, w := range step.Weights[1:] {
		b := model.bundle[i]
		forgotten[b] = w > 0 && linalg.Distance(s.Bundle[b].X, s.Center.X) > far
	}
	if !slices.Contains(forgotten, true) {
		return false
	}
	var kept []Sample
	for i, b := range s.Bundle {
		if !forgotten[i] {
			kept = append(kept, b)
		}
	}
	s.Bundle = kept
	return true
}

// informs reports that a trial adds to the model: it lies on another piece than
// x, and the model at d lies clearly below what the piece shows there.
func (m *bundle) informs(trial *Sample, step *qp.Step) bool {
	c := &m.State.Center
	if trial.Piece == c.Piece && trial.Piece != "" {
		return false
	}
	a, convex := m.extrapolated(trial)
	return convex && a.Offset+linalg.Dot(a.Gradient, step.D) > step.Value+0.1*math.Abs(step.Value)
}

// remember puts a sample into the bundle, unless it holds one of that piece that
// is nearer to the center.
func (m *bundle) remember(sample *Sample) {
	s := &m.State
	away := linalg.Distance(sample.X, s.Center.X)
	for _, b := range s.Bundle {
		if b.Piece == sample.Piece && b.Piece != "" && linalg.Distance(b.X, s.Center.X) <= away {
			return
		}
	}
	m.replace(sample)
}

// replace puts a sample into the bundle, in place of the one of its piece.
func (m *bundle) replace(sample *Sample) {
	s := &m.State
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
