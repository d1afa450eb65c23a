package expr

import "math"

// This file holds what the rows of Primitives say about smooth functions of
// one argument beside their values: their derivatives, as graphs for gradients
// and as piecewise monotone functions for proofs.

// Term is an expression of an Algebra.
type Term any

// Algebra builds expressions, entry by entry. Rows of Primitives state their
// derivatives in it; package autodiff builds gradient graphs with it.
type Algebra interface {
	Number(v float64) Term
	Add(a, b Term) Term
	Sub(a, b Term) Term
	Mul(a, b Term) Term
	Div(a, b Term) Term
	Apply(op Op, u Term) Term // a function of one argument
}

// Curve is a function of one number that is monotone between its turning
// points, with values at infinite arguments given by limits.
type Curve struct {
	F        func(u float64) float64
	Turns    []float64
	Least    float64 // no value is below it
	Greatest float64 // none is above it
	// Ulps bounds the error of F at u in units in the last place, beyond the
	// few that combining functions of package math costs; nil: 0.
	Ulps func(u float64) float64
}

// Curves are a function's value and its first two derivatives.
type Curves [3]Curve

var infinity = math.Inf(1)

// the functions behind the curves of the table

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

const (
	tanhTurn    = 0.65847894846240835 // atanh(1/sqrt 3), where tanh'' is extreme
	sigmoidTurn = 1.31695789692481671 // log(2 + sqrt 3), where sigmoid'' is extreme
)

var (
	tanhCurves = &Curves{
		{F: math.Tanh, Least: -1, Greatest: 1},
		{F: sech2, Turns: []float64{0}, Least: 0, Greatest: 1},
		{F: func(u float64) float64 { return -2 * math.Tanh(u) * sech2(u) }, Turns: []float64{-tanhTurn, tanhTurn}, Least: -1, Greatest: 1},
	}
	log1pExpCurves = &Curves{
		{F: log1pExp, Least: 0, Greatest: infinity},
		{F: sigmoid, Least: 0, Greatest: 1},
		{F: logisticDensity, Turns: []float64{0}, Least: 0, Greatest: 0.25},
	}
	sigmoidCurves = &Curves{
		{F: sigmoid, Least: 0, Greatest: 1},
		{F: logisticDensity, Turns: []float64{0}, Least: 0, Greatest: 0.25},
		{F: func(u float64) float64 { return -logisticDensity(u) * math.Tanh(u/2) },
			Turns: []float64{-sigmoidTurn, sigmoidTurn}, Least: -0.25, Greatest: 0.25},
	}
)

// vanishing is f where u is finite, and its limit 0 elsewhere.
func vanishing(f func(u float64) float64) func(u float64) float64 {
	return func(u float64) float64 {
		if math.IsInf(u, 0) {
			return 0
		}
		return f(u)
	}
}

var atanCurves = &Curves{
	{F: math.Atan, Least: -2, Greatest: 2},
	{F: func(u float64) float64 { return 1 / (1 + u*u) }, Turns: []float64{0}, Least: 0, Greatest: 1},
	{F: vanishing(func(u float64) float64 { v := 1 / (1 + u*u); return -2 * u * v * v }),
		Turns: []float64{-1 / math.Sqrt(3), 1 / math.Sqrt(3)}, Least: -1, Greatest: 1},
}

// gauss is e^(-c u^2). The exponent is rounded twice: an error of up to two
// units of it is one of 2 c u^2 units of the value.
func gauss(c, u float64) float64 { return math.Exp(-c * u * u) }

func gaussUlps(c float64) func(u float64) float64 {
	return func(u float64) float64 { return 4 * c * min(u*u, 800/c) } // it is 0 beyond
}

var erfCurves = &Curves{
	{F: math.Erf, Least: -1, Greatest: 1},
	{F: func(u float64) float64 { return 2 / math.Sqrt(math.Pi) * gauss(1, u) }, Turns: []float64{0}, Least: 0, Greatest: 2, Ulps: gaussUlps(1)},
	{F: vanishing(func(u float64) float64 { return -4 / math.Sqrt(math.Pi) * u * gauss(1, u) }),
		Turns: []float64{-math.Sqrt2 / 2, math.Sqrt2 / 2}, Least: -1, Greatest: 1, Ulps: gaussUlps(1)},
}

// normalCDF is the distribution function of the standard normal distribution.
func normalCDF(u float64) float64 { return 0.5 * math.Erfc(-u/math.Sqrt2) }

// normalDensity is its derivative.
func normalDensity(u float64) float64 { return gauss(0.5, u) / math.Sqrt(2*math.Pi) }

var normalCurves = &Curves{
	// In the lower tail the rounding of u / sqrt 2 weighs u^2 times as much.
	{F: normalCDF, Least: 0, Greatest: 1, Ulps: func(u float64) float64 { return 4 * min(u*u, 1600) }},
	{F: normalDensity, Turns: []float64{0}, Least: 0, Greatest: 0.5, Ulps: gaussUlps(0.5)},
	{F: vanishing(func(u float64) float64 { return -u * normalDensity(u) }), Turns: []float64{-1, 1}, Least: -0.25, Greatest: 0.25, Ulps: gaussUlps(0.5)},
}
