package curvature

import (
	"encoding/json"
	"fmt"
	"math"
)

// Interval is the closed range [Lo, Hi] of the extended reals; it encloses a
// quantity that is finite wherever it is defined, so 0 times an infinite end
// is 0. Every operation returns a range that contains all exact results. An
// interval with ends that are not numbers, or in the wrong order, is taken as the whole
// line: see sound.
type Interval struct{ Lo, Hi float64 }

func point(v float64) Interval { return Interval{v, v} }

func wholeLine() Interval { return Interval{math.Inf(-1), math.Inf(1)} }

// sound is a where it is a range, and otherwise the whole line: a rule that
// fails must not prove anything.
func (a Interval) sound() Interval {
	if a.Lo <= a.Hi {
		return a
	}
	return wholeLine()
}

func (a Interval) isPoint() bool { return a.Lo == a.Hi }

func (a Interval) isZero() bool { return a.Lo == 0 && a.Hi == 0 }

func (a Interval) finite() bool { return !math.IsInf(a.Lo, 0) && !math.IsInf(a.Hi, 0) }

func (a Interval) contains(v float64) bool { return a.Lo <= v && v <= a.Hi }

// mag is the largest absolute value in a, mig the smallest.
func (a Interval) mag() float64 { return max(math.Abs(a.Lo), math.Abs(a.Hi)) }

func (a Interval) mig() float64 {
	if a.contains(0) {
		return 0
	}
	return min(math.Abs(a.Lo), math.Abs(a.Hi))
}

// middle is a finite point of a.
func (a Interval) middle() float64 {
	switch {
	case a.finite():
		return a.Lo + (a.Hi-a.Lo)/2
	case math.IsInf(a.Lo, -1) && math.IsInf(a.Hi, 1):
		return 0
	case math.IsInf(a.Lo, -1):
		return min(a.Hi, 0)
	}
	return max(a.Lo, 0)
}

func (a Interval) String() string {
	if a.isPoint() {
		return number(a.Lo)
	}
	return fmt.Sprintf("[%s, %s]", number(a.Lo), number(a.Hi))
}

// number prints with the digits that help a reader.
func number(v float64) string { return fmt.Sprintf("%.6g", v) }

// MarshalJSON writes the range as a pair, with null for an infinite end.
func (a Interval) MarshalJSON() ([]byte, error) {
	end := func(v float64) any {
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return nil
		}
		return v
	}
	return json.Marshal([2]any{end(a.Lo), end(a.Hi)})
}

func (a Interval) neg() Interval { return Interval{-a.Hi, -a.Lo} }

func (a Interval) add(b Interval) Interval {
	return Interval{addDown(a.Lo, b.Lo), addUp(a.Hi, b.Hi)}
}

func (a Interval) sub(b Interval) Interval { return a.add(b.neg()) }

func (a Interval) mul(b Interval) Interval {
	switch one := point(1); {
	case b == one && a.Lo <= a.Hi:
		return a
	case a == one && b.Lo <= b.Hi:
		return b
	case a.Lo >= 0 && b.Lo >= 0:
		return Interval{mulDown(a.Lo, b.Lo), mulUp(a.Hi, b.Hi)}
	case b.isPoint():
		return a.times(b.Lo)
	case a.isPoint():
		return b.times(a.Lo)
	}
	return Interval{
		min(mulDown(a.Lo, b.Lo), mulDown(a.Lo, b.Hi), mulDown(a.Hi, b.Lo), mulDown(a.Hi, b.Hi)),
		max(mulUp(a.Lo, b.Lo), mulUp(a.Lo, b.Hi), mulUp(a.Hi, b.Lo), mulUp(a.Hi, b.Hi)),
	}
}

// times is the range of c u.
func (a Interval) times(c float64) Interval {
	if c < 0 {
		a.Lo, a.Hi = a.Hi, a.Lo
	}
	return Interval{mulDown(a.Lo, c), mulUp(a.Hi, c)}
}

// sqr is the range of u*u, which mul would not know to be one u.
func (a Interval) sqr() Interval {
	lo, hi := a.mig(), a.mag()
	return Interval{mulDown(lo, lo), mulUp(hi, hi)}
}

// recip is the range of 1/u over the u in a other than 0.
func (a Interval) recip() Interval {
	switch {
	case a.isZero():
		return wholeLine()
	case a.Lo < 0 && a.Hi > 0:
		return wholeLine()
	case a.Lo >= 0:
		return Interval{divDown(1, a.Hi), divUp(1, math.Abs(a.Lo))}
	}
	return Interval{divDown(1, -math.Abs(a.Hi)), divUp(1, a.Lo)}
}

func (a Interval) div(b Interval) Interval { return a.mul(b.recip()) }

func (a Interval) hull(b Interval) Interval { return Interval{min(a.Lo, b.Lo), max(a.Hi, b.Hi)} }

// meet is the common part; where there is none (which a caller's domain rule
// decides), it is a itself.
func (a Interval) meet(b Interval) Interval {
	c := Interval{max(a.Lo, b.Lo), min(a.Hi, b.Hi)}
	if c.Lo > c.Hi {
		return a
	}
	return c
}

// The directed operations below return the largest double that is at most
// (Down) or the smallest that is at least (Up) the exact result, by the sign
// of the exact rounding error: two-sum for +, fused multiply-add for the rest.

func below(v float64) float64 { return math.Nextafter(v, math.Inf(-1)) }
func above(v float64) float64 { return math.Nextafter(v, math.Inf(1)) }

func addDown(a, b float64) float64 {
	s := a + b
	if math.IsNaN(s) {
		return math.Inf(-1)
	}
	if math.IsInf(s, 1) && !math.IsInf(a, 1) && !math.IsInf(b, 1) {
		return math.MaxFloat64
	}
	bb := s - a
	if (a-(s-bb))+(b-bb) < 0 {
		return below(s)
	}
	return s
}

func addUp(a, b float64) float64 { return -addDown(-a, -b) }

// tiny is where the error of a product is no longer representable: 2^-960 is
// far above the smallest normal number times 2^53.
const tiny = 0x1p-960

func mulDown(a, b float64) float64 {
	if a == 0 || b == 0 {
		return 0
	}
	p := a * b
	switch {
	case math.IsNaN(p):
		return math.Inf(-1)
	case math.Abs(p) < tiny:
		if (a > 0) == (b > 0) {
			return max(0, below(p))
		}
		return below(p)
	case math.FMA(a, b, -p) < 0: // of finite factors also where p is infinite
		return below(p)
	}
	return p
}

func mulUp(a, b float64) float64 { return -mulDown(-a, b) }

// divDown is for b != 0 or an infinite result: a/0 is the infinity of a's sign.
func divDown(a, b float64) float64 {
	if a == 0 || math.IsInf(b, 0) && !math.IsInf(a, 0) {
		if (a > 0) != (b > 0) && a != 0 {
			return below(0)
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
	case math.Abs(q) < tiny || math.Abs(a) < tiny:
		if q > 0 {
			return max(0, below(q))
		}
		return below(q)
	}
	if r := math.FMA(-q, b, a); r != 0 && (r < 0) == (b > 0) {
		return below(q)
	}
	return q
}

func divUp(a, b float64) float64 {
	if b == 0 {
		return math.Inf(1)
	}
	return -divDown(-a, b)
}

func sqrtDown(a float64) float64 {
	r := math.Sqrt(a)
	if r == 0 || math.IsInf(r, 1) {
		return r
	}
	if a < tiny || math.FMA(-r, r, a) < 0 {
		return below(r)
	}
	return r
}

func sqrtUp(a float64) float64 {
	r := math.Sqrt(a)
	if r == 0 || math.IsInf(r, 1) {
		return r
	}
	if a < tiny || math.FMA(-r, r, a) > 0 {
		return above(r)
	}
	return r
}
