package qp

import (
	"math"

	"bilevelc/internal/must"
	"bilevelc/runtime/linalg"
)

// solveBall finds the multiplier of ball k given the others, with dst the
// projection for the current multipliers on entry and return.
func (p *Projector) solveBall(k int, dst, x, theta []float64, on *search) (changed bool, err error) {
	defer must.Catch(&err)
	b := &p.set.Balls[k]
	// A distance within this of the radius is on the sphere.
	tolerance := 4e-16 * (b.Radius + linalg.Norm(dst))
	at := func(t float64) (float64, error) {
		theta[k] = t
		err := p.projectPolyhedron(dst, x, theta, on)
		return b.Distance(dst), err
	}
	r := b.Distance(dst)
	if math.Abs(r-b.Radius) <= tolerance || (r < b.Radius && theta[k] == 0) {
		return false, nil
	}
	start := theta[k]
	lo, hi := 0.0, math.Inf(1)
	rlo := r
	if theta[k] != 0 {
		rlo = must.Get(at(0))
		if rlo <= b.Radius {
			return start != 0, nil
		}
	}
	// Secant steps on 1/r, kept within the bracket.
	t, tPrev, invPrev := rlo/b.Radius-1, 0.0, 1/rlo
	for range 200 {
		r = must.Get(at(t))
		if r > b.Radius {
			lo = t
		} else {
			hi = t
		}
		if math.Abs(r-b.Radius) <= tolerance || hi-lo <= 1e-15*lo {
			break
		}
		if t > 1e18 {
			return false, &EmptySetError{Rows: []string{b.Name}, Lower: on.joint}
		}
		slope := (1/r - invPrev) / (t - tPrev)
		tPrev, invPrev = t, 1/r
		next := t + (1/b.Radius-1/r)/slope
		if !(next > lo && next < hi) {
			if math.IsInf(hi, 1) {
				next = 2*t + 1
			} else {
				next = (lo + hi) / 2
			}
		}
		t = next
	}
	return math.Abs(theta[k]-start) > 1e-14*(1+start), nil
}
