package paper

import (
	"context"
	"fmt"
	"math"

	"bilevelc/internal/must"
	"bilevelc/runtime/convex"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/method"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/problem"
)

// pgdSettings are the settings of the method `pgd`.
type pgdSettings struct {
	Epsilon    float64 `setting:"epsilon" doc:"target for the norm of the gradient mapping, relative to a tenth of the first gradient's terms" min:"0" max:"1"`
	Smoothness float64 `setting:"smoothness" doc:"C_F, the Lipschitz constant of grad F; 0 estimates it by backtracking" min:"0"`
	Accelerate bool    `setting:"accelerate" doc:"extrapolate while F falls (monotone, with restarts); plain steps otherwise, and where smoothness is set and this is not"`
}

// defaultPGD are the defaults.
func defaultPGD() *pgdSettings { return &pgdSettings{Epsilon: 1e-7, Accelerate: true} }

func init() {
	outer.Register(outer.Spec{
		Name:      "pgd",
		Summary:   "projected gradient descent on F, with the step 1/C_F found by backtracking, and extrapolation while F falls",
		Reference: "alg:LE-full-alg, pr:inexact-pgd, eq:gradient-mapping",
		Assumes:   []problem.Assumption{problem.StronglyConvexG, problem.SmoothG, problem.LipschitzF, problem.SmoothF, problem.EqualityRows},
	}, defaultPGD(), func(s pgdSettings, given method.Values) (outer.Method, error) {
		if _, set := given["accelerate"]; !set && s.Smoothness > 0 {
			s.Accelerate = false
		}
		// 1e-5 is how well gradients have to be known where no accuracy is asked for, relative to a tenth of the first gradient's terms: as
		// well as the stationarity that certificates of kinks end with. The default of epsilon itself is what steps on a smooth F reach at
		// little cost, which may be below what an oracle knows.
		known := 1e-5
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
	outer.Keeps[pgdState]
}

type pgdState struct {
	Center    outer.Sample // with its gradient
	Previous  []float64
	C         float64 // estimate of C_F
	Momentum  float64 // t of Nesterov's sequence
	LastStep  float64
	Mapping   float64 // |G_F| at Center
	Least     float64 // least mapping at a gain, see maxIdle
	Stagnated int
}

func (m *pgd) Valid(d outer.Dimensions) error {
	s := &m.State
	if err := s.Center.Valid(d); err != nil {
		return err
	}
	if !(s.C > 0) || !(s.Momentum >= 1) || s.Stagnated < 0 {
		return fmt.Errorf("C_F = %v, momentum %v, %d idle steps", s.C, s.Momentum, s.Stagnated)
	}
	return outer.Vectors(d.X, s.Center.G, s.Previous)
}

// Iterate implements Method.
func (m *pgd) Iterate() (x []float64, f, step, measure float64) {
	return m.State.Center.X, m.State.Center.F, m.State.LastStep, m.State.Mapping
}

// Begin implements Method. The first C_F makes the first step 0.1 (1 + |x|)
// long; backtracking corrects it.
func (m *pgd) Begin(ctx context.Context, run *outer.Run) (err error) {
	defer must.Catch(&err)
	c := must.Get(run.Gradient(ctx, run.Start))
	m.State = pgdState{Center: *c, Previous: c.X, Momentum: 1, C: m.Settings.Smoothness}
	if m.State.C > 0 {
		return nil
	}
	steep := linalg.Norm(c.G)
	if steep == 0 {
		steep = 1 // the first step has no length: any will do
	}
	m.State.C = steep / (0.1 * run.Size(c.X))
	return nil
}

// Step implements Method.
func (m *pgd) Step(ctx context.Context, run *outer.Run) (_ string, err error) {
	defer must.Catch(&err)
	s := &m.State
	s.Mapping = must.Get(run.Mapping(s.Center.X, s.Center.G, run.Smoothness(m.State.C, s.Center.X, s.Center.G)))
	if target := m.Settings.Epsilon * run.Scale(); s.Mapping <= target {
		return run.MappingMet(&s.Center, s.Mapping, target, m.known*run.Scale())
	}
	from := s.Center
	momentum, beta := convex.Weight(s.Momentum)
	if m.Settings.Accelerate && beta > 0 {
		v := linalg.Plus(s.Center.X, beta, linalg.Minus(s.Center.X, s.Previous))
		must.Do(run.Project(v, v))
		extrapolated, err := run.Gradient(ctx, v)
		if err != nil && !outer.Outside(err) {
			return "", err
		}
		if err == nil {
			from = *extrapolated
		}
	}
	next := must.Get(m.forward(ctx, run, &from))
	// Once steps gain no more than the rounding of F, its values say nothing, and
	// a step against the last one takes the place of a rise.
	flat := next != nil && m.flat(run, &from, next.X)
	rises := next != nil && next.F > s.Center.F
	if flat {
		rises = next.F > s.Center.F+run.Noise(&s.Center) || linalg.Dot(linalg.Minus(from.X, next.X), linalg.Minus(next.X, s.Center.X)) > 0 && s.Momentum > 1
	}
	if m.Settings.Smoothness > 0 && !m.Settings.Accelerate {
		rises = false // the algorithm takes every step
	}
	if next == nil || rises {
		// A restart: a plain step from the center, which cannot rise.
		if linalg.Distance(from.X, s.Center.X) == 0 {
			return "", outer.Stuck(fmt.Sprintf("no descent found, at a gradient mapping of %.2g", s.Mapping) + outer.Kinked(&s.Center))
		}
		s.Momentum, s.Previous = 1, s.Center.X
		return "", nil
	}
	full := must.Get(run.Gradient(ctx, next.X))
	if s.Center.F-full.F > run.Noise(full) || s.Mapping < 0.9*s.Least || s.Least == 0 {
		s.Stagnated, s.Least = 0, s.Mapping
	} else if s.Stagnated++; s.Stagnated > maxIdle {
		return "", outer.Stuck(fmt.Sprintf("neither F nor the gradient mapping falls beyond rounding, at a gradient mapping of %.2g", s.Mapping) + outer.Kinked(&s.Center))
	}
	s.LastStep = linalg.Distance(full.X, s.Center.X)
	s.Previous, s.Center, s.Momentum = s.Center.X, *full, momentum
	switch {
	case m.Settings.Smoothness > 0:
	case flat:
		s.C = math.Max(s.C, linalg.Distance(full.G, from.G)/math.Max(linalg.Distance(full.X, from.X), 1e-300))
	default:
		s.C *= 0.9
	}
	return "", nil
}

// maxIdle is how many steps may bring neither a lower F nor a gradient mapping
// lower by a tenth. Momentum needs a few between two gains.
const maxIdle = 50

// flat reports that a step from a sample to x gains no more than ten times the
// rounding of F, where the descent lemma cannot be checked on values.
func (m *pgd) flat(run *outer.Run, from *outer.Sample, x []float64) bool {
	d := linalg.Distance(x, from.X)
	return m.State.C/2*d*d <= 10*run.Noise(from)
}

// forward is the projected gradient step from a sample, with C_F raised until
// the descent lemma holds; nil where no step is short enough.
func (m *pgd) forward(ctx context.Context, run *outer.Run, from *outer.Sample) (*outer.Sample, error) {
	s := &m.State
	for range 100 {
		next := linalg.Plus(from.X, -1/s.C, from.G)
		if err := run.Project(next, next); err != nil {
			return nil, err
		}
		length := linalg.Distance(next, from.X)
		if length <= 1e-16*run.Size(from.X) {
			return nil, nil
		}
		trial, err := run.Value(ctx, next)
		if err != nil && !outer.Outside(err) {
			return nil, err
		}
		if m.Settings.Smoothness > 0 {
			return trial, nil
		}
		if err == nil {
			bound := from.F + linalg.Dot(from.G, linalg.Minus(next, from.X)) + s.C/2*length*length
			if trial.F <= bound+run.Noise(from) || (m.flat(run, from, next) && trial.F <= from.F+10*run.Noise(from)) {
				return trial, nil
			}
		}
		s.C *= 2
	}
	return nil, nil
}

// Finish implements Method.
func (m *pgd) Finish(ctx context.Context, run *outer.Run, result *outer.Result) error {
	outer.PreferIterate(ctx, run, result, &m.State.Center)
	return run.MeasureMapping(result, run.Smoothness(m.State.C, result.Best.X, result.Best.Grad))
}
