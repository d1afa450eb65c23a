package outer

import (
	"context"
	"math"
	"slices"

	"bilevelc/internal/must"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/qp"
	"bilevelc/runtime/tolerance"
)

// Quasi-Newton steps on a smooth F over X and D: each minimizes
//
//	g'd + 1/2 d'Hd,   x + d in X and D,
//
// with a BFGS matrix H, and is shortened until F falls (Armijo), or doubled while F falls as steeply.

// maxStagnation is how many steps in a row may fail to lower F beyond rounding.
// Superlinear convergence needs one or two such steps.
const maxStagnation = 3

// rescale starts the curvature anew, from the gradient and the initial step.
func (m *bfgs) rescale(run *Run) {
	s := &m.State
	curvature := linalg.Norm(s.Center.G) / (m.Settings.InitialStep * run.Size(s.Center.X))
	if curvature == 0 {
		curvature = 1
	}
	s.H = newQuasiNewton(len(s.Center.X), curvature)
	// Steps beyond this are shortened; it grows with steps that reach it.
	s.Reach = 10 * run.Size(s.Center.X)
}

// descend takes one step to a lower point. It reports false where the model predicts no descent, or none is found.
func (m *bfgs) descend(ctx context.Context, run *Run) (_ bool, err error) {
	defer must.Catch(&err)
	s := &m.State
	turns, fresh := 0, false
	for {
		step, err := run.projector.Step(s.Center.X, &qp.Model{H: s.H.curvature(m.ballCurvature(run)), Pieces: []qp.Affine{{Gradient: s.Center.G}}})
		// 0.1 is the slope, relative to the gradient, at which a step uphill shows that its program was not solved, rather than solved to
		// the accuracy of its data.
		if err != nil && Outside(err) || err == nil && step.Value > 0.1*linalg.Norm(s.Center.G)*linalg.Norm(step.D) {
			// The program was not solved: a step of 0 has the value 0. It says nothing
			// of F; a curvature made anew from the gradient is well conditioned.
			if fresh {
				return false, nil
			}
			fresh = true
			m.rescale(run)
			continue
		}
		if err != nil {
			return false, err
		}
		// Five turns are enough: the multipliers of balls need not be exact, as they converge with x.
		if turns < 5 && m.learnBalls(step) {
			turns++
			continue
		}
		length := linalg.Norm(step.D)
		if !(-step.Value > 0) || m.stationary(run, -step.Value, step.Curvature, length) {
			return false, nil
		}
		t := math.Min(1, s.Reach/length)
		trial := must.Get(m.try(ctx, run, step.D, t))
		if trial != nil && m.acceptable(run, trial, step, t) {
			return m.accept(ctx, run, step, t, trial)
		}
		return m.backtrack(ctx, run, step, t)
	}
}

// stationary reports that the predicted decrease, or the step, is nothing: both
// well below what values of F, and its argument, resolve.
func (m *bfgs) stationary(run *Run, predicted, curvature, length float64) bool {
	c := &m.State.Center
	return predicted+curvature <= 1e-4*tolerance.Feasibility*run.Noise(c) || length <= 1e-15*run.Size(c.X)
}

// try is Run.Try at x + t d.
func (m *bfgs) try(ctx context.Context, run *Run, d []float64, t float64) (*Sample, error) {
	return run.Try(ctx, linalg.Plus(m.State.Center.X, t, d))
}

// acceptable is Armijo's condition on the model's decrease. Where the decrease
// is within the rounding of F, the slope at the trial decides instead (the
// approximate condition of Hager and Zhang 2005).
func (m *bfgs) acceptable(run *Run, trial *Sample, step *qp.Step, t float64) bool {
	c := &m.State.Center
	if trial.F <= c.F+m.Settings.Armijo*t*step.Value && trial.F < c.F {
		return true
	}
	if trial.F > c.F+run.Noise(c) || -t*step.Value > 10*run.Noise(c) || math.Abs(linalg.Dot(trial.G, step.D)) > 0.9*math.Abs(step.Value) {
		return false
	}
	// Gradients are compared by their mappings, to which what X holds them by does not count.
	curvature := 2 * math.Abs(step.Value) / linalg.Dot(step.D, step.D)
	here, err := run.Mapping(c.X, c.G, curvature)
	there, failed := run.Mapping(trial.X, trial.G, curvature)
	return err == nil && failed == nil && there <= 0.9*here
}

// accept moves to a trial point, after longer steps along the same direction
// where F still falls steeply there, and updates the curvature.
func (m *bfgs) accept(ctx context.Context, run *Run, step *qp.Step, t float64, trial *Sample) (_ bool, err error) {
	defer must.Catch(&err)
	length := linalg.Norm(step.D)
	if t*length >= 0.5*m.State.Reach {
		m.State.Reach *= 2
	}
	// 20 doublings make a million of a step: what is still as steep beyond is left to the next one.
	for range 20 {
		// Still half as steep as predicted: the curvature is too large, or the
		// step was shortened.
		if linalg.Dot(trial.G, step.D) > 0.5*step.Value {
			break
		}
		longer := must.Get(m.try(ctx, run, step.D, 2*t))
		if longer == nil || longer.F > trial.F || !m.acceptable(run, longer, step, 2*t) {
			break
		}
		t, trial = 2*t, longer
		m.State.Reach = math.Max(m.State.Reach, t*length)
	}
	m.moveTo(trial)
	return true, nil
}

// moveTo makes a sample the center, and the curvature learns from the step to it.
func (m *bfgs) moveTo(next *Sample) {
	s := &m.State
	s.H = s.H.update(linalg.Minus(next.X, s.Center.X), linalg.Minus(next.G, s.Center.G), next.GError+s.Center.GError)
	s.LastStep = linalg.Distance(s.Center.X, next.X)
	s.Center = *next
}

// backtrack shortens the step until F falls. Each failure halves it.
func (m *bfgs) backtrack(ctx context.Context, run *Run, step *qp.Step, t float64) (_ bool, err error) {
	defer must.Catch(&err)
	s := &m.State
	length := linalg.Norm(step.D)
	for range 60 {
		t /= 2
		if t*length <= 1e-15*run.Size(s.Center.X) {
			break
		}
		trial := must.Get(m.try(ctx, run, step.D, t))
		if trial == nil {
			continue
		}
		if m.acceptable(run, trial, step, t) {
			if t < 1e-3 {
				s.Reach = math.Max(2*t*length, 1e-3*s.Reach)
			}
			m.moveTo(trial)
			return true, nil
		}
		if -t*step.Value <= run.Noise(&s.Center) {
			break // what is left to gain is below the rounding of F
		}
	}
	return false, nil
}

// ballCurvature is the curvature that the balls of X add to the model: a step along the
// tangent of |x_S - c| <= r is put back onto the sphere, which moves it inwards by
// |d|^2 / 2r, so that the Lagrangian with the multiplier theta has theta d'd/2 more.
// With it steps on a sphere converge as fast as elsewhere.
//
// All entries have the least curvature with which a step can still be told from a
// fall without bound: that of a model step of 1e4 times the reach, far enough for kinks and
// bounds to stop it, beyond which steps are cut off anyway. Without it the model of a piecewise linear F, whose
// curvature is noise, would be a program that double precision cannot solve.
func (m *bfgs) ballCurvature(run *Run) []float64 {
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
func (m *bfgs) learnBalls(step *qp.Step) bool {
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
