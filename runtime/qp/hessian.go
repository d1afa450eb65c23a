package qp

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/each"
	"bilevelc/runtime/linalg"
)

// Hessian is a positive definite matrix H, n x n: a positive diagonal plus W M W' of low
// rank r, or, for few variables, a factorized one. It is immutable and may be shared.
// Products cost O(n r), restrictions to some of the variables O(n r^2), memory is O(n r);
// a factorized block is not restricted.
type Hessian struct {
	n        int
	diagonal []float64        // len n; not read in the block
	w        [][]float64      // r columns, of len <= n: further entries are 0
	m        *mat.SymDense    // r x r, indefinite in general
	block    *linalg.Cholesky // of the leading variables, in place of the rest; or nil
}

// Diagonal is the Hessian with the positive entries d, which it keeps.
func Diagonal(d []float64) *Hessian { return &Hessian{n: len(d), diagonal: d} }

// LowRank is diag(d) + W M W', which must be positive definite, with the
// columns of W in w, of len(d) each. It keeps its arguments.
func LowRank(d []float64, w [][]float64, m *mat.SymDense) *Hessian {
	return &Hessian{n: len(d), diagonal: d, w: w, m: m}
}

// Factored is the Hessian that c factorizes.
func Factored(c *linalg.Cholesky) *Hessian {
	return &Hessian{n: c.Dim(), diagonal: make([]float64, c.Dim()), block: c}
}

// Identity is the n x n identity.
func Identity(n int) *Hessian { return Diagonal(slices.Repeat([]float64{1}, n)) }

// extended is h with k more variables of curvature v, not coupled to others.
func (h *Hessian) extended(k int, v float64) *Hessian {
	out := *h
	out.n += k
	out.diagonal = slices.Concat(h.diagonal, slices.Repeat([]float64{v}, k))
	return &out
}

// Dim is n.
func (h *Hessian) Dim() int { return h.n }

// dense is the number of variables of the block.
func (h *Hessian) dense() int {
	if h.block == nil {
		return 0
	}
	return h.block.Dim()
}

// couples reports whether H couples variables.
func (h *Hessian) couples() bool { return h.block != nil || len(h.w) > 0 }

// least is the smallest diagonal entry of H: an upper bound of its least eigenvalue,
// and near it where H is nearly diagonal.
func (h *Hessian) least() float64 {
	k, least := h.dense(), math.Inf(1)
	e := make([]float64, h.n)
	for j := range k {
		e[j] = 1
		least = math.Min(least, h.quadratic(e))
		e[j] = 0
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
		least = math.Min(least, v)
	}
	return least
}

// quadratic is v'Hv.
func (h *Hessian) quadratic(v []float64) float64 {
	hv := make([]float64, h.n)
	h.multiply(hv, v)
	s := linalg.Dot(hv, v)
	if k := h.dense(); k > 0 {
		h.block.Multiply(hv[:k], v[:k])
		s += linalg.Dot(hv[:k], hv[:k])
	}
	return s
}

// multiply sets dst to H v, at the entries of the block to 0.
func (h *Hessian) multiply(dst, v []float64) {
	k := h.dense()
	clear(dst[:k])
	for j := k; j < h.n; j++ {
		dst[j] = h.diagonal[j] * v[j]
	}
	if len(h.w) == 0 {
		return
	}
	c := each.Of(h.w, func(col []float64) float64 { return linalg.Dot(col, v[:len(col)]) })
	for a, col := range h.w {
		t := each.SumBelow(len(c), func(b int) float64 { return h.m.At(a, b) * c[b] })
		linalg.Axpy(dst[:len(col)], t, col)
	}
}

// metric is the restriction of a Hessian to some variables, all of its block among them, factorized as U'U. The
// block has its Cholesky factor. Otherwise, with D^-1/2 W = Z T, the columns of
// Z orthonormal,
//
//	U = (I + Z (R - I) Z') D^1/2,  R'R = I + T M T',
//
// so that all products with U^-1 go through orthogonal matrices and triangles.
type metric struct {
	k    int              // variables of the block
	u    *linalg.Cholesky // its factor
	root []float64        // square roots of the diagonal of the others
	z    linalg.QR        // orthonormal columns, of len(root) each
	r    *linalg.Cholesky // z.Size() x z.size
	c, t []float64        // scratch
}

// restrict factorizes H on the free variables, ascending; it reports false where that
// is not positive definite to working precision.
func (m *metric) restrict(h *Hessian, free []int) bool {
	m.k, m.u = h.dense(), h.block
	rest := free[m.k:]
	m.root = linalg.Cleared(m.root, len(rest))
	for a, j := range rest {
		if !(h.diagonal[j] > 0) {
			return false
		}
		m.root[a] = math.Sqrt(h.diagonal[j])
	}
	m.z.Reset(len(rest))
	if len(h.w) == 0 || len(rest) == 0 {
		return true
	}
	return m.form(h, rest)
}

// form builds Z and R.
func (m *metric) form(h *Hessian, rest []int) bool {
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
	floats.Sub(m.t, m.c)
	m.z.AddScaled(v, 1, m.t)
}
