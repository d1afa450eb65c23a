package linalg

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// LBFGS is the limited-memory BFGS approximation of an inverse Hessian
// (Nocedal 1980), on the entries that are free to move.
type LBFGS struct {
	n, memory int
	s, y      []float64 // memory x n, a ring: steps and gradient differences
	rho       []float64 // 1 / s'y
	alpha     []float64
	count     int     // pairs stored
	next      int     // where the next goes
	scale     float64 // of the initial matrix: s'y / y'y of the last pair
}

// Reset forgets all pairs: what is left is scale times the identity, of size n. Up to memory pairs
// are kept from then on.
func (l *LBFGS) Reset(n, memory int, scale float64) {
	l.n, l.memory, l.scale = n, memory, scale
	l.s, l.y = Cleared(l.s, memory*n), Cleared(l.y, memory*n)
	l.rho, l.alpha = Cleared(l.rho, memory), Cleared(l.alpha, memory)
	l.count, l.next = 0, 0
}

// Update stores the pair of a step from x0, where the gradient is g0, to x1, where it is g1. A pair without
// positive curvature beyond rounding is left out.
func (l *LBFGS) Update(x0, g0, x1, g1 []float64) {
	s, y := l.pair(l.next)
	for j := range s {
		s[j], y[j] = x1[j]-x0[j], g1[j]-g0[j]
	}
	sy, yy := Dot(s, y), Dot(y, y)
	if !(sy > 0x1p-53*math.Sqrt(Dot(s, s)*yy)) {
		return
	}
	l.rho[l.next] = 1 / sy
	l.scale = sy / yy
	l.next = (l.next + 1) % l.memory
	l.count = min(l.count+1, l.memory)
}

func (l *LBFGS) pair(k int) (s, y []float64) { return l.s[k*l.n : (k+1)*l.n], l.y[k*l.n : (k+1)*l.n] }

// Direction sets d to minus the approximate inverse Hessian times grad, both
// on the free entries, by the two-loop recursion.
func (l *LBFGS) Direction(d, grad []float64, free []bool) {
	for j, t := range grad {
		d[j] = 0
		if free[j] {
			d[j] = -t
		}
	}
	for t := 1; t <= l.count; t++ {
		k := (l.next - t + l.memory) % l.memory
		s, y := l.pair(k)
		l.alpha[k] = l.rho[k] * Dot(s, d)
		Axpy(d, -l.alpha[k], y)
	}
	floats.Scale(l.scale, d)
	for t := l.count; t >= 1; t-- {
		k := (l.next - t + l.memory) % l.memory
		s, y := l.pair(k)
		Axpy(d, l.alpha[k]-l.rho[k]*Dot(y, d), s)
	}
	for j, ok := range free {
		if !ok {
			d[j] = 0
		}
	}
}
