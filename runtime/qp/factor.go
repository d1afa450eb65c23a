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

// factor is a thin factorization G = QR of the working set's normals: q holds
// the orthonormal columns (len n each), r the columns of R (column j has j+1
// entries). Columns beyond size are kept as spare memory.
type factor struct {
	n, size int
	q, r    [][]float64
}

func (f *factor) reset(n int) {
	if f.n != n {
		f.q, f.r = nil, nil
	}
	f.n, f.size = n, 0
}

// split writes v as Q coef + rest with rest orthogonal to Q, and returns
// |rest|. Two sweeps of Gram-Schmidt suffice ("twice is enough", Kahan); a third
// is taken where the second still cancels.
func (f *factor) split(v, coef, rest []float64) float64 {
	copy(rest, v)
	for i := 0; i < f.size; i++ {
		coef[i] = 0
	}
	size := norm2(rest)
	for sweep := 0; sweep < 3; sweep++ {
		for i := 0; i < f.size; i++ {
			c := dot(f.q[i], rest)
			coef[i] += c
			axpy(rest, -c, f.q[i])
		}
		after := norm2(rest)
		if after > 0.7*size {
			return after
		}
		size = after
	}
	return size
}

// push appends the vector that split has just written as coef and rest.
func (f *factor) push(coef, rest []float64, norm float64) {
	j := f.size
	if j == len(f.q) {
		f.q = append(f.q, make([]float64, f.n))
		f.r = append(f.r, nil)
	}
	for i, v := range rest {
		f.q[j][i] = v / norm
	}
	f.r[j] = append(append(f.r[j][:0], coef[:j]...), norm)
	f.size++
}

// drop removes column k and restores the triangle by Givens rotations.
func (f *factor) drop(k int) {
	spareR := f.r[k]
	copy(f.r[k:f.size-1], f.r[k+1:f.size])
	f.r[f.size-1] = spareR
	f.size--
	for j := k; j < f.size; j++ {
		// Column j has one entry too many, at row j+1.
		c, s, r, _ := blas64.Rotg(f.r[j][j], f.r[j][j+1])
		f.r[j][j] = r
		f.r[j] = f.r[j][:j+1]
		for t := j + 1; t < f.size; t++ {
			x, y := f.r[t][j], f.r[t][j+1]
			f.r[t][j], f.r[t][j+1] = c*x+s*y, c*y-s*x
		}
		a, b := f.q[j], f.q[j+1]
		for i := range a {
			x, y := a[i], b[i]
			a[i], b[i] = c*x+s*y, c*y-s*x
		}
	}
}

// solveR overwrites v (len size) with R^-1 v.
func (f *factor) solveR(v []float64) {
	for j := f.size - 1; j >= 0; j-- {
		col := f.r[j]
		v[j] /= col[j]
		axpy(v[:j], -v[j], col[:j])
	}
}

// solveRT overwrites v (len size) with R^-T v.
func (f *factor) solveRT(v []float64) {
	for j := 0; j < f.size; j++ {
		col := f.r[j]
		v[j] = (v[j] - dot(col[:j], v[:j])) / col[j]
	}
}

func dot(a, b []float64) float64 {
	return blas64.Dot(blas64.Vector{N: len(a), Data: a, Inc: 1}, blas64.Vector{N: len(a), Data: b, Inc: 1})
}

func axpy(dst []float64, alpha float64, a []float64) {
	blas64.Axpy(alpha, blas64.Vector{N: len(dst), Data: a, Inc: 1}, blas64.Vector{N: len(dst), Data: dst, Inc: 1})
}

func norm2(a []float64) float64 {
	return blas64.Nrm2(blas64.Vector{N: len(a), Data: a, Inc: 1})
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
