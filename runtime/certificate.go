package runtime

import (
	"fmt"
	"math"

	"bilevelc/internal/each"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/outer"
)

// lowerCertificate is the stable form of what shows that the lower level is
// solved, from the solver's own assessment and the error of y; package certify derives
// it again.
func (p *Problem) lowerCertificate(pt *oracle.Point, errorY float64) *certify.Lower {
	s := pt.Lower
	active, _ := pt.Rows()
	c := &certify.Lower{Active: active, Residuals: s.Residuals, Hidden: p.evidence(s)}
	if mu := p.Numeric.Facts.StrongConvexity; mu > 0 && !math.IsInf(errorY, 1) {
		c.Bound = &certify.Bound{Modulus: mu, Gap: mu * errorY * errorY / 2, Distance: errorY}
	}
	return c
}

// certificate is the stable form of what shows that the lower level is solved
// and the upper point stationary.
func (p *Problem) certificate(run *outer.Result, h *oracle.Hyper, errorY float64) (*certify.Certificate, error) {
	pt := run.Best
	c := &certify.Certificate{Lower: p.lowerCertificate(pt, errorY)}
	if g := run.Certificate; g != nil {
		samples := each.Below(len(g.Points), func(i int) certify.Sample {
			return certify.Sample{Point: g.Points[i], Gradient: g.Gradients[i], Weight: g.Weights[i], Active: g.Faces[i]}
		})
		c.Goldstein = &certify.Goldstein{Delta: g.Delta, Samples: samples, Normal: g.Normal,
			Norm: g.Norm, GradientError: g.GradError, Epsilon: g.Norm + g.GradError}
	}
	if smoothness, ok := run.Parameters["C_F"]; ok && smoothness > 0 && pt.Grad != nil {
		next := each.Below(len(pt.X), func(j int) float64 { return pt.X[j] - pt.Grad[j]/smoothness })
		if err := h.Project(next, next); err != nil {
			return nil, fmt.Errorf("certificate: %w", err)
		}
		step := 0.0
		for j := range next {
			step = math.Hypot(step, pt.X[j]-next[j])
		}
		c.GradientMapping = &certify.GradientMapping{Smoothness: smoothness, Gradient: pt.Grad, Projected: next,
			Norm: smoothness * step, GradientError: pt.GradError}
	}
	return c, nil
}
