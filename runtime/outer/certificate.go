package outer

import (
	"context"
	"errors"
	"math"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/qp"
	"bilevelc/runtime/tolerance"
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

// Epsilon is what the certificate supports; infinite for none.
func (c *Certificate) Epsilon() float64 {
	if c == nil {
		return math.Inf(1)
	}
	return c.Norm + c.GradError
}

// Size is that of the terms that cancel in the certificate, 0 for none.
func (c *Certificate) Size() float64 {
	if c == nil {
		return 0
	}
	return Terms(c.Weights, c.Gradients)
}

// slack is what F may fall by within Delta, to first order: sum Weights_i |Gradients_i| |Points_i - X|. A gradient that
// vanishes at X itself leaves nothing, one that is taken across a valley as much as F rises by on the way.
func (c *Certificate) slack() float64 {
	sum := each.SumBelow(len(c.Weights), func(i int) float64 {
		return c.Weights[i] * linalg.Norm(c.Gradients[i]) * linalg.Distance(c.Points[i], c.X)
	})
	return sum
}

// Local reports that the radius of a certificate at a point of value f is one over which F hardly changes: a share of
// the size of X says nothing of that where X is wide. Where F is 0 at the point and at the start, to the accuracy of
// values over X, nothing but X says how far is far. A start that is off X counts for nothing.
func (c *Certificate) Local(ctx context.Context, run *Run, f float64) (bool, error) {
	slack := c.slack()
	if slack <= tolerance.Slack*math.Abs(f) {
		return true, nil
	}
	start, fall := run.h.Problem().Origin(), math.Abs(f)
	inX := linalg.Clone(start)
	err := run.Project(inX, start)
	if err == nil && linalg.Distance(inX, start) <= tolerance.FewRoundings*linalg.Norm(start) {
		var from *oracle.Point
		if from, err = run.h.Value(ctx, start); err == nil {
			fall = math.Max(fall, math.Abs(from.F-f))
		}
	}
	if ignoring(err) != nil {
		return false, err
	}
	return slack <= tolerance.Slack*fall || fall <= tolerance.Feasibility*c.Size()*run.Size(c.X), nil
}

// Terms is the size of the terms of a combination: a gradient counts by its weight.
func Terms(weights []float64, gradients [][]float64) float64 {
	return each.SumBelow(len(weights), func(i int) float64 { return weights[i] * linalg.Norm(gradients[i]) })
}

// ErrNoCertificate says that no gradient near a point may enter a certificate.
var ErrNoCertificate = errors.New("no point near the best one at which strict complementarity holds")

// Certify makes the certificate of least norm at pt from the gradients of samples,
// and pt's own, that were taken within delta of it and belong to pieces that F has
// on an open set there; nil where there is none.
func Certify(ctx context.Context, run *Run, pt *oracle.Point, samples []Sample, delta float64) (*Certificate, error) {
	return CertifySample(ctx, run, sampleOf(pt), samples, delta)
}

// CertifySample is Certify at a sample.
func CertifySample(ctx context.Context, run *Run, at *Sample, samples []Sample, delta float64) (_ *Certificate, err error) {
	defer must.Catch(&err)
	near := Within(append([]Sample{*at}, samples...), at.X, delta)
	if len(near) == 0 {
		return nil, nil
	}
	var hull *qp.Hull
	for settled := false; !settled; {
		gradients := each.Of(near, func(s Sample) []float64 { return s.G })
		hull = must.Get(run.projector.MinNorm(at.X, gradients, delta))
		// Those that matter are taken where F has them, one by one.
		settled = true
		kept := near[:0:0]
		for i, s := range near {
			if hull.Weights[i] > 0 && s.At != nil {
				settled = false
				e := must.Get(run.exact(ctx, &s))
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
	c := &Certificate{X: linalg.Clone(at.X), Delta: delta, Normal: hull.Normal, Norm: hull.Norm}
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

// Within are the samples whose gradients a certificate of a radius at x may use.
func Within(samples []Sample, x []float64, radius float64) []Sample {
	return each.Where(samples, func(s Sample) bool { return s.Open && linalg.Distance(s.Where(), x) <= radius })
}
