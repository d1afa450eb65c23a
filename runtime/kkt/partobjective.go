package kkt

import (
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// partObjective is q, the f of a part of a system, as the function of a problem: of x, the answer, the multipliers that f reads, and weights of coupled constraints, which do not count.
func (s *System) partObjective(q *sparse.Quadratic) problem.Joint {
	return func(dstX, dstY, x, answer []float64) float64 {
		z, grad := make([]float64, s.N), make([]float64, s.N)
		s.spread(z, x, answer)
		q.Gradient(grad, z)
		copy(dstX, grad)
		for k := range dstY {
			dstY[k] = 0
			if j := s.place(s.Nx + k); j >= 0 {
				dstY[k] = grad[j]
			}
		}
		return q.Value(z)
	}
}
