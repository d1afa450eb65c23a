package outer

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

func dot(a, b []float64) float64 {
	s := 0.0
	for i, v := range a {
		s += v * b[i]
	}
	return s
}

func norm(a []float64) float64 {
	if s := dot(a, a); representable(s) {
		return math.Sqrt(s)
	}
	return floats.Norm(a, 2) // scaled before it is squared
}

// distance is |a - b|.
func distance(a, b []float64) float64 {
	s := 0.0
	for i, v := range a {
		d := v - b[i]
		s += d * d
	}
	if representable(s) {
		return math.Sqrt(s)
	}
	return floats.Norm(minus(a, b), 2)
}

// representable reports that a sum of squares has neither left the range of doubles
// nor lost its digits below it.
func representable(s float64) bool { return s > 0x1p-960 && s < 0x1p1000 }

// plus returns a + t b.
func plus(a []float64, t float64, b []float64) []float64 {
	out := make([]float64, len(a))
	for i, v := range a {
		out[i] = v + t*b[i]
	}
	return out
}

// minus returns a - b.
func minus(a, b []float64) []float64 { return plus(a, -1, b) }

func clone(a []float64) []float64 { return append([]float64(nil), a...) }
