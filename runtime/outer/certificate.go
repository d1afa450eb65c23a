package outer

import (
	"context"
	"errors"
	"fmt"
	"math"

	"bilevelc/runtime/oracle"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/qp"
)

// Certificate shows that a point is (Delta, epsilon)-Goldstein stationary
// (def:GoldsteinDeltaEpsStationary) with respect to X and D: points within
// Delta of X, a gradient of F at each where strict complementarity holds with a
// margin above the errors, convex weights, and an element of the
// normal cone of X and D at a point within Delta of X, with
//
//	Norm = |sum_i Weights_i Gradients_i + Normal|.
//
// In the interior of X and D Normal is zero and this is the paper's definition.
// With GradError, the weighted estimate of the gradients' errors, Norm +
// GradError is the epsilon that the certificate supports.
type Certificate struct {
	X         []float64
	Delta     float64
	Points    [][]float64
	Gradients [][]float64
	Faces     [][]int // for each gradient, the rows held as equalities; nil where not known
	Weights   []float64
	Normal    []float64
	Norm      float64
	GradError float64
}

// epsilon is what the certificate supports; infinite for none.
func (c *Certificate) epsilon() float64 {
	if c == nil {
		return math.Inf(1)
	}
	return c.Norm + c.GradError
}

// descending is the end of a run at a point x from which F goes on falling along the way from the start, in the entries
// of x that X does not bound there: with an F that is curved across the way and linear along it, what it falls by is
// small beside the gradients that the curvature makes of the start or of the radius. It is looked for where the measure lets
// F fall by a part of itself over the length of the way. nil for others.
func (r *Run) descending(ctx context.Context, x []float64, f, measure float64) error {
	way := unbounded(r.h.Problem().X, minus(x, r.Start))
	if !(measure*norm(way) > still*math.Abs(f)) {
		return nil
	}
	from, err := r.h.Value(ctx, r.Start)
	if err != nil {
		return ignoring(err)
	}
	size := math.Max(math.Abs(f), math.Abs(from.F-f))
	if !(measure*norm(way) > still*size) {
		return nil
	}
	for t := 1.0; t >= nearest; t /= 10 {
		on := plus(x, t, way)
		err := r.Project(on, on)
		var there *oracle.Point
		if err == nil {
			there, err = r.h.Value(ctx, on)
		}
		switch {
		case err != nil && !outside(err):
			return err
		case err != nil || !(there.F < f-t*still*size):
			continue
		case f < 0 && norm(way) > far*(r.widthAt(r.Start)+norm(r.Start)): // the size of x at the start, not one found since (learnWidth)
			return unboundedError{}
		}
		return stuck(fmt.Sprintf("F, %.2g, goes on falling along the way from the start, over which X is not bounded: by %.2g over %.2g of its length", f, f-there.F, t))
	}
	return nil
}

// nearest is the least part of the way from the start at which descending looks: ten times the radius of the default
// certificate, within which a kink may be that ends the way.
const nearest = 1e-5

// still is the part of F that its slope along a way does not make up where F has a limit.
const still = 1e-3

// unbounded are the entries of a direction along which the entry of x has no bound, 0 for the others.
func unbounded(set *problem.Set, direction []float64) []float64 {
	out := clone(direction)
	for j, d := range direction {
		if set != nil && set.Lo != nil && (d > 0 && !math.IsInf(set.Hi[j], 1) || d < 0 && !math.IsInf(set.Lo[j], -1)) {
			out[j] = 0
		}
	}
	return out
}

// errNoCertificate says that no gradient near a point may enter a certificate.
var errNoCertificate = errors.New("no point near the best one at which strict complementarity holds")

// certify makes the certificate of least norm at pt from the gradients of samples,
// and pt's own, that were taken within delta of it and belong to pieces that F has
// on an open set there; nil where there is none.
func certify(ctx context.Context, run *Run, pt *oracle.Point, samples []Sample, delta float64) (*Certificate, error) {
	return certifySample(ctx, run, sampleOf(pt), samples, delta)
}

// certifySample is certify at a sample.
func certifySample(ctx context.Context, run *Run, at *Sample, samples []Sample, delta float64) (*Certificate, error) {
	near := within(append([]Sample{*at}, samples...), at.X, delta)
	if len(near) == 0 {
		return nil, nil
	}
	var hull *qp.Hull
	for settled := false; !settled; {
		gradients := make([][]float64, len(near))
		for i, s := range near {
			gradients[i] = s.G
		}
		var err error
		if hull, err = run.projector.MinNorm(at.X, gradients, delta, nil); err != nil {
			return nil, err
		}
		// Those that matter are taken where F has them, one by one.
		settled = true
		kept := near[:0:0]
		for i, s := range near {
			if hull.Weights[i] > 0 && s.At != nil {
				settled = false
				e, err := run.exact(ctx, &s)
				if err != nil {
					return nil, err
				}
				if e == nil {
					continue
				}
				s = *e
			}
			kept = append(kept, s)
		}
		if near = kept; len(near) == 0 {
			return nil, nil
		}
	}
	c := &Certificate{X: clone(at.X), Delta: delta, Normal: hull.Normal, Norm: hull.Norm}
	for i, w := range hull.Weights {
		if w > 0 {
			c.Points = append(c.Points, near[i].Where())
			c.Gradients = append(c.Gradients, near[i].G)
			c.Faces = append(c.Faces, near[i].Active)
			c.Weights = append(c.Weights, w)
			c.GradError += w * near[i].GError
		}
	}
	return c, nil
}

// within are the samples whose gradients a certificate of a radius at x may use.
func within(samples []Sample, x []float64, radius float64) []Sample {
	var near []Sample
	for _, s := range samples {
		if s.Open && distance(s.Where(), x) <= radius {
			near = append(near, s)
		}
	}
	return near
}

// sampleBall evaluates count gradients at points drawn from the ball of radius
// delta around x, projected onto X and D. Points where F has no value are left
// out.
func sampleBall(ctx context.Context, run *Run, x []float64, delta float64, count int) ([]Sample, error) {
	var out []Sample
	direction, trial := make([]float64, len(x)), make([]float64, len(x))
	for range count {
		run.Direction(direction)
		// Uniform in radius rather than in volume: near points matter most.
		radius := delta * run.Rand.Float64()
		err := run.Project(trial, plus(x, radius, direction))
		var s *Sample
		if err == nil {
			s, err = run.Gradient(ctx, trial)
		}
		if err != nil {
			if outside(err) {
				continue
			}
			return out, err
		}
		out = append(out, *s)
	}
	return out, nil
}
