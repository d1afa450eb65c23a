package qp

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"bilevelc/runtime/linalg"
)

// Curvature is the positive definite matrix H of a Model, n x n: a positive diagonal
// plus W M W' of low rank r, or, for few variables, a full matrix. It is immutable
// and may be shared. Products cost O(n r), restrictions to some of the variables
// O(n r^2), memory is O(n r); a full matrix of k variables costs k^2 and k^3.
type Curvature struct {
	n        int
	diagonal []float64     // len n; not read where full is
	w        [][]float64   // r columns, of len <= n: further entries are 0
	m        *mat.SymDense // r x r, indefinite in general
	full     *mat.SymDense // of the leading variables, in place of the rest; or nil
}

// DiagonalCurvature is the matrix with the positive entries d, which it keeps.
func DiagonalCurvature(d []float64) *Curvature { return &Curvature{n: len(d), diagonal: d} }

// LowRankCurvature is diag(d) + W M W', which must be positive definite, with the
// columns of W in w, of len(d) each. It keeps its arguments.
func LowRankCurvature(d []float64, w [][]float64, m *mat.SymDense) *Curvature {
	return &Curvature{n: len(d), diagonal: d, w: w, m: m}
}

// FullCurvature is the positive definite matrix h, which it keeps.
func FullCurvature(h *mat.SymDense) *Curvature {
	n := h.SymmetricDim()
	return &Curvature{n: n, diagonal: make([]float64, n), full: h}
}

// identity is the n x n identity.
func identity(n int) *Curvature {
	d := make([]float64, n)
	for j := range d {
		d[j] = 1
	}
	return DiagonalCurvature(d)
}

// extended is h with k more variables of curvature v, not coupled to others.
func (h *Curvature) extended(k int, v float64) *Curvature {
	out := *h
	out.n += k
	out.diagonal = append(make([]float64, 0, out.n), h.diagonal...)
	for range k {
		out.diagonal = append(out.diagonal, v)
	}
	return &out
}

// dense is the number of variables of the full matrix.
func (h *Curvature) dense() int {
	if h.full == nil {
		return 0
	}
	return h.full.SymmetricDim()
}

// least is the smallest diagonal entry of H: an upper bound of its least eigenvalue,
// and near it where H is nearly diagonal.
func (h *Curvature) least() float64 {
	k, r := h.dense(), math.Inf(1)
	for j := 0; j < k; j++ {
		r = math.Min(r, h.full.At(j, j))
	}
	for j := k; j < h.n; j++ {
		v := h.diagonal[j]
		for a := range h.w {
			if j >= len(h.w[a]) {
				break
			}
			for b := range h.w {
				v += h.w[a][j] * h.m.At(a, b) * h.w[b][j]
			}
		}
		r = math.Min(r, v)
	}
	return r
}

// multiply sets dst to H v.
func (h *Curvature) multiply(dst, v []float64) {
	k := h.dense()
	if k > 0 {
		blas64.Symv(1, h.full.RawSymmetric(), blas64.Vector{N: k, Data: v, Inc: 1}, 0, blas64.Vector{N: k, Data: dst, Inc: 1})
	}
	for j := k; j < h.n; j++ {
		dst[j] = h.diagonal[j] * v[j]
	}
	if len(h.w) == 0 {
		return
	}
	c := make([]float64, len(h.w))
	for a, col := range h.w {
		c[a] = linalg.Dot(col, v[:len(col)])
	}
	for a, col := range h.w {
		t := 0.0
		for b, v := range c {
			t += h.m.At(a, b) * v
		}
		linalg.Axpy(dst[:len(col)], t, col)
	}
}

// metric is the restriction of a Curvature to some variables, factorized as U'U. A
// full block has its Cholesky factor. Otherwise, with D^-1/2 W = Z T, the columns of
// Z orthonormal,
//
//	U = (I + Z (R - I) Z') D^1/2,  R'R = I + T M T',
//
// so that all products with U^-1 go through orthogonal matrices and triangles.
type metric struct {
	k    int              // variables of the full block
	u    *linalg.Cholesky // its factor
	root []float64        // square roots of the diagonal of the others
	z    linalg.QR        // orthonormal columns, of len(root) each
	r    *linalg.Cholesky // z.Size() x z.size
	c, t []float64        // scratch
}

// restrict factorizes H on the free variables, ascending; it reports false where that
// is not positive definite to working precision.
func (m *metric) restrict(h *Curvature, free []int) bool {
	m.k = 0
	for d := h.dense(); m.k < len(free) && free[m.k] < d; m.k++ {
	}
	if m.k > 0 {
		block := make([]float64, m.k*m.k)
		for a, i := range free[:m.k] {
			for b := a; b < m.k; b++ {
				block[a*m.k+b] = h.full.At(i, free[b])
			}
		}
		var ok bool
		if m.u, ok = linalg.NewCholesky(m.k, block); !ok {
			return false
		}
	}
	rest := free[m.k:]
	m.root = linalg.Cleared(m.root, len(rest))
	for a, j := range rest {
		m.root[a] = math.Sqrt(h.diagonal[j])
	}
	m.z.Reset(len(rest))
	if len(h.w) == 0 || len(rest) == 0 {
		return true
	}
	return m.form(h, rest)
}

// form builds Z and R.
func (m *metric) form(h *Curvature, rest []int) bool {
	r := len(h.w)
	t := mat.NewDense(r, r, nil)
	column, coef, left := make([]float64, len(rest)), make([]float64, r), make([]float64, len(rest))
	for b, w := range h.w {
		for a, j := range rest {
			column[a] = 0
			if j < len(w) {
				column[a] = w[j] / m.root[a]
			}
		}
		size := linalg.Norm(column)
		// What rounding leaves of a column that depends on others is none of its own.
		away := m.z.Split(column, coef, left)
		for a := range m.z.Size() {
			t.Set(a, b, coef[a])
		}
		if away > 1e-14*size && m.z.Size() < len(rest) {
			t.Set(m.z.Size(), b, away)
			m.z.Push(coef, left, away)
		}
	}
	s := m.z.Size()
	if s == 0 {
		return true
	}
	var tm, tmt mat.Dense
	tm.Mul(t.Slice(0, s, 0, r), h.m)
	tmt.Mul(&tm, t.Slice(0, s, 0, r).T())
	inner := make([]float64, s*s)
	for a := range s {
		for b := a; b < s; b++ {
			v := (tmt.At(a, b) + tmt.At(b, a)) / 2
			if a == b {
				v++
			}
			inner[a*s+b] = v
		}
	}
	var ok bool
	m.r, ok = linalg.NewCholesky(s, inner)
	return ok
}

// solve overwrites v with U^-1 v.
func (m *metric) solve(v []float64) {
	if m.k > 0 {
		m.u.Solve(v[:m.k])
	}
	m.lowRank((*linalg.Cholesky).Solve, v[m.k:])
	for i, r := range m.root {
		v[m.k+i] /= r
	}
}

// solveT overwrites v with U^-T v.
func (m *metric) solveT(v []float64) {
	if m.k > 0 {
		m.u.SolveT(v[:m.k])
	}
	for i, r := range m.root {
		v[m.k+i] /= r
	}
	m.lowRank((*linalg.Cholesky).SolveT, v[m.k:])
}

// lowRank overwrites v with (I + Z (R^-1 - I) Z') v, or the same of R^-T.
func (m *metric) lowRank(solve func(*linalg.Cholesky, []float64), v []float64) {
	s := m.z.Size()
	if s == 0 {
		return
	}
	m.c, m.t = linalg.Cleared(m.c, s), linalg.Cleared(m.t, s)
	m.z.Coordinates(m.c, v)
	copy(m.t, m.c)
	solve(m.r, m.t)
	for a, t := range m.c {
		m.t[a] -= t
	}
	m.z.AddScaled(v, 1, m.t)
}
