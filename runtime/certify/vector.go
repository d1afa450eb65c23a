package certify

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/runtime/problem"
)

// norm is the 2-norm, without overflow.
func norm(v []float64) float64 { return floats.Norm(v, 2) }

// absolute is the sum of the absolute values of a_j b_j.
func absolute(a, b []float64) (sum float64) {
	for j, t := range a {
		sum += math.Abs(t * b[j])
	}
	return sum
}

// maxAbs is NaN where an entry is.
func maxAbs(v []float64) float64 {
	top := 0.0
	for _, t := range v {
		top = larger(top, math.Abs(t))
	}
	return top
}

// larger is max, but a NaN stays.
func larger(a, b float64) float64 {
	if math.IsNaN(b) || b > a {
		return b
	}
	return a
}

func distance(a, b []float64) float64 { return norm(minus(a, b)) }

// minus is a - b.
func minus(a, b []float64) []float64 { return moved(a, -1, b) }

// moved is a + t b.
func moved(a []float64, t float64, b []float64) []float64 {
	return floats.AddScaledTo(make([]float64, len(a)), a, t, b)
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
	return each.Below(n, func(int) float64 { return rng.NormFloat64() })
}

func scaled(v []float64, a float64) []float64 {
	return floats.ScaleTo(make([]float64, len(v)), a, v)
}

func isFinite(v []float64) bool {
	return !slices.ContainsFunc(v, func(t float64) bool { return !isNumber(t) })
}

func isNumber(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// picked are the entries of a list at some places.
func picked[T any](v []T, at []int) []T {
	return each.Of(at, func(j int) T { return v[j] })
}

// gradY is the gradient of a function in y, and gradXY that in both arguments.
func gradY(of problem.Function, x, y []float64) []float64 {
	gy := make([]float64, len(y))
	of.GradY(gy, x, y)
	return gy
}

func gradXY(of problem.Function, x, y []float64) (gx, gy []float64) {
	gx, gy = make([]float64, len(x)), make([]float64, len(y))
	of.ValueGrad(gx, gy, x, y)
	return gx, gy
}

// everywhere are the ends of n intervals without any.
func everywhere(n int) (lo, hi []float64) {
	return slices.Repeat([]float64{math.Inf(-1)}, n), slices.Repeat([]float64{math.Inf(1)}, n)
}

// places says where each of a list is there.
func places(list []int) map[int]int {
	at := make(map[int]int, len(list))
	for k, i := range list {
		at[i] = k
	}
	return at
}

// set are those of a list.
func set(rows []int) map[int]bool {
	out := map[int]bool{}
	for _, i := range rows {
		out[i] = true
	}
	return out
}
