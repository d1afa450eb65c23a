package outer

import (
	"math"
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/qp"
)

// ballCurvature is the curvature that the balls of X add to the model: a step along the
// tangent of |x_S - c| <= r is put back onto the sphere, which moves it inwards by
// |d|^2 / 2r, so that the Lagrangian with the multiplier theta has theta d'd/2 more.
// With it steps on a sphere converge as fast as elsewhere.
//
// All entries have the least curvature with which a step can still be told from a
// fall without bound: that of a model step of 1e4 times the reach, far enough for kinks and
// bounds to stop it, beyond which steps are cut off anyway. Without it the model of a piecewise linear F, whose
// curvature is noise, would be a program that double precision cannot solve.
func (m *bundle) ballCurvature(run *Run) []float64 {
	least := linalg.Norm(m.State.Center.G) / (1e4 * m.State.Reach)
	d := slices.Repeat([]float64{least}, run.Dim())
	balls := run.projector.Balls()
	if len(m.State.Balls) != len(balls) {
		return d
	}
	for k, b := range balls {
		for j := b.Start; j < b.End; j++ {
			d[j] += m.State.Balls[k]
		}
	}
	return d
}

// learnBalls takes over the multipliers of a step, and reports whether they differ
// from those that it was made with.
func (m *bundle) learnBalls(step *qp.Step) bool {
	changed := false
	for k, theta := range step.Balls {
		old := 0.0
		if k < len(m.State.Balls) {
			old = m.State.Balls[k]
		}
		// The fixed point need not be exact, as theta converges with x.
		changed = changed || math.Abs(theta-old) > 0.1*math.Max(theta, old)
	}
	m.State.Balls = step.Balls
	return changed
}
