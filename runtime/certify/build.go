package certify

import "bilevelc/runtime/problem"

// NewLower is the certificate of a lower solution: its face, residuals and,
// where the problem has a proved modulus, the gap bound.
func NewLower(p *problem.Problem, x, y, lambda []float64, active []int) *Lower {
	residuals, _ := Evaluate(p, x, y, lambda)
	c := &Lower{Active: active, Residuals: residuals}
	if mu := p.Facts.StrongConvexity; mu > 0 {
		c.Bound = NewBound(p, x, y, lambda, mu)
	}
	return c
}

// NewGoldstein completes a Goldstein certificate with its norm and epsilon.
// normal is nil where no constraint of x takes part.
func NewGoldstein(delta float64, samples []Sample, normal []float64, gradientError float64) *Goldstein {
	c := &Goldstein{Delta: delta, Samples: samples, Normal: normal, GradientError: gradientError}
	c.Norm = norm(c.combination())
	c.Epsilon = c.Norm + gradientError
	return c
}

// combination is sum w_i G_i + n.
func (c *Goldstein) combination() []float64 {
	sum := append([]float64(nil), c.Normal...)
	for _, s := range c.Samples {
		if sum == nil {
			sum = make([]float64, len(s.Gradient))
		}
		for j, g := range s.Gradient {
			sum[j] += s.Weight * g
		}
	}
	return sum
}

// NewGradientMapping completes a gradient-mapping certificate at x with its
// norm.
func NewGradientMapping(smoothness float64, x, gradient, projected []float64, gradientError float64) *GradientMapping {
	return &GradientMapping{Smoothness: smoothness, Gradient: gradient, Projected: projected,
		Norm: norm(mapping(smoothness, x, projected)), GradientError: gradientError}
}

// mapping is L (x - x+).
func mapping(smoothness float64, x, projected []float64) []float64 {
	step := make([]float64, len(x))
	for j := range step {
		step[j] = smoothness * (x[j] - projected[j])
	}
	return step
}
