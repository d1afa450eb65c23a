// Package oracletest has bilevel problems whose optimum is known, for the tests
// of oracles and outer methods: the public test problems and the project's own
// small models, of testdata, and problems by formulas in Go.
package oracletest

import (
	"math"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// FromFormula recovers a quadratic from its formula: the coefficients are
// combinations of its values at 0, e_i, -e_i and e_i + e_j.
func FromFormula(dx, dy int, formula func(x, y []float64) float64) *kkttest.Quadratic {
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
		q.M[i*n+i] = plus + minus - 2*q.K
		q.C[i] = (plus - minus) / 2
	}
	for i := range z {
		for j := range i {
			z[i], z[j] = 1, 1
			v := at() - q.K - q.C[i] - q.C[j] - q.M[i*n+i]/2 - q.M[j*n+j]/2
			q.M[i*n+j], q.M[j*n+i] = v, v
			z[i], z[j] = 0, 0
		}
	}
	return q
}

// NewQuadratic is 1/2 z'hz + c'z + k of z = (x, y): h is (dx+dy) x (dx+dy) and symmetric.
func NewQuadratic(dx, dy int, h, c []float64, k float64) *kkttest.Quadratic {
	return &kkttest.Quadratic{Nx: dx, Ny: dy, M: h, C: c, K: k}
}

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
