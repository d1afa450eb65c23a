package outer

import (
	"context"
	"math"

	"bilevelc/runtime/central"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/method"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/qp"
	"bilevelc/runtime/tolerance"
)

// bundleSettings are the settings of the method `bundle`.
type bundleSettings struct {
	Delta        float64 `setting:"delta" doc:"radius of the Goldstein subdifferential in the certificate, relative to the size of x over X plus its distance from where X is nearest to 0; less where F changes by more than 1e-3 of itself over it" min:"1e-14" max:"1"`
	Epsilon      float64 `setting:"epsilon" doc:"target for its smallest element, relative to the gradients" min:"0" max:"1"`
	Samples      int     `setting:"samples" doc:"most gradients sampled in a ball at a time; fewer are, if x has fewer entries" min:"1"`
	Memory       int     `setting:"memory" doc:"gradients kept, of different pieces of F; 0 for twice the entries of x, and 40 at least" min:"0"`
	InitialStep  float64 `setting:"initial_step" doc:"length of the first step, relative to the size of x over X plus |x|" min:"1e-12"`
	Armijo       float64 `setting:"armijo" doc:"part of the predicted decrease that a step must attain" min:"1e-12" max:"0.5"`
	Continuation bool    `setting:"continuation" doc:"begin along the central path of the follower, on which F is smooth; where it has none, look once for a lower stationary point, from the start by way of followers that react less, for as long as the search before at most"`
	Search       bool    `setting:"search" doc:"look around a stationary point for a lower one before the run ends; without it, and without a continuation, the run follows a known solution to where it has moved"`
}

// defaultBundle are the defaults.
func defaultBundle() *bundleSettings {
	return &bundleSettings{Delta: 1e-6, Epsilon: 1e-5, Samples: 20, InitialStep: 0.1, Armijo: 1e-4, Continuation: true, Search: true}
}

func init() {
	Register(Spec{
		Name:      "bundle",
		Summary:   "quasi-Newton bundle of gradients, one for each smooth piece of F near x, completed by gradients sampled in a shrinking ball",
		Reference: "gradient sampling (Burke, Lewis, Overton 2005; Kiwiel 2007) on def:GoldsteinDeltaEpsStationary; quasi-Newton steps after Lewis and Overton 2013, Curtis and Que 2015",
		Assumes:   []problem.Assumption{problem.StronglyConvexG, problem.LipschitzF},
	}, defaultBundle(), func(s bundleSettings, _ method.Values) (Method, error) {
		return &bundle{Settings: s}, nil
	})
}

// bundle is the method `bundle`. F is a continuous selection of smooth
// pieces, one for each active set of the lower level. An iteration at x
//
//  1. minimizes the model max_i (e_i + g_i'd) + 1/2 d'Hd over x + d in X and D, where
//     i ranges over x and the pieces seen near it, each extrapolated to x with the
//     curvature H, and H is a BFGS matrix whose pairs lie within one piece, so that
//     kinks do not enter it;
//  2. tries x + d. Where F does not fall there as predicted, the new piece joins the
//     model, and it is solved again (a null step); where nothing is new the step is
//     shortened until F falls (Armijo).
//
// At a minimizer on a kink the model is accurate to second order, so that steps
// converge fast there too. Where the model sees no descent, gradients are
// sampled in balls of shrinking radius around x, as in gradient sampling; what
// they add may reopen the descent. A point stationary for all of that ends the run.
type bundle struct {
	Settings bundleSettings
	Keeps[bundleState]
	learned quasiNewton   // from a run nearby
	path    *central.Path // of the path; what it holds between steps does not count
}

// bundleState is the state between iterations. Slices are not changed in
// place.
type bundleState struct {
	Center    Sample
	Bundle    []Sample // other pieces, most recent last
	H         quasiNewton
	LastStep  float64
	Measure   float64      // |Hd| of the last model: the norm of its stationarity residual
	Reach     float64      // length of the longest step allowed
	Balls     []float64    // multipliers of the balls of X, at the last step
	Sampled   int          // sampling radii tried since the last descent
	Continued string       // what the continuation has come to; empty before
	Newton    *newtonState // of bfgs; nil once it is over
	Path      *pathState   `json:"Approach"` // the way to where the bundle begins; nil once it is over
	// FollowedPath reports that it led to a lower point than the start, and Stuck what
	// kept the search from there from its end; empty before.
	FollowedPath bool `json:"Approached"`
	Arrived      bool // a certificate was asked for since
	Stagnated    int  // iterations since F last fell by more than rounding
	// Within is the radius of the last certificate, less than what was asked for where F changes much over that; 0 before.
	Within float64
	// WarmCurvature reports that the curvature is from a run nearby (learn): a measure of the
	// model well within its target then ends the descent.
	WarmCurvature bool `json:"Taught"`
}

// Iterate implements Method.
func (m *bundle) Iterate() (x []float64, f, step, measure float64) {
	s := &m.State
	return s.Center.X, s.Center.F, s.LastStep, s.Measure
}

// Begin implements Method.
func (m *bundle) Begin(ctx context.Context, run *Run) error {
	c, err := run.Gradient(ctx, run.Start)
	if err != nil {
		return err
	}
	m.State = bundleState{Center: *c, Measure: linalg.Norm(c.G)}
	m.rescale(run)
	m.recall()
	return m.prepare(ctx, run, c)
}

// rescale starts the curvature anew, from the gradient and the initial step.
func (m *bundle) rescale(run *Run) {
	s := &m.State
	length := m.Settings.InitialStep * run.Size(s.Center.X)
	curvature := linalg.Norm(s.Center.G) / length
	if curvature == 0 {
		curvature = 1
	}
	s.H = newQuasiNewton(len(s.Center.X), curvature)
	// Steps beyond this are shortened; it grows with steps that reach it.
	s.Reach = 10 * run.Size(s.Center.X)
}

// Step implements Method.
func (m *bundle) Step(ctx context.Context, run *Run) (string, error) {
	s := &m.State
	if s.Path != nil {
		return "", m.advance(ctx, run)
	}
	before := s.Center
	moved, err := m.descend(ctx, run)
	if err != nil {
		return "", err
	}
	if s.FollowedPath && !s.Arrived {
		s.Arrived = true
		return m.arrive(ctx, run)
	}
	if moved && before.F-s.Center.F > run.Noise(&before) {
		s.Sampled, s.Stagnated = 0, 0
		return "", nil
	}
	if moved {
		// Progress in the gradient alone: allowed for a while, as F cannot show it.
		if s.Stagnated++; s.Stagnated <= maxStagnation {
			return "", nil
		}
	}
	return m.examine(ctx, run)
}

// maxStagnation is how many steps in a row may fail to lower F beyond rounding.
// Superlinear convergence needs one or two such steps.
const maxStagnation = 3

// descend takes one step to a lower point, with the null steps it needs. It
// reports false where the model predicts no descent, or none is found.
func (m *bundle) descend(ctx context.Context, run *Run) (bool, error) {
	s := &m.State
	maxNull := 10 + 2*min(run.Dim(), 100)
	turns, fresh := 0, false
	for null := 0; ; null++ {
		model := m.model()
		model.H = s.H.curvature(m.ballCurvature(run))
		step, err := run.projector.Step(s.Center.X, &model.Model)
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
			s.Bundle = nil
			continue
		}
		if err != nil {
			return false, err
		}
		// Five turns are enough: the multipliers of balls need not be exact, as they converge with x.
		if turns < 5 && m.learnBalls(step) {
			turns++
			null--
			continue
		}
		length := linalg.Norm(step.D)
		if null == 0 && m.renew(run, model, step, length) {
			null--
			continue
		}
		s.Measure = model.residual(step)
		predicted := -step.Value
		if !(predicted > 0) || m.stationary(run, predicted, step.Curvature, length) {
			return false, nil
		}
		// 0.1 is the part of its target at which the measure of the model ends a run that follows a known solution: what is left of F is
		// then the square of it.
		if s.WarmCurvature && s.Measure <= 0.1*m.target(run)(linalg.Norm(s.Center.G)) {
			return false, nil // well within what the certificate asks for
		}
		t := 1.0
		if length > s.Reach {
			t = s.Reach / length
		}
		trial, err := m.try(ctx, run, step.D, t)
		if err != nil {
			return false, err
		}
		if trial != nil && m.acceptable(run, trial, step, t) {
			return m.accept(ctx, run, step, t, trial)
		}
		if null < maxNull && trial != nil && m.informs(trial, step) {
			m.replace(trial)
			continue
		}
		if trial != nil {
			m.remember(trial)
		}
		return m.backtrack(ctx, run, step, t)
	}
}

// stationary reports that the predicted decrease, or the step, is nothing: both
// well below what values of F, and its argument, resolve.
func (m *bundle) stationary(run *Run, predicted, curvature, length float64) bool {
	c := &m.State.Center
	return predicted+curvature <= 1e-4*tolerance.Feasibility*run.Noise(c) || length <= 1e-15*run.Size(c.X)
}

// try evaluates F and its gradient at the projection of x + t d; nil where F has
// no value.
func (m *bundle) try(ctx context.Context, run *Run, d []float64, t float64) (*Sample, error) {
	x := linalg.Plus(m.State.Center.X, t, d)
	err := run.Project(x, x)
	var trial *Sample
	if err == nil {
		trial, err = run.Gradient(ctx, x)
	}
	if err != nil && Outside(err) {
		return nil, nil
	}
	return trial, err
}

// acceptable is Armijo's condition on the model's decrease. Where the decrease
// is within the rounding of F, the slope at the trial decides instead (the
// approximate condition of Hager and Zhang 2005).
func (m *bundle) acceptable(run *Run, trial *Sample, step *qp.Step, t float64) bool {
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
func (m *bundle) accept(ctx context.Context, run *Run, step *qp.Step, t float64, trial *Sample) (bool, error) {
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
		longer, err := m.try(ctx, run, step.D, 2*t)
		if err != nil {
			return false, err
		}
		if longer == nil || longer.F > trial.F || !m.acceptable(run, longer, step, 2*t) {
			if longer != nil {
				m.remember(longer)
			}
			break
		}
		m.remember(trial)
		t, trial = 2*t, longer
		m.State.Reach = math.Max(m.State.Reach, t*length)
	}
	m.moveTo(trial)
	return true, nil
}

// moveTo makes a sample the center. The curvature learns from the nearest
// gradient of the same piece.
func (m *bundle) moveTo(next *Sample) {
	s := &m.State
	old := s.Center
	partner, near := -1, math.Inf(1)
	candidates := append([]Sample{old}, s.Bundle...)
	for i, b := range candidates {
		if b.Piece != next.Piece || b.G == nil {
			continue
		}
		if d := linalg.Distance(b.X, next.X); d > 0 && d < near {
			partner, near = i, d
			if i == 0 {
				break // the last center is the freshest pair
			}
		}
	}
	if partner >= 0 {
		b := candidates[partner]
		s.H = s.H.update(linalg.Minus(next.X, b.X), linalg.Minus(next.G, b.G), next.GError+b.GError)
	}
	s.LastStep = linalg.Distance(old.X, next.X)
	s.Center = *next
	m.remember(&old)
}

// backtrack shortens the step until F falls. Each failure halves it; gradients
// met on the way join the bundle.
func (m *bundle) backtrack(ctx context.Context, run *Run, step *qp.Step, t float64) (bool, error) {
	s := &m.State
	length := linalg.Norm(step.D)
	for range 60 {
		t /= 2
		if t*length <= 1e-15*run.Size(s.Center.X) {
			break
		}
		trial, err := m.try(ctx, run, step.D, t)
		if err != nil {
			return false, err
		}
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
		m.remember(trial)
		if -t*step.Value <= run.Noise(&s.Center) {
			break // what is left to gain is below the rounding of F
		}
	}
	return false, nil
}
