package oracle

import (
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/problem"
)

// Smoothed is the hyperobjective of a follower that minimizes g + tau/2 |y|^2 over the
// same rows; nil where the leader has constraints that read y. The larger tau the less
// the follower reacts to x: kinks of F grow weaker and lie further apart, and the small
// local minima between them vanish. Calls to f and g are counted as those of h, whose
// solver it shares.
func (h *Hyper) Smoothed(tau float64) Hyperobjective {
	if h.p.Coupled != nil {
		return nil
	}
	p := *h.p
	p.G = &regularized{h.p.G, tau}
	p.Parts = slices.Clone(h.p.Parts)
	for k, part := range p.Parts {
		p.Parts[k] = &regularized{part, tau}
	}
	if p.Facts.StrongConvexity > 0 {
		p.Facts.StrongConvexity += tau
	}
	if p.Facts.Smoothness > 0 {
		p.Facts.Smoothness += tau
	}
	s := New(&p, h.solver, h.oracle)
	s.projector = h.Projector()
	if h.learned.Complete() {
		s.learned = shifted(h.learned, tau)
	}
	return s
}

// shifted is the memory of H + tau I.
func shifted(m *lower.Memory, tau float64) *lower.Memory {
	packed := slices.Clone(m.Upper())
	for i, at := 0, 0; i < m.N; i++ {
		packed[at] += tau
		at += m.N - i
	}
	return &lower.Memory{N: m.N, Packed: packed}
}

// Curvature measures the curvature of g in y at the lower solution of a point, along a
// direction without a pattern.
func (h *Hyper) Curvature(pt *Point) float64 {
	y := pt.Lower.Y
	base, moved, z := make([]float64, len(y)), make([]float64, len(y)), make([]float64, len(y))
	h.p.G.GradY(base, pt.X, y)
	at := &At{Problem: h.p, X: pt.X, Lower: pt.Lower}
	share, length := shares(2), 0x1p-20*at.size()
	for j, v := range y {
		z[j] = v + length*share()
	}
	h.p.G.GradY(moved, pt.X, z)
	return linalg.Distance(moved, base) / linalg.Distance(z, y)
}

// regularized is g + tau/2 |y|^2.
type regularized struct {
	g   problem.Function
	tau float64
}

func (r *regularized) half(y []float64) float64 { return r.tau / 2 * linalg.Dot(y, y) }

func (r *regularized) Value(x, y []float64) float64 { return r.g.Value(x, y) + r.half(y) }

func (r *regularized) GradX(dst, x, y []float64) { r.g.GradX(dst, x, y) }

func (r *regularized) GradY(dst, x, y []float64) {
	r.g.GradY(dst, x, y)
	linalg.Axpy(dst, r.tau, y)
}

func (r *regularized) ValueGradY(dst, x, y []float64) float64 {
	v := r.g.ValueGradY(dst, x, y)
	linalg.Axpy(dst, r.tau, y)
	return v + r.half(y)
}

func (r *regularized) ValueGrad(dstX, dstY, x, y []float64) float64 {
	v := r.g.ValueGrad(dstX, dstY, x, y)
	linalg.Axpy(dstY, r.tau, y)
	return v + r.half(y)
}

func (r *regularized) Clone() problem.Function { return &regularized{r.g.Clone(), r.tau} }
