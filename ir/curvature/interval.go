package curvature

import (
	"encoding/json"
	"fmt"
	"math"

	"bilevelc/internal/directed"
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
	return Interval{directed.AddDown(a.Lo, b.Lo), directed.AddUp(a.Hi, b.Hi)}
}

func (a Interval) sub(b Interval) Interval { return a.add(b.neg()) }

func (a Interval) mul(b Interval) Interval {
	switch one := point(1); {
	case b == one && a.Lo <= a.Hi:
		return a
	case a == one && b.Lo <= b.Hi:
		return b
	case a.Lo >= 0 && b.Lo >= 0:
		return Interval{directed.MulDown(a.Lo, b.Lo), directed.MulUp(a.Hi, b.Hi)}
	case b.isPoint():
		return a.times(b.Lo)
	case a.isPoint():
		return b.times(a.Lo)
	}
	return Interval{
		min(directed.MulDown(a.Lo, b.Lo), directed.MulDown(a.Lo, b.Hi), directed.MulDown(a.Hi, b.Lo), directed.MulDown(a.Hi, b.Hi)),
		max(directed.MulUp(a.Lo, b.Lo), directed.MulUp(a.Lo, b.Hi), directed.MulUp(a.Hi, b.Lo), directed.MulUp(a.Hi, b.Hi)),
	}
}

// times is the range of c u.
func (a Interval) times(c float64) Interval {
	if c < 0 {
		a.Lo, a.Hi = a.Hi, a.Lo
	}
	return Interval{directed.MulDown(a.Lo, c), directed.MulUp(a.Hi, c)}
}

// sqr is the range of u*u, which mul would not know to be one u.
func (a Interval) sqr() Interval {
	lo, hi := a.mig(), a.mag()
	return Interval{directed.MulDown(lo, lo), directed.MulUp(hi, hi)}
}

// recip is the range of 1/u over the u in a other than 0.
func (a Interval) recip() Interval {
	switch {
	case a.isZero():
		return wholeLine()
	case a.Lo < 0 && a.Hi > 0:
		return wholeLine()
	case a.Lo >= 0:
		return Interval{directed.DivDown(1, a.Hi), directed.DivUp(1, math.Abs(a.Lo))}
	}
	return Interval{directed.DivDown(1, -math.Abs(a.Hi)), directed.DivUp(1, a.Lo)}
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
