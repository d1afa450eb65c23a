package outer

import (
	"context"
	"math"
	"slices"

	"bilevelc/runtime/linalg"
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
func (m *bundle) model() *bundleModel {
	s := &m.State
	model := &bundleModel{Model: qp.Model{Pieces: []qp.Affine{{Gradient: s.Center.G}}}}
	for i, b := range s.Bundle {
		if (b.Piece == s.Center.Piece && b.Piece != "") || m.explained(&b) {
			continue
		}
		away := linalg.Minus(s.Center.X, b.X)
		hs := s.H.multiply(away)
		// F_b and its gradient at x, had its piece the curvature H.
		a := qp.Affine{Gradient: linalg.Plus(b.G, 1, hs), Offset: b.F + linalg.Dot(b.G, away) + linalg.Dot(away, hs)/2 - s.Center.F}
		// A piece above F at x is not one of a maximum there; if it is clearly
		// above, by a part of what the gradients' difference can make, the kink is
		// concave and the piece no obstacle to descent.
		if a.Offset > concave*linalg.Distance(b.G, s.Center.G)*linalg.Norm(away) {
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

// working is qp.Working by what lasts from one model to the next: samples by the names
// of their pieces, hinges by the rows that make them.
type working struct {
	Center       bool // the center's piece is one of those of the largest value
	Pieces       []string
	Hinges, Bent []int // Bent: ^row of those active at the center
	Lower, Upper []int
	Rows         []int
	Joint        bool
}

// works keeps what held a step.
func (m *bundle) works(model *bundleModel, step *qp.Step) {
	s, w := &m.State, step.Working
	k := &working{Lower: w.Lower, Upper: w.Upper, Rows: w.Rows, Joint: w.Joint}
	for _, i := range w.Pieces {
		if i == 0 {
			k.Center = true
		} else {
			k.Pieces = append(k.Pieces, s.Bundle[model.bundle[i-1]].Piece)
		}
	}
	for _, i := range w.Hinges {
		k.Hinges = append(k.Hinges, s.Kinks[model.kinks[i]].Row)
	}
	for _, i := range w.Bent {
		k.Bent = append(k.Bent, m.side(s.Kinks[model.kinks[i]].Row))
	}
	s.Working = k
}

// side is the row, or ^row where it is active at the center: a hinge that was bent on
// one side of its kink is not on the other.
func (m *bundle) side(row int) int {
	if _, active := slices.BinarySearch(m.State.Center.Active, row); active {
		return ^row
	}
	return row
}

// guess is what held the last step, in the numbers of a model; nil where there is none.
func (m *bundle) guess(model *bundleModel) *qp.Working {
	s, w := &m.State, m.State.Working
	if w == nil {
		return nil
	}
	g := &qp.Working{Lower: w.Lower, Upper: w.Upper, Rows: w.Rows, Joint: w.Joint}
	if w.Center {
		g.Pieces = append(g.Pieces, 0)
	}
	for i, b := range model.bundle {
		if slices.Contains(w.Pieces, s.Bundle[b].Piece) {
			g.Pieces = append(g.Pieces, i+1)
		}
	}
	for i, k := range model.kinks {
		switch row := s.Kinks[k].Row; {
		case slices.Contains(w.Hinges, row):
			g.Hinges = append(g.Hinges, i)
		case slices.Contains(w.Bent, m.side(row)):
			g.Bent = append(g.Bent, i)
		}
	}
	return g
}

// residual is |sum_i w_i g_i + sum_k theta_k h_k + normal|, which at the model's
// solution is |Hd|.
func (model *bundleModel) residual(step *qp.Step) float64 {
	r := linalg.Clone(step.Normal)
	for i, a := range model.Pieces {
		r = linalg.Plus(r, step.Weights[i], a.Gradient)
	}
	for i, a := range model.Hinges {
		r = linalg.Plus(r, step.Slopes[i], a.Gradient)
	}
	return linalg.Norm(r)
}

// renew checks what binds a step against the step's own length. What is known from
// more than stale times as far is extrapolated beyond what it can tell, and where
// it is in the way, steps shrink at a point that is not stationary: kinks are then
// flipped at the center itself, and pieces forgotten, as a trial that meets one
// brings it back. It reports whether the model has changed.
func (m *bundle) renew(ctx context.Context, run *Run, model *bundleModel, step *qp.Step, length float64) (bool, error) {
	s := &m.State
	far := stale*length + 1e-15*run.Size(s.Center.X)
	forgotten := make([]bool, len(s.Bundle))
	changed := false
	for i, w := range step.Weights[1:] {
		b := model.bundle[i]
		if w > 0 && linalg.Distance(s.Bundle[b].X, s.Center.X) > far {
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
		if k := s.Kinks[model.kinks[i]]; w > 0 && linalg.Distance(k.X, s.Center.X) > far {
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
func (m *bundle) informs(trial *Sample, step *qp.Step) bool {
	c := &m.State.Center
	if (trial.Piece == c.Piece && trial.Piece != "") || m.explained(trial) {
		return false
	}
	away := linalg.Minus(c.X, trial.X)
	hs := m.State.H.multiply(away)
	offset := trial.F + linalg.Dot(trial.G, away) + linalg.Dot(away, hs)/2 - c.F
	if offset > concave*linalg.Distance(trial.G, c.G)*linalg.Norm(away) {
		return false
	}
	value := math.Min(offset, 0) + linalg.Dot(linalg.Plus(trial.G, 1, hs), step.D)
	return value > step.Value+0.1*math.Abs(step.Value)
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
