package qp

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// Hessian is a factorized positive definite matrix H = U'U, n x n. It is
// immutable and may be shared.
//
// It is a dense block followed by a diagonal one, either of which may be empty.
type Hessian struct {
	n    int
	u    blas64.Triangular // the dense block's factor, u.N x u.N
	root []float64         // square roots of the diagonal block, len n - u.N
}

// Dense factorizes h; it reports false where h is not positive definite to
// working precision.
func Dense(h mat.Symmetric) (*Hessian, bool) {
	var chol mat.Cholesky
	if !chol.Factorize(h) {
		return nil, false
	}
	var u mat.TriDense
	chol.UTo(&u)
	return &Hessian{n: h.SymmetricDim(), u: u.RawTriangular()}, true
}

// Factored is the Hessian U'U of an upper triangular matrix u with a positive
// diagonal, which it keeps.
func Factored(u *mat.TriDense) *Hessian {
	t := u.RawTriangular()
	return &Hessian{n: t.N, u: t}
}

// diagonalHessian is the Hessian with the positive entries d.
func diagonalHessian(d []float64) *Hessian {
	h := &Hessian{n: len(d), root: make([]float64, len(d))}
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
func (h *Hessian) Dim() int { return h.n }

// solve overwrites v with U^-1 v.
func (h *Hessian) solve(v []float64) { h.trsv(blas.NoTrans, v) }

// solveT overwrites v with U^-T v.
func (h *Hessian) solveT(v []float64) { h.trsv(blas.Trans, v) }

func (h *Hessian) trsv(t blas.Transpose, v []float64) {
	k := h.u.N
	if k > 0 {
		blas64.Trsv(t, h.u, blas64.Vector{N: k, Data: v[:k], Inc: 1})
	}
	for i, r := range h.root {
		v[k+i] /= r
	}
}

// spread overwrites v, the sizes of the terms of the entries of U z, with those
// of z; where H couples variables only |z| itself is known.
func (h *Hessian) spread(v, z []float64) {
	k := h.u.N
	for j := range v[:k] {
		v[j] = math.Abs(z[j])
	}
	for i, r := range h.root {
		v[k+i] /= r
	}
}

func resize(v []float64, n int) []float64 {
	if cap(v) < n {
		return make([]float64, n)
	}
	v = v[:n]
	for i := range v {
		v[i] = 0
	}
	return v
}

func resizeBool(v []bool, n int) []bool {
	if cap(v) < n {
		return make([]bool, n)
	}
	v = v[:n]
	for i := range v {
		v[i] = false
	}
	return v
}
