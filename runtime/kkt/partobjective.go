package kkt

import "bilevelc/runtime/problem"

// partObjective is f on a part of a system whose f is quadratic, as the function of a problem: of x, the answer, the multipliers that f reads, and weights of coupled constraints, which do not count.
type partObjective struct {
	s *System
	q Quadratic
}

// at is the point of the part with what f reads.
func (f *partObjective) at(x, answer []float64) []float64 {
	z := make([]float64, f.s.N)
	f.s.spread(z, x, answer)
	return z
}

// ValueGrad implements problem.Function.
func (f *partObjective) ValueGrad(dstX, dstY, x, answer []float64) float64 {
	z, grad := f.at(x, answer), make([]float64, f.s.N)
	f.q.Gradient(grad, z)
	copy(dstX, grad)
	for k := range dstY {
		dstY[k] = 0
		if j := f.s.place(f.s.Nx + k); j >= 0 {
			dstY[k] = grad[j]
		}
	}
	return f.q.Value(z)
}

// Value implements problem.Function.
func (f *partObjective) Value(x, answer []float64) float64 { return f.q.Value(f.at(x, answer)) }

// GradX implements problem.Function.
func (f *partObjective) GradX(dst, x, answer []float64) { f.ValueGrad(dst, nil, x, answer) }

// GradY implements problem.Function.
func (f *partObjective) GradY(dst, x, answer []float64) { f.ValueGrad(nil, dst, x, answer) }

// ValueGradY implements problem.Function.
func (f *partObjective) ValueGradY(dst, x, answer []float64) float64 {
	return f.ValueGrad(nil, dst, x, answer)
}

// Clone implements problem.Function.
func (f *partObjective) Clone() problem.Function { return f }
