package curvature

import (
	"math"
	"math/big"
	"math/rand/v2"
	"sync"
	"testing"

	"bilevelc/internal/directed"
	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/ir"
	"bilevelc/ir/expr"
)

// This file holds the roundings that proofs rest on against arithmetic of many
// digits: without them a proof would be off by a few units in the last place,
// which no sampling sees.

// digits is the precision of the reference, in bits.
const digits = 320

func big1(v float64) *big.Float         { return new(big.Float).SetPrec(digits).SetFloat64(v) }
func bigAdd(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(digits).Add(a, b) }
func bigSub(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(digits).Sub(a, b) }
func bigMul(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(digits).Mul(a, b) }
func bigDiv(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(digits).Quo(a, b) }

// bigExp sums the series of u / 2^k and squares k times.
func bigExp(u *big.Float) *big.Float {
	const halvings = 16
	t := new(big.Float).SetPrec(digits).SetMantExp(u, -halvings)
	sum, power := big1(1), big1(1)
	for i := 1; i < 60; i++ {
		power = bigDiv(bigMul(power, t), big1(float64(i)))
		sum = bigAdd(sum, power)
	}
	for range halvings {
		sum = bigMul(sum, sum)
	}
	return sum
}

// bigLog is Newton's iteration on exp, from the double's logarithm.
func bigLog(u *big.Float) *big.Float {
	f, _ := u.Float64()
	t := big1(math.Log(f))
	for range 4 {
		t = bigAdd(t, bigSub(bigDiv(u, bigExp(t)), big1(1)))
	}
	return t
}

func bigSqrt(u *big.Float) *big.Float { return new(big.Float).SetPrec(digits).Sqrt(u) }

// bigAtan halves the argument, atan u = 2 atan(u/(1 + sqrt(1 + u^2))), and sums
// the series.
func bigAtan(u *big.Float) *big.Float {
	const halvings = 12
	one := big1(1)
	for range halvings {
		u = bigDiv(u, bigAdd(one, bigSqrt(bigAdd(one, bigMul(u, u)))))
	}
	sum, power, square := big1(0), u, bigMul(big1(-1), bigMul(u, u))
	for i := 1; i < 60; i += 2 {
		sum = bigAdd(sum, bigDiv(power, big1(float64(i))))
		power = bigMul(power, square)
	}
	return new(big.Float).SetPrec(digits).SetMantExp(sum, halvings)
}

var bigPi = sync.OnceValue(func() *big.Float { return bigMul(big1(4), bigAtan(big1(1))) })

// bigSin sums the series, after whole turns are taken off.
func bigSin(u *big.Float) *big.Float {
	turn := bigMul(big1(2), bigPi())
	turns, _ := bigDiv(u, turn).Int(nil)
	u = bigSub(u, bigMul(turn, new(big.Float).SetPrec(digits).SetInt(turns)))
	sum, power, square := big1(0), u, bigMul(big1(-1), bigMul(u, u))
	for i := 1; i < 120; i += 2 {
		sum = bigAdd(sum, power)
		power = bigDiv(bigMul(power, square), big1(float64((i+1)*(i+2))))
	}
	return sum
}

func bigCos(u *big.Float) *big.Float { return bigSin(bigAdd(u, bigDiv(bigPi(), big1(2)))) }

// bigErfc sums the series of erf, whose terms are as large as e^(u^2), with
// that many more digits.
func bigErfc(u *big.Float) *big.Float {
	const more = 2 * digits // e^(15^2) is 2^325
	wide := func() *big.Float { return new(big.Float).SetPrec(digits + 2*more) }
	square := wide().Mul(u, u)
	square.Neg(square)
	sum, power := wide(), wide().Set(u)
	for n := 0; n < 2000; n++ {
		sum.Add(sum, wide().Quo(power, wide().SetInt64(int64(2*n+1))))
		power.Mul(power, square)
		power.Quo(power, wide().SetInt64(int64(n+1)))
		if power.Sign() == 0 || power.MantExp(nil) < -digits-more {
			break
		}
	}
	// 2/sqrt pi with as many digits: from atan 1 by Machin's formula.
	root := wide().Sqrt(widePi(digits + 2*more))
	sum.Quo(sum.Mul(sum, wide().SetInt64(2)), root)
	return new(big.Float).SetPrec(digits).Sub(wide().SetInt64(1), sum)
}

// widePi is pi by Machin's formula, 16 atan(1/5) - 4 atan(1/239).
func widePi(precision uint) *big.Float {
	wide := func() *big.Float { return new(big.Float).SetPrec(precision) }
	inverse := func(k int64) *big.Float { // atan(1/k)
		power := wide().Quo(wide().SetInt64(1), wide().SetInt64(k))
		square := wide().SetInt64(-k * k)
		sum := wide()
		for i := int64(1); power.MantExp(nil) > -int(precision); i += 2 {
			sum.Add(sum, wide().Quo(power, wide().SetInt64(i)))
			power.Quo(power, square)
		}
		return sum
	}
	a, b := inverse(5), inverse(239)
	return wide().Sub(a.Mul(a, wide().SetInt64(16)), b.Mul(b, wide().SetInt64(4)))
}

// TestPointsAreEnclosed: the range of a function at one point holds its exact
// value and derivatives, and the doubles nearest to what package math computes
// would not always. The range over an interval holds those of its ends, and of
// a point inside.
func TestPointsAreEnclosed(t *testing.T) {
	one, two := big1(1), big1(2)
	sigmoid := func(u *big.Float) *big.Float { return bigDiv(one, bigAdd(one, bigExp(bigSub(big1(0), u)))) }
	type reference struct {
		jet      func(u Interval) jet
		exact    func(u *big.Float) [3]*big.Float
		positive bool
		slow     bool
		turns    bool // again and again, at multiples of pi/2
	}
	functions := map[string]reference{
		"atan": {jet: func(u Interval) jet { return unary(expr.Atan, u) }, exact: func(u *big.Float) [3]*big.Float {
			d := bigDiv(one, bigAdd(one, bigMul(u, u)))
			return [3]*big.Float{bigAtan(u), d, bigMul(bigMul(big1(-2), u), bigMul(d, d))}
		}},
		"erf": {jet: func(u Interval) jet { return unary(expr.Erf, u) }, slow: true, exact: func(u *big.Float) [3]*big.Float {
			d := bigDiv(bigMul(two, bigExp(bigMul(big1(-1), bigMul(u, u)))), bigSqrt(bigPi()))
			return [3]*big.Float{bigSub(one, bigErfc(u)), d, bigMul(bigMul(big1(-2), u), d)}
		}},
		"normal_cdf": {jet: func(u Interval) jet { return unary(expr.NormalCDF, u) }, slow: true, exact: func(u *big.Float) [3]*big.Float {
			d := bigDiv(bigExp(bigMul(big1(-0.5), bigMul(u, u))), bigSqrt(bigMul(two, bigPi())))
			return [3]*big.Float{bigMul(big1(0.5), bigErfc(bigDiv(bigMul(big1(-1), u), bigSqrt(two)))), d, bigMul(bigMul(big1(-1), u), d)}
		}},
		"exp": {func(u Interval) jet { return unary(expr.Exp, u) }, func(u *big.Float) [3]*big.Float {
			e := bigExp(u)
			return [3]*big.Float{e, e, e}
		}, false, false, false},
		"log": {func(u Interval) jet { return unary(expr.Log, u) }, func(u *big.Float) [3]*big.Float {
			r := bigDiv(one, u)
			return [3]*big.Float{bigLog(u), r, bigSub(big1(0), bigMul(r, r))}
		}, true, false, false},
		"sqrt": {func(u Interval) jet { return unary(expr.Sqrt, u) }, func(u *big.Float) [3]*big.Float {
			r := new(big.Float).SetPrec(digits).Sqrt(u)
			return [3]*big.Float{r, bigDiv(big1(0.5), r), bigDiv(big1(-0.25), bigMul(r, u))}
		}, true, false, false},
		"tanh": {func(u Interval) jet { return unary(expr.Tanh, u) }, func(u *big.Float) [3]*big.Float {
			v := bigSub(bigMul(two, sigmoid(bigMul(two, u))), one)
			d := bigSub(one, bigMul(v, v))
			return [3]*big.Float{v, d, bigMul(bigMul(big1(-2), v), d)}
		}, false, false, false},
		"sigmoid": {func(u Interval) jet { return unary(expr.Sigmoid, u) }, func(u *big.Float) [3]*big.Float {
			s := sigmoid(u)
			d := bigMul(s, bigSub(one, s))
			return [3]*big.Float{s, d, bigMul(d, bigSub(one, bigMul(two, s)))}
		}, false, false, false},
		"log1pexp": {func(u Interval) jet { return unary(expr.Log1pExp, u) }, func(u *big.Float) [3]*big.Float {
			s := sigmoid(u)
			return [3]*big.Float{bigLog(bigAdd(one, bigExp(u))), s, bigMul(s, bigSub(one, s))}
		}, false, false, false},
		"u^2.7": {func(u Interval) jet { return power(u, 2.7) }, bigPower(2.7), true, false, false},
		"u^0.1": {func(u Interval) jet { return power(u, 0.1) }, bigPower(0.1), true, false, false},
		"u^-3":  {func(u Interval) jet { return power(u, -3) }, bigPower(-3), true, false, false},
		"u^7":   {func(u Interval) jet { return power(u, 7) }, bigPower(7), true, false, false},
	}
	functions["sin"] = reference{jet: func(u Interval) jet { return unary(expr.Sin, u) }, turns: true, exact: func(u *big.Float) [3]*big.Float {
		return [3]*big.Float{bigSin(u), bigCos(u), bigSub(big1(0), bigSin(u))}
	}}
	functions["cos"] = reference{jet: func(u Interval) jet { return unary(expr.Cos, u) }, turns: true, exact: func(u *big.Float) [3]*big.Float {
		return [3]*big.Float{bigCos(u), bigSub(big1(0), bigSin(u)), bigSub(big1(0), bigCos(u))}
	}}
	covered := map[string]bool{"-": true} // exact
	for name := range functions {
		covered[name] = true
	}
	for op := range expr.Op(len(expr.Primitives)) {
		if p := op.Info(); p.Class == expr.Elementwise1 && p.Smooth && !covered[p.Symbol] {
			t.Errorf("%s has no reference of many digits here", p.Symbol)
		}
	}
	r := rand.New(rand.NewPCG(31, *seed))
	needed := 0
	for name, f := range functions {
		count := 150
		if f.slow {
			count = 25
		}
		for range count {
			u := 4 * r.NormFloat64()
			if f.slow && r.IntN(2) == 0 {
				u = -min(math.Abs(3*u), 20) // the tail
			}
			if f.slow {
				u = min(u, 20)
			}
			if f.positive {
				u = math.Abs(u)
			}
			width := math.Pow(10, 1-4*r.Float64())
			if f.turns && r.IntN(2) == 0 {
				u = math.Pi/2*float64(r.IntN(2001)-1000) + []float64{0, 1e-12, 1e-7, 1e-3, 1}[r.IntN(5)]*r.NormFloat64()
				width = math.Pi / 2 * float64(r.IntN(6))
			}
			at := f.exact(big1(u))
			for k, e := range f.jet(point(u)).all() {
				if !encloses(e, at[k]) {
					t.Fatalf("%s: derivative %d at %v is %v, outside %v", name, k, u, at[k], e)
				}
				middle := e.Lo + (e.Hi-e.Lo)/2
				if at[k].Cmp(big1(directed.Below(middle))) < 0 || at[k].Cmp(big1(directed.Above(middle))) > 0 {
					needed++
				}
			}
			over := Interval{u, u + width}
			ranges := f.jet(over).all()
			for _, v := range []float64{u + r.Float64()*width, u + width} {
				inside := f.exact(big1(min(v, over.Hi)))
				for k, e := range ranges {
					if !encloses(e, at[k]) || !encloses(e, inside[k]) {
						t.Fatalf("%s: derivative %d is %v at %v and %v at %v, outside %v", name, k, at[k], u, inside[k], v, e)
					}
				}
			}
		}
	}
	if needed == 0 {
		t.Error("no value is off by a unit in the last place: this test sees nothing")
	}
}

func (j jet) all() []Interval { return []Interval{j.v, j.d1, j.d2} }

func encloses(e Interval, v *big.Float) bool {
	return v.Cmp(big1(e.Lo)) >= 0 && v.Cmp(big1(e.Hi)) <= 0
}

func bigPower(p float64) func(u *big.Float) [3]*big.Float {
	return func(u *big.Float) [3]*big.Float {
		v := bigExp(bigMul(big1(p), bigLog(u)))
		d1 := bigDiv(bigMul(big1(p), v), u)
		d2 := bigDiv(bigMul(bigSub(big1(p), big1(1)), d1), u)
		return [3]*big.Float{v, d1, d2}
	}
}

// TestCertifiedEigenvalues: a factorization that runs to completion on a
// singular matrix proves no positive eigenvalue. The matrices G'G are of
// integers and exact; their smallest eigenvalue is 0. Rounding lets many of
// the factorizations through.
func TestCertifiedEigenvalues(t *testing.T) {
	r := rand.New(rand.NewPCG(32, *seed))
	passed := 0
	for range 2000 {
		n := 2 + r.IntN(12)
		rank := 1 + r.IntN(n-1)
		g := each.Below(rank*n, func(int) float64 { return float64(r.IntN(2001) - 1000) })
		a := make([]float64, n*n)
		trace := 0.0
		for i := range n {
			for j := range n {
				for k := range rank {
					a[i*n+j] += g[k*n+i] * g[k*n+j]
				}
			}
			trace += a[i*n+i]
		}
		for _, ulpsOfTrace := range []float64{-2, -0.5, 0, 0.01, 0.1} {
			shift := ulpsOfTrace * 0x1p-53 * trace
			bound, _, ok := certify(a, n, shift, &budget{left: 1e9})
			if !ok {
				continue
			}
			if shift >= 0 {
				passed++
			}
			if bound > 0 {
				t.Fatalf("n = %d, rank %d: the smallest eigenvalue is 0, but %v is certified", n, rank, bound)
			}
		}
		if e := leastEigenvalue(a, n, &budget{left: 1e9}, 0); e.bound > 0 {
			t.Fatalf("n = %d, rank %d: least eigenvalue %v > 0", n, rank, e.bound)
		}
	}
	if passed < 20 {
		t.Errorf("only %d singular matrices were factorized: this test sees nothing", passed)
	}
}

// TestRankTolerance: rows that differ by an angle far above rounding are
// independent, rows that differ by rounding alone are not.
func TestRankTolerance(t *testing.T) {
	for _, c := range []struct {
		angle float64
		rank  int
	}{{1, 2}, {1e-2, 2}, {1e-3, 2}, {1e-5, 2}, {1e-8, 2}, {1e-13, 1}, {0, 1}} {
		p := &ir.Problem{B: sparse.FromEntries(2, 3, []sparse.Entry{
			{Row: 0, Col: 0, Val: 3}, {Row: 0, Col: 1, Val: 4},
			{Row: 1, Col: 0, Val: 30}, {Row: 1, Col: 1, Val: 40}, {Row: 1, Col: 2, Val: 50 * c.angle},
		}), A: sparse.FromEntries(2, 1, nil), Rhs: []float64{1, 10}, Rows: []ir.Row{{Name: "a", Equal: true}, {Name: "b", Equal: true}}}
		p.Lower.Dim, p.Upper.Dim = 3, 1
		if q := (&prover{Problem: p, opts: Defaults()}).qualify(); q.Rank != c.rank {
			t.Errorf("rows at an angle of %v: rank %d, want %d", c.angle, q.Rank, c.rank)
		}
	}
}

// TestUndefinedRanges: what is not a range says nothing.
func TestUndefinedRanges(t *testing.T) {
	nan := math.NaN()
	for _, a := range []Interval{{nan, nan}, {nan, 1}, {0, nan}, {2, 1}, {math.Inf(1), math.Inf(-1)}} {
		if a.sound() != wholeLine() {
			t.Errorf("%v says %v", a, a.sound())
		}
		for name, got := range map[string]Interval{
			"+": Interval{nan, nan}.add(point(1)), "*": Interval{nan, nan}.mul(point(1)),
			"then": jet{v: point(1), d1: point(1)}.then(jet{a, a, a}).d2, "power": power(Interval{nan, nan}, 1.5).sound().d2,
		} {
			if got != wholeLine() {
				t.Errorf("%s of an undefined range is %v", name, got)
			}
		}
	}
	f := &form{n: 1, block: []int{0}, cols: [][]int{{0}}, place: []int{0}, dense: [][]float64{nil}, diag: []float64{nan}, slack: []float64{0}}
	if e := f.least(&budget{}, effort{}); e.bound > 0 {
		t.Errorf("a diagonal that is not a number proves mu = %v", e.bound)
	}
}
