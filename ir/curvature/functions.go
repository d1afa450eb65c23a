package curvature

import (
	"math"

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
func fuzz(v float64) Interval {
	if math.IsInf(v, 1) {
		return Interval{math.MaxFloat64, v}
	}
	if math.IsInf(v, -1) {
		return Interval{v, -math.MaxFloat64}
	}
	e := ulps * 0x1p-52 * math.Abs(v)
	return Interval{below(v - e), above(v + e)}
}

// over is the range of f over a. f must be continuous on a, with values at
// infinite ends given by limits, and monotone between the turning points.
func over(f func(float64) float64, a Interval, turning ...float64) Interval {
	r := fuzz(f(a.Lo)).hull(fuzz(f(a.Hi)))
	for _, t := range turning {
		// A turning point is itself rounded: its neighbours count as well.
		if a.Lo <= above(t) && a.Hi >= below(t) {
			r = r.hull(fuzz(f(t)))
		}
	}
	return r
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
	zeroOne, all := Interval{0, 1}, whole()
	switch op {
	case expr.Neg:
		return jet{u.neg(), point(-1), point(0)}
	case expr.Exp:
		if u.isZero() {
			return jet{point(1), point(1), point(1)}
		}
		e := over(math.Exp, u)
		e.Lo = max(e.Lo, 0)
		return jet{e, e, e}
	case expr.Log:
		if u = positive(u); u.Lo < 0 {
			return jet{all, all, all}
		}
		if u == point(1) {
			return jet{point(0), point(1), point(-1)}
		}
		return jet{over(math.Log, u), u.recip(), u.sqr().recip().neg()}
	case expr.Sqrt:
		if u = positive(u); u.Lo < 0 {
			return jet{all, all, all}
		}
		r := Interval{sqrtDown(u.Lo), sqrtUp(u.Hi)}
		return jet{r, r.recip().mul(point(0.5)), r.mul(r.sqr()).recip().mul(point(-0.25))}
	case expr.Tanh:
		return jet{
			over(math.Tanh, u).meet(Interval{-1, 1}),
			over(sech2, u, 0).meet(zeroOne),
			over(func(v float64) float64 { return -2 * math.Tanh(v) * sech2(v) }, u, -tanhTurn, tanhTurn),
		}
	case expr.Sin:
		s := sine(u)
		return jet{s, sine(u.add(halfPi)), s.neg()}
	case expr.Cos:
		c := sine(u.add(halfPi))
		return jet{c, sine(u).neg(), c.neg()}
	case expr.Log1pExp:
		v := over(op.Info().Eval1, u)
		v.Lo = max(v.Lo, 0)
		return jet{v, over(expr.Sigmoid.Info().Eval1, u).meet(zeroOne), over(logisticDensity, u, 0).meet(zeroOne)}
	case expr.Sigmoid:
		return jet{
			over(op.Info().Eval1, u).meet(zeroOne),
			over(logisticDensity, u, 0).meet(zeroOne),
			over(func(v float64) float64 { return -logisticDensity(v) * math.Tanh(v/2) }, u, -sigmoidTurn, sigmoidTurn),
		}
	case expr.Abs:
		switch {
		case u.Lo >= 0:
			return jet{u, point(1), point(0)}
		case u.Hi <= 0:
			return jet{u.neg(), point(-1), point(0)}
		}
		return jet{Interval{0, u.mag()}, Interval{-1, 1}, all}
	case expr.Sign:
		if !u.contains(0) {
			return constant(point(math.Copysign(1, u.Lo)))
		}
		return jet{Interval{-1, 1}, all, all}
	case expr.Floor:
		f := Interval{math.Floor(u.Lo), math.Floor(u.Hi)}
		if f.isPoint() && u.Lo > f.Lo {
			return constant(f)
		}
		return jet{f, all, all}
	}
	return jet{all, all, all}
}

const (
	tanhTurn    = 0.65847894846240835  // atanh(1/sqrt 3), where tanh'' is extreme
	sigmoidTurn = 1.31695789692481671  // log(2 + sqrt 3), where sigmoid'' is extreme
	xlogxTurn   = 0.367879441171442322 // 1/e, where u log u is least
)

var halfPi = Interval{below(math.Pi / 2), above(math.Pi / 2)}

// sech2 is 1/cosh^2, the derivative of tanh.
func sech2(u float64) float64 {
	e := math.Exp(-2 * math.Abs(u))
	return 4 * e / ((1 + e) * (1 + e))
}

// logisticDensity is the derivative of the sigmoid.
func logisticDensity(u float64) float64 {
	e := math.Exp(-math.Abs(u))
	return e / ((1 + e) * (1 + e))
}

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
	switch p {
	case 0:
		d1, d2 = point(0), point(0)
	case 1:
		d2 = point(0)
	}
	return jet{powerRange(u, p), d1, d2}
}

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
			return whole()
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
		r := Interval{below(w - e), above(w + e)}
		if v > 0 {
			r.Lo = max(r.Lo, 0)
		} else {
			r.Hi = min(r.Hi, 0)
		}
		return r
	}
	return Interval{end(u.Lo).Lo, end(u.Hi).Hi}
}
