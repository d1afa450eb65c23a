// Package directed is arithmetic with rounding in a direction: each operation returns the largest double that is at most (Down) or the smallest that is at least (Up) the exact result, by the sign
// of the exact rounding error: two-sum for +, fused multiply-add for the rest. 0 times an infinity is 0. What bounds are proved with, and what proofs are verified with, rests on it.
package directed

import "math"

// Below is the next double below v.
func Below(v float64) float64 { return math.Nextafter(v, math.Inf(-1)) }

// Above is the next double above v.
func Above(v float64) float64 { return math.Nextafter(v, math.Inf(1)) }

// AddDown is at most a + b.
func AddDown(a, b float64) float64 {
	s := a + b
	if math.IsNaN(s) {
		return math.Inf(-1)
	}
	if math.IsInf(s, 1) && !math.IsInf(a, 1) && !math.IsInf(b, 1) {
		return math.MaxFloat64
	}
	bb := s - a
	if (a-(s-bb))+(b-bb) < 0 {
		return Below(s)
	}
	return s
}

// AddUp is at least a + b.
func AddUp(a, b float64) float64 { return -AddDown(-a, -b) }

// Tiny is where the error of a product is no longer representable: 2^-960 is
// far Above the smallest normal number times 2^53.
const Tiny = 0x1p-960

// MulDown is at most a b.
func MulDown(a, b float64) float64 {
	if a == 0 || b == 0 {
		return 0
	}
	p := a * b
	switch {
	case math.IsNaN(p):
		return math.Inf(-1)
	case math.Abs(p) < Tiny:
		if (a > 0) == (b > 0) {
			return max(0, Below(p))
		}
		return Below(p)
	case math.FMA(a, b, -p) < 0: // of finite factors also where p is infinite
		return Below(p)
	}
	return p
}

// MulUp is at least a b.
func MulUp(a, b float64) float64 { return -MulDown(-a, b) }

// DivDown is at most a/b, for b != 0 or an infinite result: a/0 is the infinity of a's sign.
func DivDown(a, b float64) float64 {
	if a == 0 || math.IsInf(b, 0) && !math.IsInf(a, 0) {
		if (a > 0) != (b > 0) && a != 0 {
			return Below(0)
		}
		return 0
	}
	q := a / b
	switch {
	case math.IsNaN(q):
		return math.Inf(-1)
	case math.IsInf(q, 1) && !math.IsInf(a, 0) && b != 0:
		return math.MaxFloat64
	case math.IsInf(q, 0):
		return q
	case math.Abs(q) < Tiny || math.Abs(a) < Tiny:
		if q > 0 {
			return max(0, Below(q))
		}
		return Below(q)
	}
	if r := math.FMA(-q, b, a); r != 0 && (r < 0) == (b > 0) {
		return Below(q)
	}
	return q
}

// DivUp is at least a/b.
func DivUp(a, b float64) float64 {
	if b == 0 {
		return math.Inf(1)
	}
	return -DivDown(-a, b)
}

// SqrtDown is at most the root of a.
func SqrtDown(a float64) float64 {
	r := math.Sqrt(a)
	if r == 0 || math.IsInf(r, 1) {
		return r
	}
	if a < Tiny || math.FMA(-r, r, a) < 0 {
		return Below(r)
	}
	return r
}

// SqrtUp is at least the root of a.
func SqrtUp(a float64) float64 {
	r := math.Sqrt(a)
	if r == 0 || math.IsInf(r, 1) {
		return r
	}
	if a < Tiny || math.FMA(-r, r, a) > 0 {
		return Above(r)
	}
	return r
}
