package reduced

import (
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/tolerance"
)

// Smoothed evaluates F_mu, its gradient and products with its second derivative at x, from the follower's exact answer; nil where it is not found.
func Smoothed(sys *kkt.System, x []float64, mu float64) (value float64, grad []float64, product func(dst, d []float64)) {
	f, err := newFollower(sys, tolerance.NoCurvature)
	if err != nil {
		return 0, nil, nil
	}
	s := &solver{f: f, p: sys.P, calc: newCalculus(sys.P, f.nw)}
	p := s.newPiece()
	if p.load(&State{W: x, Fixed: make([]int8, f.nw)}); !p.lower() {
		return 0, nil, nil
	}
	equal := make([]float64, f.m)
	for r := range f.rows {
		if f.rows[r].equal {
			equal[r] = p.lambda[r]
		}
	}
	at := s.begin(p.lambda, p.v, mu)
	var c *smoothed
	for range 4 { // nearer than a line search wants it
		if c = s.center(x, mu, at, equal); c == nil || !c.factorize() {
			return 0, nil, nil
		}
		at, equal = c.at, c.free
	}
	a := c.differentiate()
	return a.value, a.grad, a.product
}

// Condensed reports that the phases of a space go by f as a function of x and the multipliers.
func Condensed(s *Space) bool { return s.whole != nil }
