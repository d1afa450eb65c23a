package certify

import (
	"math"

	"bilevelc/runtime/tolerance"
)

// interval is a closed interval of real numbers with doubles, or infinities, as ends. Its operations enclose the exact result; where that is a
// double, and nothing underflows, they return it alone: the error of a rounded operation is found exactly (Knuth; Dekker), and only where there is
// one does an end move on to the next double.
type interval struct{ lo, hi float64 }

func point(v float64) interval { return interval{v, v} }

func (a interval) exact() bool { return a.lo == a.hi }
func (a interval) zero() bool  { return a.lo == 0 && a.hi == 0 }
func (a interval) mid() float64 {
	if a.exact() {
		return a.lo
	}
	return a.lo + (a.hi-a.lo)/2
}

// size is the largest absolute value.
func (a interval) size() float64 { return math.Max(math.Abs(a.lo), math.Abs(a.hi)) }
func (a interval) neg() interval { return interval{-a.hi, -a.lo} }
func (a interval) finite() bool {
	return isNumber(a.lo) && isNumber(a.hi)
}
func (a interval) hull(b interval) interval {
	return interval{math.Min(a.lo, b.lo), math.Max(a.hi, b.hi)}
}

func (a interval) add(b interval) interval {
	if a.zero() {
		return b
	}
	if b.zero() {
		return a
	}
	return interval{addDown(a.lo, b.lo), -addDown(-a.hi, -b.hi)}
}

func (a interval) sub(b interval) interval { return a.add(b.neg()) }

func (a interval) mul(b interval) interval {
	if a.zero() || b.zero() {
		return interval{}
	}
	if a.exact() && b.exact() {
		return interval{mulDown(a.lo, b.lo), -mulDown(-a.lo, b.lo)}
	}
	lo := math.Min(math.Min(mulDown(a.lo, b.lo), mulDown(a.lo, b.hi)), math.Min(mulDown(a.hi, b.lo), mulDown(a.hi, b.hi)))
	hi := math.Min(math.Min(mulDown(-a.lo, b.lo), mulDown(-a.lo, b.hi)), math.Min(mulDown(-a.hi, b.lo), mulDown(-a.hi, b.hi)))
	return interval{lo, -hi}
}

// addDown is the largest double that is at most a + b; -Inf + x is -Inf.
func addDown(a, b float64) float64 {
	s := a + b
	switch {
	case math.IsInf(a, -1) || math.IsInf(b, -1):
		return math.Inf(-1)
	case math.IsNaN(s):
		return math.Inf(-1)
	case math.IsInf(s, 0):
		if s > 0 && !math.IsInf(a, 1) && !math.IsInf(b, 1) {
			return math.MaxFloat64
		}
		return s
	}
	t := s - a
	if (a-(s-t))+(b-t) < 0 {
		return math.Nextafter(s, math.Inf(-1))
	}
	return s
}

// mulDown is a double that is at most a b, the largest one where that is well above what underflows, so that its rounding error is a double. 0 times an infinity is 0.
func mulDown(a, b float64) float64 {
	if a == 0 || b == 0 {
		return 0
	}
	p := a * b
	switch {
	case math.IsNaN(p):
		return math.Inf(-1)
	case math.IsInf(p, 0):
		if p > 0 && !math.IsInf(a, 0) && !math.IsInf(b, 0) {
			return math.MaxFloat64
		}
		return p
	case math.Abs(p) < tolerance.LeastSquared*tolerance.LeastSquared || math.FMA(a, b, -p) < 0:
		return math.Nextafter(p, math.Inf(-1))
	}
	return p
}

// over is the quotient of a and a positive number, enclosed.
func (a interval) over(b float64) interval {
	lo, hi := a.lo/b, a.hi/b
	if a.lo != 0 && (math.FMA(lo, b, -a.lo) != 0 || math.Abs(lo) < tolerance.LeastSquared*tolerance.LeastSquared) {
		lo = math.Nextafter(lo, math.Inf(-1))
	}
	if a.hi != 0 && (math.FMA(hi, b, -a.hi) != 0 || math.Abs(hi) < tolerance.LeastSquared*tolerance.LeastSquared) {
		hi = math.Nextafter(hi, math.Inf(1))
	}
	return interval{lo, hi}
}
