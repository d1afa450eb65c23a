// Package oracletest has bilevel problems whose optimum is known, for the tests
// of oracles and outer methods: the public test problems and the project's own
// small models, of testdata, and problems by formulas in Go.
package oracletest

import (
	"math"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// Quadratic is 1/2 z'Hz + c'z + k with z = (x, y).
type Quadratic struct {
	dx, dy int
	h      []float64 // (dx+dy) x (dx+dy), row-major, symmetric
	c      []float64
	k      float64
	z, hz  []float64
}

// FromFormula recovers a quadratic from its formula: the coefficients are
// combinations of its values at 0, e_i, -e_i and e_i + e_j.
func FromFormula(dx, dy int, formula func(x, y []float64) float64) *Quadratic {
	n := dx + dy
	z := make([]float64, n)
	at := func() float64 { return formula(z[:dx], z[dx:]) }
	q := NewQuadratic(dx, dy, make([]float64, n*n), make([]float64, n), at())
	for i := range z {
		z[i] = 1
		plus := at()
		z[i] = -1
		minus := at()
		z[i] = 0
		q.h[i*n+i] = plus + minus - 2*q.k
		q.c[i] = (plus - minus) / 2
	}
	for i := range z {
		for j := range i {
			z[i], z[j] = 1, 1
			v := at() - q.k - q.c[i] - q.c[j] - q.h[i*n+i]/2 - q.h[j*n+j]/2
			q.h[i*n+j], q.h[j*n+i] = v, v
			z[i], z[j] = 0, 0
		}
	}
	return q
}

// NewQuadratic takes the coefficients: h is (dx+dy) x (dx+dy) and symmetric.
func NewQuadratic(dx, dy int, h, c []float64, k float64) *Quadratic {
	return &Quadratic{dx: dx, dy: dy, h: h, c: c, k: k, z: make([]float64, dx+dy), hz: make([]float64, dx+dy)}
}

func (q *Quadratic) evaluate(x, y []float64) float64 {
	copy(q.z, x)
	copy(q.z[q.dx:], y)
	n := len(q.z)
	v := q.k
	for i := range q.hz {
		s := 0.0
		for j, h := range q.h[i*n : (i+1)*n] {
			s += h * q.z[j]
		}
		v += q.z[i] * (s/2 + q.c[i])
		q.hz[i] = s + q.c[i]
	}
	return v
}

// Value implements problem.Function.
func (q *Quadratic) Value(x, y []float64) float64 { return q.evaluate(x, y) }

// GradX implements problem.Function.
func (q *Quadratic) GradX(dst, x, y []float64) { q.evaluate(x, y); copy(dst, q.hz[:q.dx]) }

// GradY implements problem.Function.
func (q *Quadratic) GradY(dst, x, y []float64) { q.evaluate(x, y); copy(dst, q.hz[q.dx:]) }

// ValueGradY implements problem.Function.
func (q *Quadratic) ValueGradY(dst, x, y []float64) float64 {
	v := q.evaluate(x, y)
	copy(dst, q.hz[q.dx:])
	return v
}

// ValueGrad implements problem.Function.
func (q *Quadratic) ValueGrad(dstX, dstY, x, y []float64) float64 {
	v := q.evaluate(x, y)
	copy(dstX, q.hz[:q.dx])
	copy(dstY, q.hz[q.dx:])
	return v
}

// Clone implements problem.Function.
func (q *Quadratic) Clone() problem.Function { return NewQuadratic(q.dx, q.dy, q.h, q.c, q.k) }

// RowsFromFormula recovers the affine rows whose values formula returns, <= 0
// where the name does not start with "=", and = 0 where it does.
func RowsFromFormula(dx, dy int, names []string, formula func(x, y []float64) []float64) *problem.Rows {
	m := len(names)
	r := &problem.Rows{Kind: make([]problem.Kind, m), A: sparse.FromDense(m, dx, make([]float64, m*dx)),
		B: sparse.FromDense(m, dy, make([]float64, m*dy)), Rhs: make([]float64, m), Name: names}
	if m == 0 {
		return r
	}
	x, y := make([]float64, dx), make([]float64, dy)
	zero := append([]float64(nil), formula(x, y)...)
	a, b := make([]float64, m*dx), make([]float64, m*dy)
	for j := range x {
		x[j] = 1
		for i, v := range formula(x, y) {
			a[i*dx+j] = v - zero[i]
		}
		x[j] = 0
	}
	for j := range y {
		y[j] = 1
		for i, v := range formula(x, y) {
			b[i*dy+j] = zero[i] - v
		}
		y[j] = 0
	}
	for i, name := range names {
		r.Rhs[i] = -zero[i]
		if name[0] == '=' {
			r.Kind[i] = problem.Equal
		}
	}
	r.A, r.B = sparse.FromDense(m, dx, a), sparse.FromDense(m, dy, b)
	return r
}

// Box is X with bounds alone.
func Box(dx int, lo, hi float64) *problem.Set {
	s := &problem.Set{Lo: make([]float64, dx), Hi: make([]float64, dx), E: sparse.FromDense(0, dx, nil)}
	for j := range s.Lo {
		s.Lo[j], s.Hi[j] = lo, hi
	}
	return s
}

// Free is the whole space.
func Free(dx int) *problem.Set { return Box(dx, math.Inf(-1), math.Inf(1)) }
