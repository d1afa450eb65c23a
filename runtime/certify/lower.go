package certify

import (
	"math"

	"bilevelc/runtime/problem"
)

// Evaluate returns the KKT residuals at (x, y, lambda), and the sizes that
// each is to be compared with: those of the terms whose difference it is.
func Evaluate(p *problem.Problem, x, y, lambda []float64) (residuals, scale problem.Residuals) {
	grad, force := make([]float64, p.Dy), make([]float64, p.Dy)
	p.G.Clone().GradY(grad, x, y)
	p.Rows.B.AddMulVecT(force, 1, lambda)
	scale = problem.Residuals{Stationarity: 1 + maxAbs(grad) + maxAbs(force), Primal: 1, Dual: 1 + maxAbs(lambda)}
	for j, g := range grad {
		residuals.Stationarity = larger(residuals.Stationarity, math.Abs(g-force[j]))
	}
	h := make([]float64, p.Rows.Len())
	p.Rows.Residual(h, x, y)
	for i, v := range h {
		_, a := p.Rows.A.Row(i)
		_, b := p.Rows.B.Row(i)
		size := math.Abs(p.Rows.Rhs[i]) + maxAbs(a)*maxAbs(x) + maxAbs(b)*maxAbs(y)
		scale.Primal = math.Max(scale.Primal, size)
		if p.Rows.Kind[i] == problem.Equal {
			residuals.Primal = larger(residuals.Primal, math.Abs(v))
			continue
		}
		residuals.Primal = larger(residuals.Primal, v)
		residuals.Dual = larger(residuals.Dual, -lambda[i])
		residuals.Complementarity = larger(residuals.Complementarity, math.Abs(lambda[i]*v))
	}
	scale.Complementarity = scale.Primal * scale.Dual
	return residuals, scale
}

// larger is max, but a NaN stays.
func larger(a, b float64) float64 {
	if math.IsNaN(b) || b > a {
		return b
	}
	return a
}

// NewBound is the gap bound at (x, y, lambda) for the modulus mu > 0; see the
// package's documentation. Multipliers of the wrong sign count as 0, with
// what that does to the stationarity.
func NewBound(p *problem.Problem, x, y, lambda []float64, mu float64) *Bound {
	proper := append([]float64(nil), lambda...)
	for i, kind := range p.Rows.Kind {
		if kind == problem.AtMost {
			proper[i] = larger(0, lambda[i])
		}
	}
	r := make([]float64, p.Dy)
	p.G.Clone().GradY(r, x, y)
	p.Rows.B.AddMulVecT(r, -1, proper)
	h := make([]float64, p.Rows.Len())
	p.Rows.Residual(h, x, y)
	size := norm(r)
	gap := size * size / (2 * mu)
	for i, kind := range p.Rows.Kind {
		if kind == problem.AtMost && !(h[i] > 0) {
			gap -= proper[i] * h[i]
		}
	}
	return &Bound{Modulus: mu, Gap: gap, Distance: math.Sqrt(2 * gap / mu)}
}
