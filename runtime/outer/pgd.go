package outer

import (
	"context"
	"fmt"
	"math"
	"slices"

	"bilevelc/runtime/convex"
	"bilevelc/runtime/method"
	"bilevelc/runtime/problem"
)

// pgdSettings are the settings of the method `pgd`.
type pgdSettings struct {
	Epsilon    float64 `setting:"epsilon" doc:"target for the norm of the gradient mapping, relative to a tenth of the first gradient's terms" min:"0"`
	Smoothness float64 `setting:"smoothness" doc:"C_F, the Lipschitz constant of grad F; 0 estimates it by backtracking" min:"0"`
	Accelerate bool    `setting:"accelerate" doc:"extrapolate while F falls (monotone, with restarts); plain steps otherwise, and where smoothness is set and this is not"`
}

// defaultPGD are the defaults.
func defaultPGD() *pgdSettings { return &pgdSettings{Epsilon: 1e-7, Accelerate: true} }

func init() {
	register(Spec{
		Name:      "pgd",
		Summary:   "projected gradient descent on F, with the step 1/C_F found by backtracking, and extrapolation while F falls; where steps end at a kink of F, goldstein goes on",
		Reference: "alg:LE-full-alg, pr:inexact-pgd, eq:gradient-mapping",
		Suits:     "equality rows: F is smooth",
		Assumes:   []problem.Assumption{problem.StronglyConvexG, problem.SmoothG, problem.LipschitzF, problem.SmoothF, problem.EqualityRows},
	}, defaultPGD(), func(s pgdSettings, given method.Values) (Method, error) {
		if _, set := given["accelerate"]; !set && s.Smoothness > 0 {
			s.Accelerate = false
		}
		known := knownByDefault
		if _, set := given["epsilon"]; set {
			known = s.Epsilon
		}
		return &pgd{Settings: s, known: known}, nil
	})
}

// pgd is the method `pgd`: x+ = proj_{X and D}(v - grad F(v)/C_F) with v = x,
// or v extrapolated from the last step (Nesterov's sequence, restarted where F
// would rise). A given C_F and plain steps make it alg:LE-full-alg to the letter,
// which takes every step; without one, C_F doubles until
//
//	F(x+) <= F(v) + <grad F(v), x+ - v> + C_F/2 |x+ - v|^2
//
// and relaxes slowly, which is adaptive in regions of less curvature.
type pgd struct {
	Settings pgdSettings
	known    float64 // how well gradients have to be known at the end, in the unit of Epsilon
	keeps[pgdState]
	rest *goldstein // goes on where gradient steps end; nil before
}

// knownByDefault is how well gradients have to be known where no accuracy is asked for: as well
// as the stationarity that the method goldstein ends with. The default of epsilon itself is
// what steps on a smooth F reach at little cost, which may be below what an oracle knows.
const knownByDefault = 1e-5

type pgdState struct {
	Center    Sample // with its gradient
	Previous  []float64
	C         float64 // estimate of C_F
	Momentum  float64 // t of Nesterov's sequence
	LastStep  float64
	Mapping   float64 // |G_F| at Center
	Least     float64 // least mapping at a gain, see maxIdle
	Stagnated int
	Lowest    []float64       `json:",omitempty"` // the lowest point seen, once the search has gone on from it
	Rest      *goldsteinState `json:",omitempty"` // of a checkpoint, where goldstein goes on
}

func (m *pgd) valid(d dimensions) error {
	s := &m.state
	if err := s.Center.valid(d); err != nil {
		return err
	}
	if !(s.C > 0) || !(s.Momentum >= 1) || s.Stagnated < 0 {
		return fmt.Errorf("C_F = %v, momentum %v, %d idle steps", s.C, s.Momentum, s.Stagnated)
	}
	if m.rest != nil {
		if err := m.rest.valid(d); err != nil {
			return err
		}
	}
	if s.Lowest != nil {
		if err := vectors(d.x, s.Lowest); err != nil {
			return err
		}
	}
	return vectors(d.x, s.Center.G, s.Previous)
}

// Iterate implements Method.
func (m *pgd) Iterate() (x []float64, f, step, measure float64) {
	if m.rest != nil {
		return m.rest.Iterate()
	}
	return m.state.Center.X, m.state.Center.F, m.state.LastStep, m.state.Mapping
}

// Begin implements Method. The first C_F makes the first step 0.1 (1 + |x|)
// long; backtracking corrects it.
func (m *pgd) Begin(ctx context.Context, run *Run) error {
	c, err := run.Gradient(ctx, run.Start)
	if err != nil {
		return err
	}
	m.state = pgdState{Center: *c, Previous: c.X, Momentum: 1, C: m.Settings.Smoothness}
	if m.state.C > 0 {
		return nil
	}
	steep := norm(c.G)
	if steep == 0 {
		// At a minimizer the first step has no length: any step will do that is short
		// for gradients of the usual size.
		if err := run.unit(ctx); err != nil {
			return err
		}
		if steep = run.slope; steep == 0 {
			steep = 1
		}
	}
	m.state.C = steep / (0.1 * run.size(c.X))
	return nil
}

// smoothness is the C_F by which the gradient mapping is measured: no step is longer than X is wide. A smaller C_F, as
// where F is flat or concave for a while, makes the mapping C_F times a way through all of X, which is small wherever it begins.
func (m *pgd) smoothness(run *Run, x, gradient []float64) float64 {
	return math.Max(m.state.C, norm(gradient)/run.room(x))
}

// mapping is G_F = C (x - proj(x - grad/C)) at a sample (eq:gradient-mapping).
func mapping(run *Run, x, gradient []float64, c float64) (float64, error) {
	next := plus(x, -1/c, gradient)
	if err := run.Project(next, next); err != nil {
		return 0, err
	}
	return c * distance(x, next), nil
}

// Step implements Method.
func (m *pgd) Step(ctx context.Context, run *Run) (string, error) {
	if m.rest != nil {
		return m.rest.Step(ctx, run)
	}
	s := &m.state
	var err error
	if s.Mapping, err = mapping(run, s.Center.X, s.Center.G, m.smoothness(run, s.Center.X, s.Center.G)); err != nil {
		return "", err
	}
	if target := m.Settings.Epsilon * run.gradient(); s.Mapping <= target {
		switch {
		case run.best.F < s.Center.F-lowered*run.noise(&s.Center) && !slices.Equal(run.best.X, s.Lowest):
			// A lower point was seen on the way, as where the start is a maximum. F there may be
			// higher when it is found again: the search goes on from it once.
			s.Lowest = run.best.X
			full, err := run.Gradient(ctx, s.Lowest)
			if err != nil {
				return "", err
			}
			s.Center, s.Previous, s.Momentum = *full, full.X, 1
			return "", nil
		case !s.Center.Open:
			return m.goOn(ctx, run, "no point near x at which strict complementarity holds: the gradient mapping says nothing of F there")
		case s.Mapping+s.Center.GError > max(target, m.known*run.gradient()):
			// Projections do not expand, so the true mapping is within the gradient's error.
			return "", stuck(fmt.Sprintf("the gradient mapping %.2g is within its target %.2g, but the oracle's gradient is only known to %.2g: "+
				"ask for a more accurate one, or for a larger epsilon", s.Mapping, target, s.Center.GError))
		}
		if s.Mapping+s.Center.GError > target {
			return fmt.Sprintf("gradient mapping %.2g within its target %.2g, gradients known to %.2g", s.Mapping, target, s.Center.GError), nil
		}
		return fmt.Sprintf("gradient mapping %.2g within its target %.2g", s.Mapping, target), nil
	}
	from := s.Center
	momentum, beta := convex.Weight(s.Momentum)
	if m.Settings.Accelerate && beta > 0 {
		v := plus(s.Center.X, beta, minus(s.Center.X, s.Previous))
		if err := run.Project(v, v); err != nil {
			return "", err
		}
		extrapolated, err := run.Gradient(ctx, v)
		if err != nil && !outside(err) {
			return "", err
		}
		if err == nil {
			from = *extrapolated
		}
	}
	next, err := m.forward(ctx, run, &from)
	if err != nil {
		return "", err
	}
	// Once steps gain no more than the rounding of F, its values say nothing, and
	// a step against the last one takes the place of a rise.
	flat := next != nil && m.flat(run, &from, next.X)
	rises := next != nil && next.F > s.Center.F
	if flat {
		rises = next.F > s.Center.F+run.noise(&s.Center) || dot(minus(from.X, next.X), minus(next.X, s.Center.X)) > 0 && s.Momentum > 1
	}
	if m.Settings.Smoothness > 0 && !m.Settings.Accelerate {
		rises = false // the algorithm takes every step
	}
	if next == nil || rises {
		// A restart: a plain step from the center, which cannot rise.
		if distance(from.X, s.Center.X) == 0 {
			return m.goOn(ctx, run, fmt.Sprintf("no descent found, at a gradient mapping of %.2g", s.Mapping))
		}
		s.Momentum, s.Previous = 1, s.Center.X
		return "", nil
	}
	full, err := run.Gradient(ctx, next.X)
	if err != nil {
		return "", err
	}
	if s.Center.F-full.F > run.noise(full) || s.Mapping < 0.9*s.Least || s.Least == 0 {
		s.Stagnated, s.Least = 0, s.Mapping
	} else if s.Stagnated++; s.Stagnated > maxIdle {
		return m.goOn(ctx, run, fmt.Sprintf("neither F nor the gradient mapping falls beyond rounding, at a gradient mapping of %.2g", s.Mapping))
	}
	s.LastStep = distance(full.X, s.Center.X)
	s.Previous, s.Center, s.Momentum = s.Center.X, *full, momentum
	switch {
	case m.Settings.Smoothness > 0:
	case flat:
		s.C = math.Max(s.C, distance(full.G, from.G)/math.Max(distance(full.X, from.X), 1e-300))
	default:
		s.C *= 0.9
	}
	return "", nil
}

// kink explains an end without progress where F may not be smooth.
func (m *pgd) kink() string {
	if len(m.state.Center.Weak) == 0 {
		return ""
	}
	return "; F may have a kink here, where gradient steps end: the method goldstein goes on from such points"
}

// maxIdle is how many steps may bring neither a lower F nor a gradient mapping
// lower by a tenth. Momentum needs a few between two gains.
const maxIdle = 50

// flat reports that a step from a sample to x gains no more than ten times the
// rounding of F, where the descent lemma cannot be checked on values.
func (m *pgd) flat(run *Run, from *Sample, x []float64) bool {
	d := distance(x, from.X)
	return m.state.C/2*d*d <= 10*run.noise(from)
}

// forward is the projected gradient step from a sample, with C_F raised until
// the descent lemma holds; nil where no step is short enough.
func (m *pgd) forward(ctx context.Context, run *Run, from *Sample) (*Sample, error) {
	s := &m.state
	for range 100 {
		next := plus(from.X, -1/s.C, from.G)
		if err := run.Project(next, next); err != nil {
			return nil, err
		}
		length := distance(next, from.X)
		if length <= 1e-16*run.size(from.X) {
			return nil, nil
		}
		trial, err := run.Value(ctx, next)
		if err != nil && !outside(err) {
			return nil, err
		}
		if m.Settings.Smoothness > 0 {
			return trial, nil
		}
		if err == nil {
			bound := from.F + dot(from.G, minus(next, from.X)) + s.C/2*length*length
			if trial.F <= bound+run.noise(from) || (m.flat(run, from, next) && trial.F <= from.F+10*run.noise(from)) {
				return trial, nil
			}
		}
		s.C *= 2
	}
	return nil, nil
}

// Finish implements Method.
func (m *pgd) Finish(ctx context.Context, run *Run, result *Result) error {
	if m.rest != nil {
		return m.rest.Finish(ctx, run, result)
	}
	preferIterate(ctx, run, result, &m.state.Center)
	c := m.smoothness(run, result.Best.X, result.Best.Grad)
	v, err := mapping(run, result.Best.X, result.Best.Grad, c)
	if err != nil {
		return err
	}
	result.Measure = Measure{Name: MappingMeasure, Value: v}
	result.Parameters = map[string]float64{"C_F": c}
	return nil
}
