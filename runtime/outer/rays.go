package outer

import (
	"context"
	"math"

	"bilevelc/internal/each"
	"bilevelc/runtime/linalg"
)

// ray is how a search for the smallest element of the Goldstein subdifferential
// ended.
type ray struct {
	Samples []Sample // gradients found on the way, within the radius
	Norm    float64  // of the smallest element of the hull of all gradients known
	Lower   *Sample  // a point of clearly lower F; nil where none was met
}

// rays looks for the smallest element of the Goldstein subdifferential of a radius
// at a sample, beginning with the gradients known: with v the smallest element of
// their hull and normal cone, it follows -v to the ball's edge. Either F falls
// there by a part of radius |v|, which ends the search with a lower point; or some
// point on the way has a gradient that the hull lacks, which makes |v| smaller
// (Wolfe 1975, Mifflin 1977; as the descent direction of Zhang et al. 2020). Unlike
// gradients at random points, each one adds to the hull. It ends at |v| <= target of the size of v's terms,
// or after a number of gradients.
func rays(ctx context.Context, run *Run, at *Sample, known []Sample, radius float64, target func(size float64) float64, budget int) (*ray, error) {
	r := &ray{Norm: math.Inf(1)}
	hull := within(append([]Sample{*at}, known...), at.X, radius)
	for len(hull) == 0 && len(r.Samples) < budget {
		x, err := run.move(at.X, radius/2)
		var s *Sample
		if err == nil {
			s, err = run.Gradient(ctx, x)
		}
		if err != nil && !Outside(err) {
			return r, err
		}
		if err != nil {
			return r, nil
		}
		r.Samples = append(r.Samples, *s)
		hull = within(r.Samples, at.X, radius)
	}
	if len(hull) == 0 {
		return r, nil
	}
	for {
		gradients := each.Of(hull, func(s Sample) []float64 { return s.G })
		least, err := run.projector.MinNorm(at.X, gradients, radius)
		if err != nil {
			return nil, err
		}
		r.Norm = least.Norm
		if least.Norm <= target(Terms(least.Weights, gradients)) || len(r.Samples) >= budget {
			return r, nil
		}
		v := linalg.Clone(least.Normal)
		for i, w := range least.Weights {
			v = linalg.Plus(v, w, gradients[i])
		}
		found, err := follow(ctx, run, at, v, radius, budget-len(r.Samples))
		r.Samples = append(r.Samples, found.Samples...)
		r.Lower = found.Lower
		if err != nil || r.Lower != nil || !found.New {
			return r, err
		}
		usable := within(found.Samples[len(found.Samples)-1:], at.X, radius)
		if len(usable) == 0 {
			return r, nil
		}
		hull = append(hull, usable...)
	}
}

// followed is what one ray has met.
type followed struct {
	Samples []Sample
	Lower   *Sample
	New     bool // the last sample's gradient is new to the hull
}

// follow evaluates F along -v, bisecting between a point where F has fallen too
// little and the center until the gradient shows why.
//
// A decrease of a tenth of the slope's promise is
// descent; a gradient whose slope along the ray is at most half as steep is new
// to the hull (Mifflin 1977 asks for two such numbers, the first smaller than
// the second).
func follow(ctx context.Context, run *Run, at *Sample, v []float64, radius float64, budget int) (f followed, err error) {
	size := linalg.Norm(v)
	lo, hi := 0.0, 0.99*radius/size // rounding must not take a point of the edge out of the ball
	x := make([]float64, len(v))
	for t := hi; len(f.Samples) < budget && hi-lo > 1e-3*hi; {
		if err = run.Project(x, linalg.Plus(at.X, -t, v)); err != nil {
			if Outside(err) {
				err = nil
			}
			return f, err
		}
		moved := linalg.Minus(x, at.X)
		length := linalg.Norm(moved)
		promise := -linalg.Dot(moved, v)
		if promise < 0.5*size*length || length == 0 {
			// The edge of X or D turns the ray: nearer it does not.
			if hi = t; lo > 0 || t*size <= 1e-3*radius {
				return f, nil
			}
			t /= 4
			continue
		}
		s, err := run.Gradient(ctx, x)
		if err != nil {
			if !Outside(err) {
				return f, err
			}
			hi = t
			t = (lo + hi) / 2
			continue
		}
		f.Samples = append(f.Samples, *s)
		falls := at.F-s.F >= 0.1*promise
		switch {
		case falls && at.F-s.F > 10*run.Noise(at):
			f.Lower = s
			return f, nil
		case !s.Open: // no gradient there that a hull could take
			hi = t
		case linalg.Dot(s.G, moved) >= -0.5*promise:
			f.New = true
			return f, nil
		case promise <= run.Noise(at):
			return f, nil // values say nothing any more
		case falls:
			lo = t
		default:
			hi = t
		}
		t = (lo + hi) / 2
	}
	return f, nil
}

// target is the norm that the settings ask of the smallest element, given the size of the terms that cancel in it.
func (m *bundle) target(run *Run) func(size float64) float64 {
	return func(size float64) float64 { return m.Settings.Epsilon * math.Max(size, run.Scale()) }
}
