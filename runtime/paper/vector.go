package paper

import "bilevelc/runtime/linalg"

func dot(a, b []float64) float64      { return linalg.Dot(a, b) }
func norm(a []float64) float64        { return linalg.Norm(a) }
func distance(a, b []float64) float64 { return linalg.Distance(a, b) }

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
