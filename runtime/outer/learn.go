package outer

import (
	"encoding/json"
	"math"
	"slices"
)

// Learner is a method that a run on a problem nearby can spare learning: Learn takes
// what the state of such a run says of the curvature of F, before Begin. A state of
// another method, or of other dimensions, teaches nothing.
type Learner interface {
	Learn(state json.RawMessage)
}

// Learn implements Learner: the curvature of the pieces of F.
func (m *goldstein) Learn(state json.RawMessage) {
	var old goldsteinState
	if json.Unmarshal(state, &old) == nil && old.H.H != nil && len(old.H.H) == old.H.N*old.H.N &&
		!slices.ContainsFunc(old.H.H, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
		m.learned = &old.H
	}
}

// teach starts from the curvature that was learned elsewhere, where it is of F's
// dimensions.
func (m *goldstein) teach() {
	if m.learned != nil && m.learned.N == len(m.state.Center.X) {
		m.state.H = *m.learned
	}
}
