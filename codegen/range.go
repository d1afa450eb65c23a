package codegen

import (
	"math"
	"slices"
)

// This file keeps the algebra of numbers within the range of doubles: a number
// made at compile time must not overflow or underflow where the operations of
// the model need not.

// folds reports whether a number that was made of others may stand for them:
// not where it overflowed or underflowed and they had not, as in 1e308 * y * 10,
// which is 0 at y = 0 while y times infinity is undefined.
func folds(made float64, of ...float64) bool {
	degenerate := func(c float64) bool { return math.IsInf(c, 0) || math.Abs(c) < 0x1p-1022 } // the smallest normal double
	if !degenerate(made) {
		return true
	}
	return slices.ContainsFunc(of, func(c float64) bool { return degenerate(c) || math.IsNaN(c) })
}

// flat reports whether c times the sum v may be taken apart, bias being what
// its numbers are added to.
func (s *simplifier) flat(c float64, v *val, bias float64) bool {
	if !folds(c*v.bias, c, v.bias) {
		return false
	}
	bias += c * v.bias
	for k, a := range v.args {
		if !folds(c*v.coef[k], c, v.coef[k]) {
			return false
		}
		if n, ok := s.val(a).number(); ok {
			bias += c * v.coef[k] * n
		}
	}
	return !math.IsInf(bias, 0)
}

// joint reports whether the numbers that the two factors of v are scaled by
// may be taken out together.
func (s *simplifier) joint(v val) bool {
	c, _, first := s.scaled(v.args[0])
	d, _, second := s.scaled(v.args[1])
	return !first || !second || folds(c*d, c, d)
}
