package directed

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// edge draws numbers of very different sizes, with the special ones often.
func edge(r *rand.Rand) float64 {
	switch r.IntN(8) {
	case 0:
		return 0
	case 1:
		return math.Round(4 * r.NormFloat64())
	case 2:
		return math.Ldexp(r.NormFloat64(), r.IntN(2000)-1000)
	case 3:
		return math.Ldexp(r.NormFloat64(), -1060+r.IntN(20))
	}
	return r.NormFloat64()
}

// TestDirectedRounding compares with exact arithmetic: the results enclose it,
// and are exact where it is a double.
func TestDirectedRounding(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	exact := func() *big.Float { return new(big.Float).SetPrec(4000) }
	check := func(name string, a, b, lo, hi float64, want *big.Float) {
		t.Helper()
		if !math.IsInf(lo, -1) && exact().SetFloat64(lo).Cmp(want) > 0 || !math.IsInf(hi, 1) && exact().SetFloat64(hi).Cmp(want) < 0 {
			t.Errorf("%v %s %v: [%v, %v] does not hold %v", a, name, b, lo, hi, want.Text('g', 20))
		}
		if v, acc := want.Float64(); acc == big.Exact && !math.IsInf(v, 0) && math.Abs(v) > 1e-280 && (lo != v || hi != v) {
			t.Errorf("%v %s %v: [%v, %v] is not exact", a, name, b, lo, hi)
		}
	}
	for range 200000 {
		a, b := edge(r), edge(r)
		x, y := exact().SetFloat64(a), exact().SetFloat64(b)
		check("+", a, b, AddDown(a, b), AddUp(a, b), exact().Add(x, y))
		check("*", a, b, MulDown(a, b), MulUp(a, b), exact().Mul(x, y))
		if b != 0 {
			q := exact().Quo(x, y)
			if lo, hi := DivDown(a, b), DivUp(a, b); !math.IsInf(lo, -1) && exact().SetFloat64(lo).Cmp(q) > 0 ||
				!math.IsInf(hi, 1) && exact().SetFloat64(hi).Cmp(q) < 0 {
				t.Errorf("%v / %v: [%v, %v] does not hold %v", a, b, lo, hi, q.Text('g', 20))
			}
		}
		if a >= 0 {
			lo, hi := exact().SetFloat64(SqrtDown(a)), exact().SetFloat64(SqrtUp(a))
			if exact().Mul(lo, lo).Cmp(x) > 0 || exact().Mul(hi, hi).Cmp(x) < 0 {
				t.Errorf("sqrt %v: [%v, %v]", a, lo, hi)
			}
		}
	}
}

// TestInfiniteEnds: the limits are infinite where an operand is, and numbers where it is
// their result alone that is beyond all doubles.
func TestInfiniteEnds(t *testing.T) {
	inf, most := math.Inf(1), math.MaxFloat64
	for _, c := range []struct {
		name         string
		lo, hi       float64
		least, above float64
	}{
		{"large + large", AddDown(most, most), AddUp(most, most), most, inf},
		{"-large - large", AddDown(-most, -most), AddUp(-most, -most), -inf, -most},
		{"inf + 1", AddDown(inf, 1), AddUp(inf, 1), inf, inf},
		{"1 - inf", AddDown(1, -inf), AddUp(1, -inf), -inf, -inf},
		{"inf - inf", AddDown(inf, -inf), AddUp(inf, -inf), -inf, inf},
		{"large * large", MulDown(most, most), MulUp(most, most), most, inf},
		{"-large * large", MulDown(-most, most), MulUp(-most, most), -inf, -most},
		{"inf * 2", MulDown(inf, 2), MulUp(inf, 2), inf, inf},
		{"inf * -2", MulDown(inf, -2), MulUp(inf, -2), -inf, -inf},
		{"inf * 0", MulDown(inf, 0), MulUp(inf, 0), 0, 0},
		{"large / tiny", DivDown(most, 0.5), DivUp(most, 0.5), most, inf},
	} {
		if c.lo != c.least || c.hi != c.above {
			t.Errorf("%s: [%v, %v], want [%v, %v]", c.name, c.lo, c.hi, c.least, c.above)
		}
	}
}
