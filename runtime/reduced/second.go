package reduced

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// newton is a direction of the Newton step along the equations by conjugate gradients, or a direction of negative curvature along which F falls, of an accuracy that follows the gradient, which lets them converge superlinearly (Eisenstat and Walker 1996), and is tolerance.Target in the end: two or three steps reach the tolerance of the method where f is quadratic and no kink is in the way.
func (p *piece) newton(j *judged) []float64 {
	nw := p.f.nw
	move, curve := newPoint(nw, p.f.n, len(p.p.Duals)), newPoint(nw, p.f.n, len(p.p.Duals))
	// Exact arithmetic takes nw steps; rounding some times that.
	d := conjugate(slices.Clone(j.step), 10*nw+10, math.Max(tolerance.Target, math.Min(tolerance.Forcing, j.stationarity())), func(h, v []float64) {
		p.forward(move, v)
		p.calc.product(curve, move)
		p.reduced(h, curve)
		j.project(h)
		p.products++
	}, func(h, v []float64) float64 { return tolerance.NoCurvature * linalg.Dot(v, v) * j.curvature(h, v) })
	j.project(d)
	return d
}

func (j *judged) curvature(h, v []float64) float64 {
	return linalg.Norm(h) / math.Max(linalg.Norm(v), 1e-300)
}

// curved looks for a direction of negative curvature along the manifold by Lanczos's method with full orthogonalization, in a space whose eigenvalues cost little; nil where it finds none.
func (p *piece) curved(j *judged) ([]float64, kkt.SecondOrder) {
	if p.convex {
		return nil, kkt.Holds
	}
	nw := p.f.nw
	start := scattered(nw)
	j.project(start)
	j.project(start)
	length := linalg.Norm(start)
	if length <= rounding {
		return nil, kkt.Holds // no direction
	}
	floats.Scale(1/length, start)
	basis := [][]float64{start}
	var diag, off []float64
	move, curve := newPoint(nw, p.f.n, len(p.p.Duals)), newPoint(nw, p.f.n, len(p.p.Duals))
	for k := range tolerance.DenseOrder {
		v := basis[k]
		h := make([]float64, nw)
		p.forward(move, v)
		p.calc.product(curve, move)
		p.reduced(h, curve)
		j.project(h)
		p.products++
		diag = append(diag, linalg.Dot(v, h))
		for range 2 {
			for _, b := range basis {
				linalg.Axpy(h, -linalg.Dot(b, h), b)
			}
			j.project(h) // what rounding has left across the manifold is long where the rest is short
		}
		beta := linalg.Norm(h)
		if k == tolerance.DenseOrder-1 || beta <= rounding*(math.Abs(diag[0])+math.Abs(diag[k])) {
			break
		}
		off = append(off, beta)
		floats.Scale(1/beta, h)
		basis = append(basis, h)
	}
	k := len(diag)
	t := mat.NewSymDense(k, nil)
	for i := range k {
		t.SetSym(i, i, diag[i])
		if i+1 < k {
			t.SetSym(i, i+1, off[i])
		}
	}
	values, vectors := linalg.Eigen(t)
	if values == nil {
		return nil, kkt.NotChecked
	}
	if top := math.Max(math.Abs(values[0]), math.Abs(values[k-1])); values[0] >= -tolerance.HalfDigits*top {
		return nil, kkt.Holds
	}
	d := make([]float64, nw)
	for i := range k {
		linalg.Axpy(d, vectors.At(i, 0), basis[i])
	}
	j.project(d)
	return d, kkt.Fails
}

// scattered is some vector with parts in all directions; xorshift (Marsaglia 2003).
func scattered(n int) []float64 {
	v, state := make([]float64, n), uint64(1)
	for i := range v {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		v[i] = float64(state>>11)/(1<<53) - 0.5
	}
	return v
}
