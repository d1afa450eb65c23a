package outer

import (
	"context"
	"fmt"
	"math"

	"bilevelc/internal/must"
	"bilevelc/runtime/central"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/method"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// bfgsSettings are the settings of the method `bfgs`.
type bfgsSettings struct {
	Epsilon     float64 `setting:"epsilon" doc:"target for the norm of the gradient mapping, relative to a tenth of the first gradient's terms; steps go on to a hundredth of it, and of the terms at x, where they get there" min:"0" max:"1"`
	InitialStep float64 `setting:"initial_step" doc:"length of the first step, relative to the size of x over X plus |x|, and first radius of the trust region" min:"1e-12"`
	Armijo      float64 `setting:"armijo" doc:"part of the predicted decrease that a step must attain" min:"1e-12" max:"0.5"`
}

func init() {
	Register(Spec{
		Name:      "bfgs",
		Summary:   "Newton steps on F over X where the follower's KKT matrix gives its second derivative, quasi-Newton ones elsewhere, each the minimizer of a quadratic model",
		Reference: "trust region with conjugate gradients (Steihaug 1983); damped BFGS (Powell 1978), over polyhedra as in sequential quadratic programming (Nocedal and Wright 2006, chapter 18); eq:gradient-mapping",
		Assumes:   []problem.Assumption{problem.StronglyConvexG, problem.SmoothG, problem.LipschitzF, problem.SmoothF, problem.EqualityRows},
	}, &bfgsSettings{Epsilon: 1e-5, InitialStep: firstStep, Armijo: tolerance.Armijo}, func(s bfgsSettings, _ method.Values) (Method, error) { return &bfgs{Settings: s}, nil })
}

// firstStep is the length of the first step, relative to the size of x: a tenth, as where nothing is known of the curvature.
const firstStep = 0.1

// bfgs is the method `bfgs`: steps of Newton's method (smoothDescent) where second derivatives are known, quasi-Newton ones (descend) after them.
type bfgs struct {
	Settings bfgsSettings
	Keeps[bfgsState]
	path *central.Path // what it holds between steps does not count
}

// bfgsState is the state between iterations. Slices are not changed in place.
type bfgsState struct {
	Center    Sample
	H         quasiNewton
	LastStep  float64
	Measure   float64      // the length of the gradient mapping
	Reach     float64      // length of the longest step allowed
	Balls     []float64    // multipliers of the balls of X, at the last step
	Newton    *newtonState // nil once it is over
	Stagnated int          // iterations since F last fell by more than rounding
}

// Valid implements Method.
func (m *bfgs) Valid(d Dimensions) (err error) {
	defer must.Catch(&err)
	s := &m.State
	must.Do(s.Center.Valid(d))
	if s.Center.G == nil || s.Stagnated < 0 {
		return fmt.Errorf("its center has no gradient, or it counts fewer than no steps")
	}
	if s.H.N != d.X {
		return fmt.Errorf("its curvature is not that of %d entries of x", d.X)
	}
	if n := s.Newton; n != nil {
		if d.Y == 0 || !(n.Radius > 0) || !linalg.Finite([]float64{n.Radius}) {
			return fmt.Errorf("its lower level has no second derivative, or its trust region no radius")
		}
		must.Do(Vectors(d.Y, n.Y))
	}
	return s.H.valid()
}

// Iterate implements Method.
func (m *bfgs) Iterate() (x []float64, f, step, measure float64) {
	s := &m.State
	return s.Center.X, s.Center.F, s.LastStep, s.Measure
}

// Newton reports that method bfgs takes steps of Newton's method on F, where that is smooth.
func Newton(p *problem.Problem) bool { return polyhedral(p) && central.New(p, nil) != nil }

// polyhedral reports that no inequality makes kinks and that X is one of linear rows: a step that is minimized over X knows no curvature of its rows.
func polyhedral(p *problem.Problem) bool {
	return !p.HasInequalities() && (p.X == nil || len(p.X.Balls) == 0 && p.X.Extended.Len() == 0)
}

// newtonState is where Newton's method stands.
type newtonState struct {
	Y        []float64 // the follower's answer to the center
	Radius   float64   // of the trust region
	Recalled bool      // its Hessian is from lower solves, see oracle.Hyper.Central
}

// Begin implements Method.
func (m *bfgs) Begin(ctx context.Context, run *Run) (err error) {
	defer must.Catch(&err)
	c := must.Get(run.Gradient(ctx, run.Start))
	m.State = bfgsState{Center: *c}
	m.rescale(run)
	h := run.h
	if !polyhedral(h.Problem()) {
		return nil
	}
	recalled := h.Recalls()
	if m.path = h.Central(recalled); m.path == nil {
		return nil
	}
	pt, err := h.Value(ctx, c.X)
	if err != nil {
		return ignoring(err)
	}
	m.State.Newton = &newtonState{Y: linalg.Clone(pt.Lower.Y), Radius: m.Settings.InitialStep * run.Size(c.X), Recalled: recalled}
	return nil
}

// newton takes one step of Newton's method from the center; where it finds none the steps after it are quasi-Newton ones.
func (m *bfgs) newton(ctx context.Context, run *Run) error {
	s := &m.State
	at := *s.Newton
	s.Newton = nil
	if m.path == nil {
		m.path = run.h.Central(at.Recalled)
	}
	if m.path == nil {
		return Stuck("the state is of a problem whose lower level has second derivatives")
	}
	m.path.Begin(at.Y, central.Barrier{})
	d := &smoothDescent{run: run, path: m.path, mu: 1, most: 1, plain: true, radius: at.Radius, gain: run.Noise(&s.Center)}
	end, err := d.minimize(ctx, nil, s.Center.X)
	if err != nil || end == nil {
		return err
	}
	now, err := run.Gradient(ctx, end.X)
	if err != nil || !(now.F < s.Center.F) {
		return ignoring(err)
	}
	m.moveTo(now) // what comes after these steps knows the curvature along them
	// Regions of models with other gradients shrink where these are further off than this (Carter 1991): next to where the follower's second derivative has no bound the path's may be.
	if linalg.Distance(end.G, now.G) > (1-tolerance.TrustPoor)*linalg.Norm(now.G)+now.GError {
		return nil
	}
	s.Newton = &newtonState{Y: linalg.Clone(m.path.Y()), Radius: d.radius, Recalled: at.Recalled}
	return nil
}

// Step implements Method.
func (m *bfgs) Step(ctx context.Context, run *Run) (_ string, err error) {
	defer must.Catch(&err)
	s := &m.State
	s.Measure = must.Get(run.Mapping(s.Center.X, s.Center.G, m.smoothness(run, s.Center.X, s.Center.G)))
	target := m.Settings.Epsilon * run.Scale()
	// 1e-2 is the part of its target to which steps go on: near a minimizer the last one or two gain as many digits as there are. Where the terms
	// that cancel there are less than the share of the first ones the target is relative to them.
	if s.Measure <= 1e-2*math.Min(target, m.Settings.Epsilon*s.Center.Terms) {
		return run.MappingMet(&s.Center, s.Measure, target, target)
	}
	if s.Newton != nil {
		return "", m.newton(ctx, run)
	}
	before := s.Center
	moved, err := m.descend(ctx, run)
	switch {
	case err != nil:
		return "", err
	case moved && before.F-s.Center.F > run.Noise(&before):
		s.Stagnated = 0
		return "", nil
	}
	if s.Stagnated++; moved && s.Stagnated <= maxStagnation {
		return "", nil
	}
	if !moved && s.Stagnated <= 1 { // the curvature anew
		m.rescale(run)
		return "", nil
	}
	// A step of the gradient mapping G promises |G|^2/(2 C_F): what F does not show is no descent, as far as the size of gradients goes: C_F has no end at a kink.
	c := m.smoothness(run, s.Center.X, s.Center.G)
	hidden := math.Min(math.Sqrt(2*c*run.Noise(&s.Center)), m.Settings.Epsilon*math.Max(s.Center.Terms, linalg.Norm(s.Center.G)))
	if enough := math.Max(target, hidden); s.Measure <= enough {
		return run.MappingMet(&s.Center, s.Measure, enough, enough)
	}
	return "", Stuck(fmt.Sprintf("no descent found, at a gradient mapping of %.2g", s.Measure) + Kinked(&s.Center))
}

// smoothness is the C_F by which the gradient mapping is measured: the curvature of F along the last step.
func (m *bfgs) smoothness(run *Run, x, gradient []float64) float64 {
	h := &m.State.H
	d := linalg.Clone(gradient)
	size := linalg.Norm(d)
	c := h.Scale
	if size > 0 && h.Updates > 0 {
		c = linalg.Norm(h.multiply(d)) / size
	}
	return run.Smoothness(c, x, gradient)
}

// Finish implements Method.
func (m *bfgs) Finish(ctx context.Context, run *Run, result *Result) error {
	PreferIterate(ctx, run, result, &m.State.Center)
	return run.MeasureMapping(result, m.smoothness(run, result.Best.X, result.Best.Grad))
}

// Smoothness is a C_F by which the gradient mapping at x is measured, or the least with which no step is longer than X is wide: a smaller one, as
// where F is flat or concave for a while, makes the mapping C_F times a way through all of X, which is small wherever it begins.
func (r *Run) Smoothness(c float64, x, gradient []float64) float64 {
	return math.Max(c, linalg.Norm(gradient)/r.Room(x))
}

// Mapping is the length of the gradient mapping G_F = C (x - proj(x - grad/C)) (eq:gradient-mapping).
func (r *Run) Mapping(x, gradient []float64, c float64) (float64, error) {
	next := linalg.Plus(x, -1/c, gradient)
	if err := r.Project(next, next); err != nil {
		return 0, err
	}
	return c * linalg.Distance(x, next), nil
}

// MappingMet is the end of a run whose gradient mapping is within its target at a sample; known is how well gradients have to be known then.
func (r *Run) MappingMet(at *Sample, mapping, target, known float64) (string, error) {
	switch {
	case !at.Open:
		return "", Stuck("no point near x at which strict complementarity holds: the gradient mapping says nothing of F there")
	case mapping+at.GError > max(target, known):
		// Projections do not expand, so the true mapping is within the gradient's error.
		return "", Stuck(fmt.Sprintf("the gradient mapping %.2g is within its target %.2g, but the oracle's gradient is only known to %.2g: "+
			"ask for a more accurate one, or for a larger epsilon", mapping, target, at.GError))
	case mapping+at.GError > target:
		return fmt.Sprintf("gradient mapping %.2g within its target %.2g, gradients known to %.2g", mapping, target, at.GError), nil
	}
	return fmt.Sprintf("gradient mapping %.2g within its target %.2g", mapping, target), nil
}

// MeasureMapping fills in the measure of a result.
func (r *Run) MeasureMapping(result *Result, c float64) (err error) {
	defer must.Catch(&err)
	v := must.Get(r.Mapping(result.Best.X, result.Best.Grad, c))
	result.Measure = Measure{Name: MappingMeasure, Value: v}
	result.Parameters = map[string]float64{"C_F": c}
	return nil
}

// Kinked explains an end without progress where F may not be smooth.
func Kinked(at *Sample) string {
	if len(at.Weak) == 0 {
		return ""
	}
	return "; F may have a kink here, where gradient steps end: the method goldstein looks for stationary points among kinks"
}
