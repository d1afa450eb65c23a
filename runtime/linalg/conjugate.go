package linalg

import (
	"math"
	"slices"
)

// Conjugate is the state of the method of conjugate gradients for A d = b (Hestenes and
// Stiefel 1952). Its user moves d by RR/(P'AP) along P, and R with it, and says when a step
// is done. R and P are of the length of d.
type Conjugate struct {
	R, P []float64 // the residual b - A d, and the direction
	RR   float64   // |R|^2; with a preconditioner R'Z
	Beta float64   // the part of the last direction that P has

	// Precondition, unless nil, sets dst to Z = M^-1 r, M near A.
	Precondition func(dst, r []float64)
	z, before    []float64 // Z, and the R before a step
}

// Start begins at the residual R.
func (c *Conjugate) Start() {
	z := c.R
	if c.Precondition != nil {
		c.z, c.before = make([]float64, len(c.R)), slices.Clone(c.R)
		z = c.z
		c.Precondition(z, c.R)
	}
	copy(c.P, z)
	c.RR, c.Beta = Dot(c.R, z), 0
}

// Turn makes P the next direction, after a step has changed R.
func (c *Conjugate) Turn() {
	last, z := c.RR, c.R
	if c.Precondition != nil {
		z = c.z
		c.Precondition(z, c.R)
	}
	c.RR = Dot(c.R, z)
	if c.Beta = c.RR / last; c.Precondition != nil { // after Polak and Ribiere, as products and the preconditioner may be inexact
		c.Beta = math.Max(0, (c.RR-Dot(c.before, z))/last)
		copy(c.before, c.R)
	}
	for j, t := range z {
		c.P[j] = t + c.Beta*c.P[j]
	}
}
