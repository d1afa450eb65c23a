package certify

import (
	"math"

	"bilevelc/internal/directed"
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
	return interval{directed.AddDown(a.lo, b.lo), directed.AddUp(a.hi, b.hi)}
}

func (a interval) sub(b interval) interval { return a.add(b.neg()) }

func (a interval) mul(b interval) interval {
	if a.zero() || b.zero() {
		return interval{}
	}
	if a.exact() && b.exact() {
		return interval{directed.MulDown(a.lo, b.lo), directed.MulUp(a.lo, b.lo)}
	}
	down, up := directed.MulDown, directed.MulUp
	return interval{min(down(a.lo, b.lo), down(a.lo, b.hi), down(a.hi, b.lo), down(a.hi, b.hi)), max(up(a.lo, b.lo), up(a.lo, b.hi), up(a.hi, b.lo), up(a.hi, b.hi))}
}

// over is the quotient of a and a positive number, enclosed.
func (a interval) over(b float64) interval {
	return interval{directed.DivDown(a.lo, b), directed.DivUp(a.hi, b)}
}
