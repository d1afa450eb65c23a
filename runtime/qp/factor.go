package qp

import (
	"math"

	"bilevelc/runtime/linalg"
)

// Hessian is a factorized positive definite matrix H = U'U, n x n: a dense one, or a
// diagonal. It is immutable and may be shared.
type Hessian struct {
	dense *linalg.Cholesky // nil for a diagonal
	root  []float64        // square roots of the diagonal
}

// Factored is the Hessian that c factorizes.
func Factored(c *linalg.Cholesky) *Hessian { return &Hessian{dense: c} }

// diagonalHessian is the Hessian with the positive entries d.
func diagonalHessian(d []float64) *Hessian {
	h := &Hessian{root: make([]float64, len(d))}
	for i, v := range d {
		h.root[i] = math.Sqrt(v)
	}
	return h
}

// Identity is the n x n identity.
func Identity(n int) *Hessian {
	d := make([]float64, n)
	for i := range d {
		d[i] = 1
	}
	return diagonalHessian(d)
}

// Dim is n.
func (h *Hessian) Dim() int {
	if h.dense != nil {
		return h.dense.Dim()
	}
	return len(h.root)
}

// solve overwrites v with U^-1 v.
func (h *Hessian) solve(v []float64) {
	if h.dense != nil {
		h.dense.Solve(v)
	}
	h.unroot(v)
}

// solveT overwrites v with U^-T v.
func (h *Hessian) solveT(v []float64) {
	if h.dense != nil {
		h.dense.SolveT(v)
	}
	h.unroot(v)
}

func (h *Hessian) unroot(v []float64) {
	for i, r := range h.root {
		v[i] /= r
	}
}

// sizesOfSolution overwrites v, the sizes of the terms of the entries of U z, with those
// of z; where H couples variables only |z| itself is known.
func (h *Hessian) sizesOfSolution(v, z []float64) {
	if h.dense != nil {
		for j, t := range z {
			v[j] = math.Abs(t)
		}
	}
	h.unroot(v)
}
