package certify

import (
	"math"
	"math/rand/v2"
)

func dot(a, b []float64) float64 {
	sum := 0.0
	for j, t := range a {
		sum += t * b[j]
	}
	return sum
}

// norm is the 2-norm, without overflow.
func norm(v []float64) float64 {
	if sum := dot(v, v); sum > 1e-280 && sum < 1e280 { // no square that counts under- or overflows
		return math.Sqrt(sum)
	}
	top := maxAbs(v)
	if top == 0 || math.IsInf(top, 1) || math.IsNaN(top) {
		return top
	}
	sum := 0.0
	for _, t := range v {
		sum += (t / top) * (t / top)
	}
	return top * math.Sqrt(sum)
}

// maxAbs is NaN where an entry is.
func maxAbs(v []float64) float64 {
	top := 0.0
	for _, t := range v {
		if t = math.Abs(t); t > top || math.IsNaN(t) {
			top = t
		}
		if math.IsNaN(top) {
			return top
		}
	}
	return top
}

func distance(a, b []float64) float64 { return norm(minus(a, b)) }

// minus is a - b.
func minus(a, b []float64) []float64 { return moved(a, -1, b) }

// moved is a + t b.
func moved(a []float64, t float64, b []float64) []float64 {
	out := make([]float64, len(a))
	for j := range out {
		out[j] = a[j] + t*b[j]
	}
	return out
}

// quotient is (a - b)/t.
func quotient(a, b []float64, t float64) []float64 {
	out := minus(a, b)
	for j := range out {
		out[j] /= t
	}
	return out
}

// drawn is a random vector whose direction may be any.
func drawn(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for j := range v {
		v[j] = rng.NormFloat64()
	}
	return v
}

func scaled(v []float64, a float64) []float64 {
	out := make([]float64, len(v))
	for j, t := range v {
		out[j] = a * t
	}
	return out
}

func isFinite(v []float64) bool {
	for _, t := range v {
		if !isNumber(t) {
			return false
		}
	}
	return true
}

func isNumber(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// all are the numbers below n.
func all(n int) []int {
	out := make([]int, n)
	for j := range out {
		out[j] = j
	}
	return out
}
