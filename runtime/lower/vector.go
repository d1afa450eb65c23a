package lower

import "gonum.org/v1/gonum/blas/blas64"

// dot is a'b.
func dot(a, b []float64) float64 {
	return blas64.Dot(blas64.Vector{N: len(a), Inc: 1, Data: a}, blas64.Vector{N: len(a), Inc: 1, Data: b})
}

// axpy adds alpha x to dst.
func axpy(dst []float64, alpha float64, x []float64) {
	blas64.Axpy(alpha, blas64.Vector{N: len(dst), Inc: 1, Data: x}, blas64.Vector{N: len(dst), Inc: 1, Data: dst})
}
