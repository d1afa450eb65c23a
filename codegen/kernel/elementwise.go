// Package kernel holds the inner loops of compiled programs: elementwise
// functions, sums, and products of dense and sparse matrices with vectors.
//
// Every function writes its whole destination, never allocates, and adds in an
// order that depends on lengths only, so that equal input gives equal bits.
// Lengths are the destination's (or the first operand's); operands must be at
// least as long.
package kernel

import "math"

// Fill sets every entry of dst to v.
func Fill(dst []float64, v float64) {
	for i := range dst {
		dst[i] = v
	}
}

// Lin1 sets dst to c a + bias.
func Lin1(dst, a []float64, c, bias float64) {
	a = a[:len(dst)]
	for i, v := range a {
		dst[i] = c*v + bias
	}
}

// Lin2 sets dst to c a + d b + bias.
func Lin2(dst, a []float64, c float64, b []float64, d, bias float64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i, v := range a {
		dst[i] = c*v + d*b[i] + bias
	}
}

// Add adds c a to dst, each entry rounded twice; see Axpy.
func Add(dst []float64, c float64, a []float64) {
	a = a[:len(dst)]
	for i, v := range a {
		dst[i] += c * v
	}
}

// Mul sets dst to a b, entry by entry.
func Mul(dst, a, b []float64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i, v := range a {
		dst[i] = v * b[i]
	}
}

// Div sets dst to a / b, entry by entry.
func Div(dst, a, b []float64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i, v := range a {
		dst[i] = v / b[i]
	}
}

// DivBy sets dst to a / s.
func DivBy(dst, a []float64, s float64) {
	a = a[:len(dst)]
	for i, v := range a {
		dst[i] = v / s
	}
}

// Over sets dst to s / a.
func Over(dst []float64, s float64, a []float64) {
	a = a[:len(dst)]
	for i, v := range a {
		dst[i] = s / v
	}
}

// Pow sets dst to a^b, entry by entry.
func Pow(dst, a, b []float64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i, v := range a {
		dst[i] = math.Pow(v, b[i])
	}
}

// PowBy sets dst to a^s.
func PowBy(dst, a []float64, s float64) {
	a = a[:len(dst)]
	for i, v := range a {
		dst[i] = math.Pow(v, s)
	}
}

// PowOf sets dst to s^a.
func PowOf(dst []float64, s float64, a []float64) {
	a = a[:len(dst)]
	for i, v := range a {
		dst[i] = math.Pow(s, v)
	}
}

// PosPowOf is max(u, 0)^p, 0 for u <= 0 whatever p is.
func PosPowOf(u, p float64) float64 {
	if u <= 0 {
		return 0
	}
	return math.Pow(u, p)
}

// PosPow sets dst to max(a, 0)^b, entry by entry.
func PosPow(dst, a, b []float64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i, v := range a {
		dst[i] = PosPowOf(v, b[i])
	}
}

// PosPowBy sets dst to max(a, 0)^s.
func PosPowBy(dst, a []float64, s float64) {
	a = a[:len(dst)]
	for i, v := range a {
		dst[i] = PosPowOf(v, s)
	}
}

// PosPowFrom sets dst to max(s, 0)^a.
func PosPowFrom(dst []float64, s float64, a []float64) {
	a = a[:len(dst)]
	for i, v := range a {
		dst[i] = PosPowOf(s, v)
	}
}

// Square sets dst to a^2.
func Square(dst, a []float64) {
	a = a[:len(dst)]
	for i, v := range a {
		dst[i] = v * v
	}
}

// Map sets dst to f(a), entry by entry.
func Map(dst, a []float64, f func(float64) float64) {
	a = a[:len(dst)]
	for i, v := range a {
		dst[i] = f(v)
	}
}

// Exp sets dst to e^a.
func Exp(dst, a []float64) { Map(dst, a, math.Exp) }

// Log sets dst to the natural logarithm of a.
func Log(dst, a []float64) { Map(dst, a, math.Log) }

// Sqrt sets dst to the square root of a.
func Sqrt(dst, a []float64) {
	a = a[:len(dst)]
	for i, v := range a {
		dst[i] = math.Sqrt(v)
	}
}

// Tanh sets dst to tanh(a).
func Tanh(dst, a []float64) { Map(dst, a, math.Tanh) }

// Sin sets dst to sin(a).
func Sin(dst, a []float64) { Map(dst, a, math.Sin) }

// Cos sets dst to cos(a).
func Cos(dst, a []float64) { Map(dst, a, math.Cos) }

// Log1pExp sets dst to log(1 + e^a).
func Log1pExp(dst, a []float64) { Map(dst, a, Log1pExpOf) }

// Log1pExpOf is log(1 + e^u) without overflow: beyond 34 in size the smaller
// term is below half a unit in the last place.
func Log1pExpOf(u float64) float64 {
	if u > 34 {
		return u
	}
	e := math.Exp(u)
	w := 1 + e
	if w == 1 {
		return e
	}
	// log(1 + e) with what 1 + e lost of e given back (Kahan; Goldberg 1991, theorem
	// 4): within a few roundings, in half the time of math.Log1p.
	return math.Log(w) * (e / (w - 1))
}

// Sigmoid sets dst to 1/(1 + e^-a).
func Sigmoid(dst, a []float64) { Map(dst, a, SigmoidOf) }

// SigmoidOf is 1/(1 + e^-u) without overflow.
func SigmoidOf(u float64) float64 {
	if u >= 0 {
		return 1 / (1 + math.Exp(-u))
	}
	e := math.Exp(u)
	return e / (1 + e)
}

// Prod is the product of all entries.
func Prod(a []float64) float64 {
	p := 1.0
	for _, v := range a {
		p *= v
	}
	return p
}

// ProdExcept sets dst[i] to the product of a[j] over j != i, also where
// entries are 0: prefix products forward, suffix products backward.
func ProdExcept(dst, a []float64) {
	p := 1.0
	for i, v := range a {
		dst[i] = p
		p *= v
	}
	p = 1
	for i := len(a) - 1; i >= 0; i-- {
		dst[i] *= p
		p *= a[i]
	}
}

// LogSumExp is log(sum(e^a)) without overflow.
func LogSumExp(a []float64) float64 {
	top := math.Inf(-1)
	for _, v := range a {
		top = math.Max(top, v)
	}
	if math.IsInf(top, 0) || math.IsNaN(top) {
		return top
	}
	sum := 0.0
	for _, v := range a {
		sum += math.Exp(v - top)
	}
	return top + math.Log(sum)
}

// Gather sets dst[k] to a[index[k]], and 0 where index[k] < 0.
func Gather(dst, a []float64, index []int) {
	for k, i := range index {
		if i < 0 {
			dst[k] = 0
			continue
		}
		dst[k] = a[i]
	}
}

// ScatterAdd sets dst to 0 and adds dst[index[k]] += a[k], dropping entries
// where index[k] < 0.
func ScatterAdd(dst, a []float64, index []int) {
	Fill(dst, 0)
	for k, i := range index {
		if i >= 0 {
			dst[i] += a[k]
		}
	}
}

// Transpose sets dst (n x m) to the transpose of a (m x n), both row-major,
// in tiles that stay in cache.
func Transpose(dst, a []float64, m, n int) {
	const tile = 16 // two tiles of 16 x 16 entries take 4 KiB
	for i0 := 0; i0 < m; i0 += tile {
		for j0 := 0; j0 < n; j0 += tile {
			for i := i0; i < min(i0+tile, m); i++ {
				for j := j0; j < min(j0+tile, n); j++ {
					dst[j*m+i] = a[i*n+j]
				}
			}
		}
	}
}
