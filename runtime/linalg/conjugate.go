package linalg

import "gonum.org/v1/gonum/floats"

// Conjugate is the state of the method of conjugate gradients for A d = b (Hestenes and
// Stiefel 1952). Its user moves d by RR/(P'AP) along P, and R with it, and says when a step
// is done. R and P are of the length of d.
type Conjugate struct {
	R, P []float64 // the residual b - A d, and the direction
	RR   float64   // |R|^2
	Beta float64   // the part of the last direction that P has
}

// Start begins at the residual R.
func (c *Conjugate) Start() {
	copy(c.P, c.R)
	c.RR, c.Beta = Dot(c.R, c.R), 0
}

// Turn makes P the next direction, after a step has changed R.
func (c *Conjugate) Turn() {
	last := c.RR
	c.RR = Dot(c.R, c.R)
	c.Beta = c.RR / last
	floats.AddScaledTo(c.P, c.R, c.Beta, c.P)
}
