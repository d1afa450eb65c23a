package outer

import (
	"context"

	"bilevelc/runtime/oracle"
)

// Certificate shows that a point is (Delta, epsilon)-Goldstein stationary
// (def:GoldsteinDeltaEpsStationary) with respect to X and D: points within
// Delta of X, a gradient of F at each, convex weights, and an element of the
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

// certify makes the certificate of least norm at pt from samples, those within
// delta of it, and pt's own gradient.
func certify(run *Run, pt *oracle.Point, samples []Sample, delta float64) (*Certificate, error) {
	return certifySample(run, sampleOf(pt), samples, delta)
}

// certifySample is certify at a sample.
func certifySample(run *Run, at *Sample, samples []Sample, delta float64) (*Certificate, error) {
	near := []Sample{*at}
	for _, s := range samples {
		if s.G != nil && distance(s.X, at.X) <= delta {
			near = append(near, s)
		}
	}
	gradients := make([][]float64, len(near))
	for i, s := range near {
		gradients[i] = s.G
	}
	hull, err := run.projector.MinNorm(at.X, gradients, delta)
	if err != nil {
		return nil, err
	}
	c := &Certificate{X: clone(at.X), Delta: delta, Normal: hull.Normal, Norm: hull.Norm}
	for i, w := range hull.Weights {
		if w > 0 {
			c.Points = append(c.Points, near[i].X)
			c.Gradients = append(c.Gradients, near[i].G)
			c.Faces = append(c.Faces, near[i].Active)
			c.Weights = append(c.Weights, w)
			c.GradError += w * near[i].GError
		}
	}
	return c, nil
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
		if err := run.Project(trial, plus(x, radius, direction)); err != nil {
			return out, err
		}
		s, err := run.Gradient(ctx, trial)
		if err != nil {
			if Outside(err) {
				continue
			}
			return out, err
		}
		out = append(out, *s)
	}
	return out, nil
}
