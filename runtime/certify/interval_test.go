package certify

import (
	"math"
	"math/big"
	"testing"

	"bilevelc/internal/members"
)

// Intervals hold the exact result of every operation on numbers of any size, are no wider than rounding makes them, and are a point where
// the result is a double.
func TestIntervalsHoldExactResults(t *testing.T) {
	rng := members.Rand(t, 1)
	number := func() float64 {
		if rng.IntN(3) == 0 {
			return float64(rng.IntN(41) - 20)
		}
		return math.Ldexp(rng.NormFloat64(), rng.IntN(80)-40)
	}
	of := func(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }
	exact := 0
	for range 20000 {
		a, b := number(), number()
		wide := interval{a, a + math.Abs(number())}
		inside := wide.lo + rng.Float64()*(wide.hi-wide.lo)
		inside = math.Min(math.Max(inside, wide.lo), wide.hi)
		check := func(what string, got interval, want *big.Rat, narrow bool) {
			lo, hi := of(got.lo), of(got.hi)
			if lo.Cmp(want) > 0 || hi.Cmp(want) < 0 {
				t.Fatalf("%s of %v and %v: %v does not hold %v", what, a, b, got, want)
			}
			if v, is := want.Float64(); narrow && is && math.Abs(v) >= least {
				exact++
				if got != point(v) {
					t.Fatalf("%s of %v and %v: %v, and the result is %v", what, a, b, got, v)
				}
			}
			if narrow && got.hi > math.Nextafter(math.Nextafter(got.lo, math.Inf(1)), math.Inf(1)) {
				t.Fatalf("%s of %v and %v: %v is wide", what, a, b, got)
			}
		}
		check("sum", point(a).add(point(b)), new(big.Rat).Add(of(a), of(b)), true)
		check("difference", point(a).sub(point(b)), new(big.Rat).Sub(of(a), of(b)), true)
		check("product", point(a).mul(point(b)), new(big.Rat).Mul(of(a), of(b)), true)
		check("sum of an interval", wide.add(point(b)), new(big.Rat).Add(of(inside), of(b)), false)
		check("product of an interval", wide.mul(point(b)), new(big.Rat).Mul(of(inside), of(b)), false)
		check("product of intervals", wide.mul(interval{-math.Abs(b), math.Abs(b)}), new(big.Rat).Mul(of(inside), of(b)), false)
		if d := math.Abs(b); d > 0 {
			check("quotient", point(a).over(d), new(big.Rat).Quo(of(a), of(d)), true)
		}
	}
	if exact < 1000 {
		t.Errorf("only %d results are doubles", exact)
	}
}
