package lower

import (
	"math"

	"bilevelc/runtime/linalg"
)

// lbfgs is the limited-memory BFGS approximation of an inverse Hessian
// (Nocedal 1980), on the entries of y that are free to move.
type lbfgs struct {
	n, memory int
	s, y      []float64 // memory x n, a ring: steps and gradient differences
	rho       []float64 // 1 / s'y
	alpha     []float64
	count     int     // pairs stored
	next      int     // where the next goes
	scale     float64 // of the initial matrix: s'y / y'y of the last pair
}

func (l *lbfgs) reset(n, memory int, scale float64) {
	l.n, l.memory, l.scale = n, memory, scale
	l.s, l.y = resize(l.s, memory*n), resize(l.y, memory*n)
	l.rho, l.alpha = resize(l.rho, memory), resize(l.alpha, memory)
	l.count, l.next = 0, 0
}

// update stores the pair of a step from (y0, g0) to (y1, g1). A pair without
// positive curvature beyond rounding is left out.
func (l *lbfgs) update(y0, g0, y1, g1 []float64) {
	s, y := l.pair(l.next)
	for j := range s {
		s[j], y[j] = y1[j]-y0[j], g1[j]-g0[j]
	}
	bend, yy := linalg.Dot(s, y), linalg.Dot(y, y)
	if !(bend > roundingUnit*math.Sqrt(linalg.Dot(s, s)*yy)) {
		return
	}
	l.rho[l.next] = 1 / bend
	l.scale = bend / yy
	l.next = (l.next + 1) % l.memory
	l.count = min(l.count+1, l.memory)
}

func (l *lbfgs) pair(k int) (s, y []float64) { return l.s[k*l.n : (k+1)*l.n], l.y[k*l.n : (k+1)*l.n] }

// direction sets d to minus the approximate inverse Hessian times grad, both
// on the free entries, by the two-loop recursion.
func (l *lbfgs) direction(d, grad []float64, free []bool) {
	for j, t := range grad {
		d[j] = 0
		if free[j] {
			d[j] = -t
		}
	}
	for t := 1; t <= l.count; t++ {
		k := (l.next - t + l.memory) % l.memory
		s, y := l.pair(k)
		l.alpha[k] = l.rho[k] * linalg.Dot(s, d)
		linalg.Axpy(d, -l.alpha[k], y)
	}
	for j := range d {
		d[j] *= l.scale
	}
	for t := l.count; t >= 1; t-- {
		k := (l.next - t + l.memory) % l.memory
		s, y := l.pair(k)
		linalg.Axpy(d, l.alpha[k]-l.rho[k]*linalg.Dot(y, d), s)
	}
	for j, ok := range free {
		if !ok {
			d[j] = 0
		}
	}
}
