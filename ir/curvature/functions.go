package curvature

import (
	"math"

	"bilevelc/internal/directed"
	"bilevelc/ir/expr"
)

// This file encloses the elementary functions and their first two derivatives
// over a range of arguments. Each is monotone between the listed turning
// points, so its values at the ends and at the turning points inside give the
// range.

// ulps is the error allowed to the elementary functions, in units in the last
// place: the math package states less than 1 for exp and log, and the short
// formulas below combine at most a dozen such operations.
const ulps = 16

// fuzz widens a computed value by its possible error.
func fuzz(v float64) Interval { return fuzzBy(v, ulps) }

// fuzzBy is fuzz for an error of so many units in the last place.
func fuzzBy(v, ulps float64) Interval {
	if math.IsInf(v, 1) {
		return Interval{math.MaxFloat64, v}
	}
	if math.IsInf(v, -1) {
		return Interval{v, -math.MaxFloat64}
	}
	e := ulps * 0x1p-52 * math.Abs(v)
	return Interval{directed.Below(v - e), directed.Above(v + e)}
}

// over is the range of f over a. f must be continuous on a, with values at
// infinite ends given by limits, and monotone between the turning points.
func over(f func(float64) float64, a Interval, turning ...float64) Interval {
	return rangeOn(&expr.Curve{F: f, Turns: turning, Least: math.Inf(-1), Greatest: math.Inf(1)}, a)
}

// rangeOn is the range of a curve over a.
func rangeOn(c *expr.Curve, a Interval) Interval {
	at := func(u float64) Interval {
		e := float64(ulps)
		if c.Ulps != nil {
			e += c.Ulps(u)
		}
		return fuzzBy(c.F(u), e)
	}
	r := at(a.Lo).hull(at(a.Hi))
	for _, t := range c.Turns {
		// A turning point is itself rounded: its neighbours count as well.
		if a.Lo <= directed.Above(t) && a.Hi >= directed.Below(t) {
			r = r.hull(at(t))
		}
	}
	return r.meet(Interval{c.Least, c.Greatest})
}

// jet is a function's value and first two derivatives with respect to one
// variable, each enclosed over the same range.
type jet struct{ v, d1, d2 Interval }

// sound replaces ranges that say nothing by the whole line.
func (a jet) sound() jet { return jet{a.v.sound(), a.d1.sound(), a.d2.sound()} }

func constant(v Interval) jet { return jet{v: v} }

// then is the chain rule: g = the value and two derivatives of phi at the range of a.
func (a jet) then(g jet) jet {
	g = g.sound()
	return jet{g.v, g.d1.mul(a.d1), g.d2.mul(a.d1.sqr()).add(g.d1.mul(a.d2))}
}

func (a jet) mul(b jet) jet {
	cross := a.d1.mul(b.d1)
	return jet{
		a.v.mul(b.v),
		a.d1.mul(b.v).add(a.v.mul(b.d1)),
		a.d2.mul(b.v).add(cross.add(cross)).add(a.v.mul(b.d2)),
	}
}

func (a jet) add(b jet) jet { return jet{a.v.add(b.v), a.d1.add(b.d1), a.d2.add(b.d2)} }

func (a jet) neg() jet { return jet{a.v.neg(), a.d1.neg(), a.d2.neg()} }

func (a jet) hull(b jet) jet { return jet{a.v.hull(b.v), a.d1.hull(b.d1), a.d2.hull(b.d2)} }

// positive is the part of a on which log, sqrt and real powers are
// differentiable; all of a where there is no such part, which smooth.go
// reports.
func positive(a Interval) Interval { return a.meet(Interval{0, math.Inf(1)}) }

// unary encloses op over u.
func unary(op expr.Op, u Interval) jet {
	if c := op.Info().Curves; c != nil {
		return jet{rangeOn(&c[0], u), rangeOn(&c[1], u), rangeOn(&c[2], u)}
	}
	return rules[op].jet(u)
}

const xlogxTurn = 0.367879441171442322 // 1/e, where u log u is least

var halfPi = Interval{directed.Below(math.Pi / 2), directed.Above(math.Pi / 2)}

// sineRange bounds the arguments whose reduction modulo 2 pi is trusted: the
// math package reduces exactly, and counting turning points is safe while the
// spacing of doubles is far below pi.
const sineRange = 1e9

func sine(u Interval) Interval {
	if !(u.mag() < sineRange) || u.Hi-u.Lo >= 2*math.Pi {
		return Interval{-1, 1}
	}
	// math.Sin is accurate in absolute terms near its zeros.
	const slack = ulps * 0x1p-52
	r := Interval{math.Sin(u.Lo) - slack, math.Sin(u.Lo) + slack}.
		hull(Interval{math.Sin(u.Hi) - slack, math.Sin(u.Hi) + slack})
	// Turning points are pi/2 + k pi: a maximum for even k, a minimum for odd.
	first := math.Floor(u.Lo/math.Pi - 0.5 - 1e-6)
	for k := first; k <= u.Hi/math.Pi-0.5+1e-6; k++ {
		if k < u.Lo/math.Pi-0.5-1e-6 {
			continue
		}
		if math.Mod(k, 2) == 0 {
			r.Hi = 1
		} else {
			r.Lo = -1
		}
	}
	return r.meet(Interval{-1, 1})
}

// power encloses u^p for a fixed exponent p.
func power(u Interval, p float64) jet {
	d1 := powerRange(u, p-1).mul(point(p))
	d2 := powerRange(u, p-2).mul(point(p)).mul(point(p - 1))
	return jet{powerRange(u, p), d1, d2}
}

// posPower encloses max(u, 0)^p for exponents p > 1: it is 0, with its derivatives, for u <= 0.
func posPower(u, p Interval) jet {
	if u.Hi <= 0 {
		return constant(point(0))
	}
	if !p.isPoint() {
		return jet{nonnegative, nonnegative, nonnegative}
	}
	out := power(positive(u), p.Lo)
	if u.Lo <= 0 { // at 0 the second derivative jumps to 2 where p is 2, and has a pole where it is less
		out.d2 = out.d2.hull(point(0))
	}
	return out
}

var nonnegative = Interval{0, math.Inf(1)}

// powerRange is the range of u^p.
func powerRange(u Interval, p float64) Interval {
	switch {
	case p == 0:
		return point(1)
	case p == 1:
		return u
	case p == 2:
		return u.sqr()
	case p == -1:
		return u.recip()
	}
	whole2 := p == math.Trunc(p)
	if !whole2 {
		if u = positive(u); u.Lo < 0 {
			return wholeLine()
		}
	}
	if p < 0 {
		return powerRange(u, -p).recip()
	}
	even := whole2 && math.Mod(p, 2) == 0
	if even {
		u = Interval{u.mig(), u.mag()}
	}
	// math.Pow multiplies repeatedly: its error grows with the exponent.
	end := func(v float64) Interval {
		if v == 0 {
			return point(0)
		}
		w := math.Pow(v, p)
		if math.IsInf(w, 0) {
			return fuzz(w)
		}
		e := (ulps + 2*p) * 0x1p-52 * math.Abs(w)
		r := Interval{directed.Below(w - e), directed.Above(w + e)}
		if v > 0 {
			r.Lo = max(r.Lo, 0)
		} else {
			r.Hi = min(r.Hi, 0)
		}
		return r
	}
	return Interval{end(u.Lo).Lo, end(u.Hi).Hi}
}
