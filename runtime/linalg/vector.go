package linalg

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/codegen/kernel"
	"bilevelc/internal/sparse"
)

// long is the length from which the kernels of compiled programs take less time than gonum's: half of it from some
// hundred entries on, where the processor has 256-bit instructions.
const long = 64

// Dot is a'b, over the length of a.
func Dot(a, b []float64) float64 {
	if len(a) >= long {
		return kernel.Dot(a, b)
	}
	return floats.Dot(a, b[:len(a)])
}

// Axpy adds alpha x to dst, over the length of dst.
func Axpy(dst []float64, alpha float64, x []float64) {
	if len(dst) >= long {
		kernel.Axpy(dst, alpha, x)
		return
	}
	floats.AddScaled(dst, alpha, x[:len(dst)])
}

// Gemv adds alpha M v to dst (len m), or alpha M' v to dst (len n) with trans; M is m x n, row-major.
func Gemv(dst []float64, alpha float64, matrix []float64, m, n int, trans bool, v []float64) {
	kernel.Gemv(dst, alpha, matrix, m, n, trans, v)
}

// Cleared is a zero vector of n entries, in the place of v where that has room.
func Cleared[T any](v []T, n int) []T {
	if cap(v) < n {
		return make([]T, n)
	}
	v = v[:n]
	clear(v)
	return v
}

// Gather is the entries of v at some places.
func Gather[T any](v []T, places []int) []T {
	out := make([]T, len(places))
	for k, j := range places {
		out[k] = v[j]
	}
	return out
}

// Scatter puts the entries of v to some places of dst.
func Scatter[T any](dst []T, places []int, v []T) {
	for k, j := range places {
		dst[j] = v[k]
	}
}

// RowNorm is the length of row i of a matrix.
func RowNorm(m *sparse.CSR, i int) float64 {
	_, vals := m.Row(i)
	return Norm(vals)
}

// Distance is |a - b|.
func Distance(a, b []float64) float64 {
	b, sum := b[:len(a)], 0.0
	for i, v := range a {
		sum += (v - b[i]) * (v - b[i])
	}
	if representable(sum) {
		return math.Sqrt(sum)
	}
	return Norm(Minus(a, b))
}

// representable reports that no square that counts in a sum of them under- or overflows.
func representable(sum float64) bool { return sum > 1e-280 && sum < 1e280 }

// Norm is the Euclidean norm, also where squares leave the range of double precision;
// infinite or NaN where an entry is.
func Norm(v []float64) float64 {
	if s := floats.Dot(v, v); representable(s) {
		return math.Sqrt(s)
	}
	largest := NormInf(v)
	if largest == 0 || math.IsInf(largest, 0) || math.IsNaN(largest) {
		return largest
	}
	s := 0.0
	for _, t := range v {
		t /= largest
		s += t * t
	}
	return largest * math.Sqrt(s)
}

// NormInf is the largest |v_j|, NaN where one is NaN.
func NormInf(v []float64) float64 {
	s := 0.0
	for _, t := range v {
		if t = math.Abs(t); !(t <= s) {
			if s = t; math.IsNaN(s) {
				return s
			}
		}
	}
	return s
}

// Finite reports whether every entry is.
func Finite(v []float64) bool {
	s := 0.0
	for _, t := range v {
		s += t * 0 // NaN for an infinity, too
	}
	return s == 0
}

// Unpack is the symmetric n x n matrix, row-major, whose upper triangle is packed row by row.
func Unpack(n int, packed []float64) []float64 {
	h, at := make([]float64, n*n), 0
	for i := 0; i < n; i++ {
		for j := i; j < n; j++ {
			h[i*n+j], h[j*n+i] = packed[at], packed[at]
			at++
		}
	}
	return h
}

// Symmetrize makes h, n x n, its symmetric part, to the last bit.
func Symmetrize(n int, h []float64) {
	for i := range n {
		for j := range i {
			v := (h[i*n+j] + h[j*n+i]) / 2
			h[i*n+j], h[j*n+i] = v, v
		}
	}
}

// Plus is a + t b.
func Plus(a []float64, t float64, b []float64) []float64 {
	out := make([]float64, len(a))
	for i, v := range a {
		out[i] = v + t*b[i]
	}
	return out
}

// Minus is a - b.
func Minus(a, b []float64) []float64 { return Plus(a, -1, b) }

// Clone is a copy of a; nil where a is empty.
func Clone(a []float64) []float64 { return append([]float64(nil), a...) }

// ToBoundary is how much of a step d, at most most, leaves all that is positive of v + t d at 1 - of of what it is in v, at the least: the fraction to the boundary (Nocedal and Wright, sec. 19.2).
func ToBoundary(v, d []float64, of, most float64) float64 {
	for i, t := range d {
		if t < 0 && v[i] > 0 && -of*v[i] > most*t {
			most = -of * v[i] / t
		}
	}
	return most
}
