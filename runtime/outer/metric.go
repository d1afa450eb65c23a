package outer

import (
	"context"
	"slices"

	"bilevelc/internal/each"
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

// on makes the factors those of the entries that a face leaves free; false where the matrix is
// not definite there, or rows hold the face, too.
func (m *metric) on(f *face) bool {
	if f.rows.Size() > 0 {
		return false
	}
	free := each.WhereBelow(len(f.fixed), func(j int) bool { return !f.fixed[j] })
	if m.free != nil && slices.Equal(m.free, free) {
		return m.factor != nil
	}
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
	return m.factor != nil
}

// solve sets dst to the solution for the right-hand side r, 0 off the free entries.
func (m *metric) solve(dst, r []float64) {
	v := linalg.Gather(r, m.free)
	m.factor.SolveT(v)
	m.factor.Solve(v)
	clear(dst)
	linalg.Scatter(dst, m.free, v)
}

// newton is conjugate in the metric, for steps that end inside of the region: nil where one
// would leave it, where the model curves down, or where the metric does not help, so that
// half as many products as x has entries are not enough.
func (d *smoothDescent) newton(ctx context.Context, h *hessian, f *face, gradient, s []float64, enough float64) (w, hw []float64, err error) {
	if d.metric == nil || !d.metric.on(f) {
		return nil, nil, nil
	}
	n := len(s)
	w, hw = make([]float64, n), make([]float64, n)
	r, z, p, hp := linalg.Plus(w, -1, gradient), make([]float64, n), make([]float64, n), make([]float64, n)
	last := 0.0
	for range max(1, n/2) {
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		d.metric.solve(z, r)
		rz := linalg.Dot(r, z)
		if !(rz > 0) {
			return nil, nil, nil
		}
		for j := range p {
			if p[j] = z[j] + p[j]*last*rz; last == 0 {
				p[j] = z[j]
			}
		}
		last = 1 / rz
		h.Apply(hp, p)
		curvature := linalg.Dot(p, hp)
		if !(curvature > 0) {
			return nil, nil, nil
		}
		t := rz / curvature
		w, hw = linalg.Plus(w, t, p), linalg.Plus(hw, t, hp)
		if linalg.Norm(linalg.Plus(s, 1, w)) > d.radius {
			return nil, nil, nil
		}
		copy(r, hw)
		for j := range r {
			r[j] = -gradient[j] - r[j]
		}
		f.project(r)
		if linalg.Norm(r) <= enough {
			return w, hw, nil
		}
	}
	return nil, nil, nil
}

// formed takes the matrix of a point over as the metric, once there is one.
func (d *smoothDescent) formed(h *hessian) {
	if h.full != nil && (d.metric == nil || d.metric.of != h) {
		d.metric = &metric{of: h, full: h.full}
	}
}
