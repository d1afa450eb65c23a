package certify

import (
	"math"
	"math/big"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime/tolerance"
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
	exact, wider := 0, 0
	for k := range 8000 {
		a, b := number(), number()
		wide := interval{a, a + math.Abs(number())}
		inside := wide.lo + rng.Float64()*(wide.hi-wide.lo)
		inside = math.Min(math.Max(inside, wide.lo), wide.hi)
		check := func(what string, got interval, want *big.Rat, narrow bool) {
			lo, hi := of(got.lo), of(got.hi)
			if lo.Cmp(want) > 0 || hi.Cmp(want) < 0 {
				t.Fatalf("%s of %v and %v: %v does not hold %v", what, a, b, got, want)
			}
			if v, is := want.Float64(); narrow && is && math.Abs(v) >= tolerance.LeastSquared*tolerance.LeastSquared {
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
		other := interval{b, b + math.Abs(number())}
		if rng.IntN(3) == 0 {
			other = interval{-math.Abs(b), math.Abs(b)}
		}
		also := math.Min(math.Max(other.lo+rng.Float64()*(other.hi-other.lo), other.lo), other.hi)
		check("sum of intervals", wide.add(other), new(big.Rat).Add(of(inside), of(also)), false)
		check("difference of intervals", wide.sub(other), new(big.Rat).Sub(of(inside), of(also)), false)
		for _, ends := range [][2]float64{{inside, also}, {wide.lo, other.lo}, {wide.lo, other.hi}, {wide.hi, other.lo}, {wide.hi, other.hi}} {
			check("product of intervals", wide.mul(other), new(big.Rat).Mul(of(ends[0]), of(ends[1])), false)
		}
		if got, most := wide.mul(other), math.Max(math.Max(wide.lo*other.lo, wide.lo*other.hi), math.Max(wide.hi*other.lo, wide.hi*other.hi)); got.hi > math.Nextafter(most, math.Inf(1)) {
			t.Fatalf("%v times %v: %v, and no product is above %v", wide, other, got, most)
		}
		check("hull", wide.hull(other), of(inside), false)
		check("hull", wide.hull(other), of(also), false)
		check("middle", wide, of(wide.mid()), false)
		check("middle of the size", interval{-other.size(), other.size()}, of(also), false)
		if away := math.Max(wide.hi-wide.mid(), wide.mid()-wide.lo); away > (wide.hi-wide.lo)/2+0x1p-52*wide.size() {
			wider++
		}
		if d := math.Abs(b); d > 0 {
			check("quotient", point(a).over(d), new(big.Rat).Quo(of(a), of(d)), true)
		}
		if k%20 > 0 {
			continue
		}
		// Ends beyond the largest double, and infinite ones.
		huge := func(v float64) float64 {
			part, _ := math.Frexp(v)
			return math.Ldexp(part, 1024)
		}
		u, v := huge(inside), huge(also)
		for k, far := range []struct {
			got  interval
			want *big.Rat
		}{
			{point(u).add(point(v)), new(big.Rat).Add(of(u), of(v))},
			{point(u).sub(point(v)), new(big.Rat).Sub(of(u), of(v))},
			{point(u).mul(point(also)), new(big.Rat).Mul(of(u), of(also))},
			{interval{also, math.Inf(1)}.mul(interval{math.Inf(-1), inside}), new(big.Rat).Mul(of(also), of(inside))},
			{interval{also, math.Inf(1)}.add(interval{u, math.Inf(1)}), new(big.Rat).Add(of(u), of(also))},
		} {
			if lo, hi := far.got.lo, far.got.hi; math.IsNaN(lo) || math.IsNaN(hi) || math.IsInf(lo, 1) || math.IsInf(hi, -1) ||
				!math.IsInf(lo, -1) && of(lo).Cmp(far.want) > 0 || !math.IsInf(hi, 1) && of(hi).Cmp(far.want) < 0 {
				t.Fatalf("%d: %v and %v far out: %v does not hold %v", k, inside, also, far.got, far.want)
			}
		}
	}
	if wider > 0 {
		t.Errorf("%d middles are no middles", wider)
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if (interval{v, 0}).finite() || (interval{0, v}).finite() || !point(1).finite() {
			t.Errorf("an interval with the end %v is finite", v)
		}
	}
	if exact < 400 {
		t.Errorf("only %d results are doubles", exact)
	}
}

// Coefficients of a proof's objective are sums: their intervals hold them, and where all terms are single numbers they are known exactly; one that is 0 is none.
func TestCoefficientsAreSums(t *testing.T) {
	rng := members.Rand(t, 2)
	for range 500 {
		const n = 3
		o := newTreeObjective(n)
		var sums [n][n + 1]*big.Rat // of Q, and of c; nil where a term is no single number
		for i := range sums {
			for j := range sums[i] {
				sums[i][j] = new(big.Rat)
			}
		}
		for range 12 {
			v := float64(rng.IntN(5)-2) * []float64{1, 0.1, 1.0 / 3}[rng.IntN(3)]
			i, j := rng.IntN(n), rng.IntN(n+1)
			term, exact := point(v), rat(v)
			if rng.IntN(20) == 0 {
				term, exact = interval{v, math.Nextafter(v, 9)}, nil
			}
			if j == n {
				if exact == nil {
					continue
				}
				o.addC(i, coefficient{term, exact})
			} else {
				o.addQ(i, j, coefficient{term, exact})
			}
			if sum := sums[i][j]; sum != nil && exact != nil {
				sum.Add(sum, exact)
			} else {
				sums[i][j] = nil
			}
		}
		for i := range n {
			if want := sums[i][n]; o.c[i].exact.Cmp(want) != 0 || rat(o.c[i].val.lo).Cmp(want) > 0 || rat(o.c[i].val.hi).Cmp(want) < 0 {
				t.Fatalf("c is %v and %v, not %v", o.c[i].val, o.c[i].exact, want)
			}
			for j := range n {
				var e *treeEntry
				for k := range o.q[i] {
					if o.q[i][k].col == j {
						e = &o.q[i][k]
					}
				}
				switch want := sums[i][j]; {
				case want == nil:
				case e == nil && want.Sign() != 0, e != nil && want.Sign() == 0:
					t.Fatalf("an entry is %v, and the sum %v", e, want)
				case e != nil && (e.exact == nil || e.exact.Cmp(want) != 0 || rat(e.val.lo).Cmp(want) > 0 || rat(e.val.hi).Cmp(want) < 0):
					t.Fatalf("an entry is %v and %v, not %v", e.val, e.exact, want)
				}
			}
		}
	}
}
