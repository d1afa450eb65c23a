// Package truth finds out, on its own, what is true of a small bilevel
// program: whether it has a point at all (exact linear programming), y*(x) and
// its multipliers (enumeration of the faces of the lower level), the gradient
// of F on the open pieces around a point, how far a point is from being
// stationary, and the least F of all (enumeration of the faces of the KKT
// system's pieces). It imports nothing of the project but exact linear programs, so that what it says can
// judge the project.
//
// Models are small: every loop over subsets of rows is meant.
package truth

import (
	"math"
	"math/big"
	"slices"
	"strconv"

	"bilevelc/internal/each"
	"bilevelc/internal/exact"
)

// Linear is A x + C y <= Rhs, or == Rhs. Its numbers are decimals of few digits.
type Linear struct {
	A, C  []float64 // len Dx and Dy
	Rhs   float64
	Equal bool
}

// slack is what is left of the right-hand side.
func (r *Linear) slack(x, y []float64) float64 { return r.Rhs - dot(r.A, x) - dot(r.C, y) }

// Terms is the size of the terms that a slack is a difference of.
func (r *Linear) Terms(x, y []float64) float64 {
	size := math.Abs(r.Rhs)
	for j, a := range r.A {
		size += math.Abs(a * x[j])
	}
	for j, c := range r.C {
		size += math.Abs(c * y[j])
	}
	return size
}

// Misses is by how much a point misses the row.
func (r *Linear) Misses(x, y []float64) float64 {
	v := -r.slack(x, y)
	if r.Equal {
		return math.Abs(v)
	}
	return math.Max(v, 0)
}

// exactRow is a Linear in rational numbers.
type exactRow struct {
	a, c  []*big.Rat
	rhs   *big.Rat
	equal bool
}

func exactRows(rows []Linear) []exactRow {
	return each.Of(rows, func(r Linear) exactRow {
		return exactRow{rationals(r.A), rationals(r.C), rational(r.Rhs), r.Equal}
	})
}

// leader are the bounds of x and the rows of X.
func (s *System) leader() (rows []Linear) {
	bound := func(j int, sign, b float64) {
		if !math.IsInf(b, 0) {
			r := Linear{A: make([]float64, s.Dx), C: make([]float64, s.Dy), Rhs: b}
			r.A[j] = sign
			rows = append(rows, r)
		}
	}
	for j := range s.Dx {
		bound(j, -1, -s.Lo[j])
		bound(j, 1, s.Hi[j])
	}
	return append(rows, s.Upper...)
}

// rational is the shortest decimal that a double is read from: that of a text, and of a computed x one that is next to it.
func rational(v float64) *big.Rat {
	r, _ := new(big.Rat).SetString(strconv.FormatFloat(v, 'g', -1, 64))
	return r
}

func rationals(v []float64) []*big.Rat { return each.Of(v, rational) }

// ratio makes the rational p/q.
func ratio(p, q int64) *big.Rat { return big.NewRat(p, q) }

// zeros is a vector of n zeros.
func zeros(n int) []*big.Rat {
	return each.Below(n, func(int) *big.Rat { return new(big.Rat) })
}

// float rounds to the nearest double.
func float(v *big.Rat) float64 {
	f, _ := v.Float64()
	return f
}

func floats(v []*big.Rat) []float64 { return each.Of(v, float) }

// Contains reports that x, taken exactly, is in X: the box and the leader's rows.
func (e *Evaluator) Contains(x []float64) bool {
	at := exact.Doubles(x)
	return !slices.ContainsFunc(e.upper, func(r exactRow) bool {
		c := exact.Dot(r.a, at).Cmp(r.rhs)
		return c > 0 || r.equal && c != 0
	})
}
