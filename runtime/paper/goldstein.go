package paper

import (
	"context"
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/method"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// goldsteinSettings are the settings of the method `goldstein`.
type goldsteinSettings struct {
	Delta   float64 `setting:"delta" doc:"radius of the Goldstein subdifferential in the certificate, relative to the size of x over X; less where F changes by more than 1e-3 of itself over it" min:"1e-14" max:"1"`
	Epsilon float64 `setting:"epsilon" doc:"target for its smallest element, relative to the gradients" min:"0" max:"1"`
	Samples int     `setting:"samples" doc:"gradients sampled in the ball at a time; 0 for twice the entries of x, 20 at most" min:"0"`
	Radius  float64 `setting:"radius" doc:"the first sampling radius, relative to the size of x over X" min:"1e-14" max:"1"`
	Target  float64 `setting:"target" doc:"the first target, relative to the gradients" min:"0" max:"1"`
	Shrink  float64 `setting:"shrink" doc:"by which radius and target fall where the smallest element meets the target" min:"1e-6" max:"0.99"`
	Armijo  float64 `setting:"armijo" doc:"part of the decrease along the smallest element that a step must attain" min:"1e-12" max:"0.5"`
	Budget  int     `setting:"iterations" doc:"steps after which it gives up" min:"1"`
}

func init() {
	outer.Register(outer.Spec{
		Name:      "goldstein",
		Summary:   "gradient sampling: steps along the smallest element of the hull of gradients in a ball that shrinks",
		Reference: "def:GoldsteinDeltaEpsStationary; Goldstein 1977; Burke, Lewis, Overton 2005; Kiwiel 2007; Curtis and Que 2013",
		Assumes:   []problem.Assumption{problem.StronglyConvexG, problem.LipschitzF},
	}, // the defaults of Burke, Lewis and Overton (2005, section 4) but for the last radius and target
		&goldsteinSettings{Delta: 1e-6, Epsilon: 1e-5, Radius: 0.1, Target: 0.01, Shrink: 0.1, Armijo: 1e-4, Budget: 2000},
		func(s goldsteinSettings, _ method.Values) (outer.Method, error) { return &goldstein{Settings: s}, nil })
}

// goldstein is the method `goldstein` (Burke, Lewis and Overton 2005, with projections). At x, with radius delta_k and target epsilon_k:
//
//  1. gradients are taken at x and at points drawn from the ball of radius delta_k around it, beside those of the last ball that made up v and are in this one (Curtis and Que 2013);
//  2. v is the smallest element of their hull and the normal cone of X and D;
//  3. where |v| <= epsilon_k both fall, and the run ends when they are the certificate's;
//  4. otherwise x moves to the projection of x - t v for the first t = t_0, t_0/2, ... with
//     F(x) - F(x+) >= armijo t |v|^2; where t |v| has fallen below delta_k without one, a gradient on the way, or of the next ball, is missing from the hull, and joins it, for as many times as v may have parts; then delta_k falls.
//
// What is returned is the lowest point seen, and so that is what the last radius is asked about.
//
// It asks for nothing but gradients, and knows nothing of why F has kinks.
type goldstein struct {
	Settings goldsteinSettings
	outer.Keeps[goldsteinState]
}

type goldsteinState struct {
	Center   outer.Sample // with its gradient
	Lowest   outer.Sample // of all that were met
	Radius   float64      // delta_k, relative to the size of x
	Target   float64      // epsilon_k, relative to the gradients
	Length   float64      // of the last step
	Measure  float64      // |v|
	Steps    int
	Failed   int            // line searches from Center
	Gathered []outer.Sample // the gradients that v is made of
}

// Valid implements outer.Method.
func (m *goldstein) Valid(d outer.Dimensions) error {
	s := &m.State
	if !(s.Radius > 0) || !(s.Target >= 0) || !(s.Length >= 0) || min(s.Steps, s.Failed) < 0 {
		return fmt.Errorf("radius %v, target %v, a step of %v", s.Radius, s.Target, s.Length)
	}
	for _, g := range append([]outer.Sample{s.Center, s.Lowest}, s.Gathered...) {
		if err := g.Valid(d); err != nil {
			return err
		}
		if g.G == nil {
			return fmt.Errorf("a point of the ball has no gradient")
		}
	}
	return nil
}

// Iterate implements outer.Method.
func (m *goldstein) Iterate() (x []float64, f, step, measure float64) {
	return m.State.Center.X, m.State.Center.F, m.State.Length, m.State.Measure
}

// Begin implements outer.Method.
func (m *goldstein) Begin(ctx context.Context, run *outer.Run) (err error) {
	defer must.Catch(&err)
	c := must.Get(run.Gradient(ctx, run.Start))
	set := &m.Settings
	m.State = goldsteinState{Center: *c, Lowest: *c, Radius: math.Max(set.Radius, set.Delta), Target: math.Max(set.Target, set.Epsilon), Length: set.Radius * run.Size(c.X), Measure: linalg.Norm(c.G)}
	return nil
}

// Step implements outer.Method.
func (m *goldstein) Step(ctx context.Context, run *outer.Run) (_ string, err error) {
	defer must.Catch(&err)
	s, set := &m.State, &m.Settings
	if s.Steps++; s.Steps > set.Budget {
		return "", outer.Stuck(fmt.Sprintf("%d steps are used up, at a radius of %.2g and a measure of %.2g", set.Budget, s.Radius*run.Size(s.Center.X), s.Measure))
	}
	delta := run.Radius(s.Radius, s.Center.X)
	count := set.Samples
	if count == 0 {
		count = min(2*run.Dim(), tolerance.Draws) // those that count are kept: a tenth of the entries of x is enough (Curtis and Que 2013)
	}
	samples := must.Get(sampleBall(ctx, run, s.Center.X, delta, count))
	for _, g := range samples {
		if g.F < s.Lowest.F {
			s.Lowest = g
		}
	}
	hull := append([]outer.Sample{s.Center}, outer.Within(slices.Concat(s.Gathered, samples), s.Center.X, delta)...)
	if !s.Center.Open && len(hull) > 1 {
		hull = hull[1:]
	}
	gradients := each.Of(hull, func(g outer.Sample) []float64 { return g.G })
	least := must.Get(run.Projector().MinNorm(s.Center.X, gradients, delta))
	s.Gathered = nil
	for i, w := range least.Weights {
		if w > 0 && linalg.Distance(hull[i].X, s.Center.X) > 0 {
			s.Gathered = append(s.Gathered, hull[i])
		}
	}
	s.Measure = least.Norm
	if s.Measure <= s.Target*m.size(run, outer.Terms(least.Weights, gradients)) {
		return m.shrink(ctx, run)
	}
	v := linalg.Clone(least.Normal)
	for i, w := range least.Weights {
		v = linalg.Plus(v, w, gradients[i])
	}
	size, largest := linalg.Norm(v), 0.0
	largest = math.Max(largest, each.Largest(gradients, linalg.Norm))
	for t := math.Max(2*s.Length, delta) / size; t*largest >= delta*set.Shrink; t /= 2 {
		x := linalg.Plus(s.Center.X, -t, v)
		must.Do(run.Project(x, x))
		next, err := run.Gradient(ctx, x)
		if err != nil {
			if outer.Outside(err) {
				continue
			}
			return "", err
		}
		if s.Center.F-next.F >= set.Armijo*t*size*size && next.F < s.Center.F {
			s.Length, s.Center, s.Failed = linalg.Distance(next.X, s.Center.X), *next, 0
			s.Radius = math.Max(s.Radius, set.Delta) // what F changes by within it was of another point
			if next.F < s.Lowest.F {
				s.Lowest = *next
			}
			return "", nil
		}
		if next.F < s.Lowest.F {
			s.Lowest = *next
		}
		s.Gathered = append(s.Gathered, *next)
	}
	// So many gradients make up v at most (Caratheodory); and where the fall is rounding values say nothing any more.
	if s.Failed++; s.Failed > run.Dim()+1 || delta*size <= run.Noise(&s.Center) {
		return m.shrink(ctx, run)
	}
	return "", nil
}

// size is what the target is relative to: the gradients that cancel, or, where they have vanished, the terms that they are sums of, of which the first gradient's are as much as is asked for.
func (m *goldstein) size(run *outer.Run, cancel float64) float64 {
	if terms := m.State.Center.Terms; terms > 0 { // the oracle tells
		return math.Max(cancel, math.Min(run.Scale(), terms))
	}
	return math.Max(cancel, run.Scale())
}

// shrink ends the run at the certificate's radius and target, or makes them smaller.
func (m *goldstein) shrink(ctx context.Context, run *outer.Run) (_ string, err error) {
	defer must.Catch(&err)
	s, set := &m.State, &m.Settings
	if s.Radius > set.Delta || s.Target > set.Epsilon {
		s.Radius = math.Max(set.Delta, set.Shrink*s.Radius)
		s.Target = math.Max(set.Epsilon, set.Shrink*s.Target)
		s.Failed = 0
		return "", nil
	}
	if s.Lowest.F < s.Center.F-10*run.Noise(&s.Center) {
		s.Length, s.Center = linalg.Distance(s.Lowest.X, s.Center.X), s.Lowest
		return "", nil
	}
	c := must.Get(outer.CertifySample(ctx, run, &s.Center, s.Gathered, run.Radius(s.Radius, s.Center.X)))
	if c.Epsilon() > s.Target*m.size(run, c.Size()) {
		if s.Failed++; s.Failed > tolerance.Draws*(run.Dim()+1) {
			return "", outer.Stuck(fmt.Sprintf("no descent found, and no certificate within radius %.2g: measure %.2g", run.Radius(s.Radius, s.Center.X), s.Measure))
		}
		return "", nil
	}
	if local, err := c.Local(ctx, run, s.Center.F); err != nil {
		return "", err
	} else if !local && s.Radius <= tolerance.Feasibility {
		return "", outer.Stuck(fmt.Sprintf("F changes by much of itself within the radius %.2g", c.Delta))
	} else if !local {
		s.Radius *= set.Shrink
		return "", nil
	}
	return fmt.Sprintf("Goldstein stationary within radius %.2g: measure %.2g", c.Delta, c.Norm), nil
}

// Finish implements outer.Method: the certificate of the best point.
func (m *goldstein) Finish(ctx context.Context, run *outer.Run, result *outer.Result) (err error) {
	defer must.Catch(&err)
	outer.PreferIterate(ctx, run, result, &m.State.Center)
	delta := run.Radius(math.Min(m.Settings.Delta, m.State.Radius), result.Best.X)
	c := must.Get(outer.Certify(ctx, run, result.Best, append(m.State.Gathered[:len(m.State.Gathered):len(m.State.Gathered)], m.State.Center), delta))
	if c == nil {
		return outer.ErrNoCertificate
	}
	result.Certificate = c
	result.Measure = outer.Measure{Name: outer.GoldsteinMeasure, Value: c.Norm, Delta: delta}
	return nil
}
