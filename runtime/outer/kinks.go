package outer

import (
	"context"
	"math"
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/qp"
)

// kink is a row's flip (oracle.Flip) measured at X: the piece of F with the row
// active minus the one with it inactive. Grad is nil where the row has none
// there. A kink of F lies where the value is zero.
type kink struct {
	Row    int
	X      []float64
	Value  float64
	Grad   []float64
	Convex bool
}

// hinge is a kink as the model at the center sees it: F is the center's piece,
// plus max(0, offset + gradient'd) where the kink is convex. The center's own
// piece is the larger one on its side, so that an offset above zero is an error
// of rounding or of the extrapolation.
func (m *bundle) hinge(k *kink) (a qp.Affine, convex bool) {
	if k.Grad == nil || !k.Convex {
		return a, false
	}
	c := &m.State.Center
	if linalg.Norm(k.Grad) <= jump*linalg.Norm(c.G) {
		return a, false // F does not feel the row
	}
	sign := 1.0
	if _, active := slices.BinarySearch(c.Active, k.Row); active {
		sign = -1
	}
	away := linalg.Minus(c.X, k.X)
	offset := sign * (k.Value + linalg.Dot(k.Grad, away))
	return qp.Affine{Offset: math.Min(offset, 0), Gradient: linalg.Plus(make([]float64, len(k.Grad)), sign, k.Grad)}, true
}

// jump is the jump of the gradient, relative to it, that counts as one: well
// above the error of a gradient, well below what a target asks for.
const jump = 1e-9

// changed lists the rows that are active at one sample and not at the other.
func changed(a, b *Sample) []int {
	var out []int
	for _, row := range a.Active {
		if _, both := slices.BinarySearch(b.Active, row); !both {
			out = append(out, row)
		}
	}
	for _, row := range b.Active {
		if _, both := slices.BinarySearch(a.Active, row); !both {
			out = append(out, row)
		}
	}
	return out
}

// known returns the kink of a row, or nil.
func (m *bundle) known(row int) *kink {
	for i := range m.State.Kinks {
		if m.State.Kinks[i].Row == row {
			return &m.State.Kinks[i]
		}
	}
	return nil
}

// explained reports that a sample's piece differs from the center's only in rows
// whose flips are known, so that hinges stand for it.
func (m *bundle) explained(b *Sample) bool {
	rows := changed(b, &m.State.Center)
	for _, row := range rows {
		if k := m.known(row); k == nil || k.Grad == nil {
			return false
		}
	}
	return len(rows) > 0
}

// maxFlips bounds the rows flipped for one trial point. A step over more kinks
// than this is too long for any model, and is better shortened.
const maxFlips = 64

// learnKinks flips, at the center, the rows whose state a trial has changed, or that
// are about to change at it, and
// reports whether the model has become another by it.
func (m *bundle) learnKinks(ctx context.Context, run *Run, trial *Sample) (bool, error) {
	c := &m.State.Center
	rows := changed(trial, c)
	for _, row := range slices.Concat(trial.Weak, c.Weak) {
		if !slices.Contains(rows, row) {
			rows = append(rows, row)
		}
	}
	if len(rows) > maxFlips {
		return false, nil
	}
	bent := false
	for _, row := range rows {
		if k := m.known(row); k != nil && slices.Equal(k.X, c.X) {
			continue
		}
		convex, err := m.flip(ctx, run, row)
		if err != nil {
			return false, err
		}
		bent = bent || convex
	}
	return bent, nil
}

// flip measures a row's kink at the center, and reports whether it bends the model.
func (m *bundle) flip(ctx context.Context, run *Run, row int) (convex bool, err error) {
	c := &m.State.Center
	k := kink{Row: row, X: c.X}
	var nearby *oracle.Flip
	if old := m.known(row); old != nil && old.Grad != nil && m.State.Taught {
		nearby = &oracle.Flip{Grad: old.Grad, Convex: old.Convex}
	}
	switch f, err := run.Flip(ctx, c, row, nearby); {
	case err != nil && !Outside(err):
		return false, err
	case err == nil && f != nil:
		k.Value, k.Grad, k.Convex = f.Value, f.Grad, f.Convex
	}
	m.keep(k)
	_, convex = m.hinge(&k)
	return convex, nil
}

// keep stores a kink in place of what was known of its row.
func (m *bundle) keep(k kink) {
	s := &m.State
	kept := make([]kink, 0, len(s.Kinks)+1)
	for _, old := range s.Kinks {
		if old.Row != k.Row {
			kept = append(kept, old)
		}
	}
	// As many as may meet in one point, and as many again.
	if limit := max(40, 2*len(k.X)); len(kept) >= limit {
		kept = kept[len(kept)-limit+1:]
	}
	s.Kinks = append(kept, k)
}

// translate turns a sample's gradient into that of the piece with the given
// active rows, by the jumps of the rows in between; nil where one is not known
// from within radius.
func (m *bundle) translate(b *Sample, active []int, radius float64) []float64 {
	if b.Piece == "" {
		return nil
	}
	g := b.G
	target := &Sample{Active: active}
	for _, row := range changed(b, target) {
		k := m.known(row)
		if k == nil || k.Grad == nil || linalg.Distance(k.X, b.X) > radius {
			return nil
		}
		sign := -1.0
		if _, gains := slices.BinarySearch(active, row); gains {
			sign = 1
		}
		g = linalg.Plus(g, sign, k.Grad)
	}
	return g
}
