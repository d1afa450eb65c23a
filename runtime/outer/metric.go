package outer

import (
	"slices"

	"bilevelc/runtime/linalg"
)

// metric is a second derivative of F_mu as a matrix, at a point that the descent has passed:
// what conjugate gradients at the next ones are preconditioned with. A minimizer of F_mu that
// is followed takes a few steps for each mu, all of them near one another.
type metric struct {
	of     *hessian // that it was formed for
	full   []float64
	free   []int // the entries that its factors are of
	factor *linalg.Cholesky
}

// on is the metric with the factors of the entries that a face leaves free; nil where there is none, the matrix is
// not definite there, or rows hold the face, too.
func (m *metric) on(f *face) *metric {
	if m == nil || f.rows.Size() > 0 {
		return nil
	}
	var free []int
	for j, fixed := range f.fixed {
		if !fixed {
			free = append(free, j)
		}
	}
	if m.free == nil || !slices.Equal(m.free, free) {
		n, k := len(f.fixed), len(free)
		h := make([]float64, k*k)
		for a, i := range free {
			for b, j := range free {
				h[a*k+b] = m.full[i*n+j]
			}
		}
		m.free, m.factor = free, nil
		if c, ok := linalg.NewCholesky(k, h); ok {
			m.factor = c
		}
	}
	if m.factor == nil {
		return nil
	}
	return m
}

// solve sets dst to the solution for the right-hand side r, 0 off the free entries.
func (m *metric) solve(dst, r []float64) {
	v := make([]float64, len(m.free))
	for a, j := range m.free {
		v[a] = r[j]
	}
	m.factor.SolveT(v)
	m.factor.Solve(v)
	clear(dst)
	for a, j := range m.free {
		dst[j] = v[a]
	}
}

// formed takes the matrix of a point over as the metric, once there is one.
func (d *smoothDescent) formed(h *hessian) {
	if h.full != nil && (d.metric == nil || d.metric.of != h) {
		d.metric = &metric{of: h, full: h.full}
	}
}
