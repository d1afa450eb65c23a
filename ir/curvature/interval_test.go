package curvature

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/each"
	"bilevelc/ir/expr"
)

// TestIntervals draws points from intervals and looks for their results in the
// intervals' results.
func TestIntervals(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 200000 {
		a, b := interval(r), interval(r)
		u, v := within(r, a), within(r, b)
		for _, c := range []struct {
			name string
			got  Interval
			want float64
		}{
			{"+", a.add(b), u + v}, {"-", a.sub(b), u - v}, {"*", a.mul(b), u * v},
			{"sqr", a.sqr(), u * u}, {"1/", a.recip(), 1 / u}, {"/", a.div(b), u / v},
			{"hull", a.hull(b), v},
		} {
			if !math.IsNaN(c.want) && !math.IsInf(c.want, 0) && !c.got.contains(c.want) {
				t.Errorf("%s of %v, %v: %v does not hold %v", c.name, a, b, c.got, c.want)
			}
		}
	}
	if got := (Interval{0, math.Inf(1)}).mul(point(0)); !got.isZero() {
		t.Errorf("0 times anything is %v", got)
	}
	// An infinite point stands for numbers beyond all doubles.
	inf, least := math.Inf(1), math.SmallestNonzeroFloat64
	for _, c := range []struct{ u, want Interval }{
		{point(inf), Interval{0, least}}, {point(-inf), Interval{-least, 0}},
		{Interval{1, inf}, Interval{0, 1}}, {Interval{-inf, -1}, Interval{-1, 0}},
	} {
		if got := c.u.recip(); got != c.want {
			t.Errorf("1 / %v is %v, want %v", c.u, got, c.want)
		}
	}
	for _, u := range []Interval{{-1, 2}, {0, inf}, {-inf, inf}, {math.NaN(), math.NaN()}} {
		if flat, line := power(u, 0), power(u, 1); !flat.d1.isZero() || !flat.d2.isZero() || line.d1 != point(1) || !line.d2.isZero() {
			t.Errorf("powers 0 and 1 of %v: %v, %v", u, flat, line)
		}
	}
}

func interval(r *rand.Rand) Interval {
	a, b := 3*r.NormFloat64(), 3*r.NormFloat64()
	if r.IntN(3) == 0 {
		a, b = math.Round(a), math.Round(b)
	}
	i := Interval{min(a, b), max(a, b)}
	switch r.IntN(12) {
	case 0:
		i.Lo = math.Inf(-1)
	case 1:
		i.Hi = math.Inf(1)
	case 2:
		i.Hi = i.Lo
	case 3:
		i.Lo *= 20
		i.Hi = max(i.Hi, i.Lo)
	}
	return i
}

func within(r *rand.Rand, a Interval) float64 {
	b := a.meet(Interval{-20, 20})
	switch r.IntN(6) {
	case 0:
		return b.Lo
	case 1:
		return b.Hi
	}
	return min(b.Lo+r.Float64()*(b.Hi-b.Lo), b.Hi)
}

// TestFunctions holds the ranges of every elementary function and of its
// derivatives against the Taylor reference at drawn points.
func TestFunctions(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	b := expr.NewBuilder()
	y := b.Var("y", true, 0, expr.ScalarShape(), noSpan)
	type function struct {
		name string
		jet  func(Interval) jet
		node *expr.Node
	}
	var functions []function
	for op := range expr.Op(len(expr.Primitives)) {
		if p := op.Info(); p.Class != expr.Elementwise1 || !p.Smooth {
			continue
		}
		n := b.Unary(op, y, noSpan)
		functions = append(functions, function{op.String(), func(u Interval) jet { return unary(op, u) }, n})
	}
	for _, p := range []float64{0.5, 1.5, 2, 2.5, 3, 4, 7, -1, -2, -0.5, -3} {
		n := b.Binary(expr.Pow, y, b.Number(p), noSpan)
		functions = append(functions, function{number(p), func(u Interval) jet { return power(u, p) }, n})
	}
	for _, p := range []float64{1.25, 1.5, 2, 2.5, 3, 4} {
		n := b.Binary(expr.PosPow, y, b.Number(p), noSpan)
		functions = append(functions, function{"the positive part to the power " + number(p), func(u Interval) jet { return posPower(u, point(p)) }, n})
	}
	for _, f := range functions {
		for range 20000 {
			u := interval(r)
			v := within(r, u)
			want, _ := along(f.node, nil, []float64{v}, nil, []float64{1})
			if !finite(want) {
				continue
			}
			got := f.jet(u)
			for k, e := range []Interval{got.v, got.d1, got.d2} {
				// The reference's own rounding, near its zeros in absolute terms.
				slack := 1e-12 * (1e-3 + math.Abs(want[k]))
				if want[k] < e.Lo-slack || want[k] > e.Hi+slack {
					t.Fatalf("%s: derivative %d over %v is %v, which does not hold %v at %v", f.name, k, u, e, want[k], v)
				}
			}
			if u.isPoint() { // and the ranges are no wider than they need to be
				for k, e := range []Interval{got.v, got.d1, got.d2} {
					if e.Hi-e.Lo > 1e-12*(1+math.Abs(want[k])) {
						t.Fatalf("%s: derivative %d at %v is only known to be in %v", f.name, k, v, e)
					}
				}
			}
		}
	}
}

// TestPowersOfRanges: u^p and its derivatives in u for every u and p of two
// ranges, where the exponent depends on x.
func TestPowersOfRanges(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	b := expr.NewBuilder()
	x, y := b.Var("x", false, 0, expr.ScalarShape(), noSpan), b.Var("y", true, 0, expr.ScalarShape(), noSpan)
	n := b.Binary(expr.Pow, y, x, noSpan)
	for range 5000 {
		u := Interval{Lo: math.Abs(r.NormFloat64())}
		u.Hi = u.Lo + r.Float64()
		p := Interval{Lo: 2 * r.NormFloat64()}
		p.Hi = p.Lo + r.Float64()
		s := newStudy(b, n, expr.DependsY, domain{[]Interval{p}, []Interval{u}}, &budget{})
		got := s.slopesOf(n)[0]
		for range 8 {
			v, e := within(r, u), within(r, p)
			want := []float64{math.Pow(v, e), e * math.Pow(v, e-1), e * (e - 1) * math.Pow(v, e-2)}
			for k, g := range []Interval{got.v, got.d1, got.d2} {
				if slack := 1e-12 * math.Abs(want[k]); want[k] < g.Lo-slack || want[k] > g.Hi+slack {
					t.Fatalf("derivative %d of u^p over %v, %v is %v, which does not hold %v at %v, %v", k, u, p, g, want[k], v, e)
				}
			}
		}
	}
}

// TestTightness: the ranges over whole intervals are attained.
func TestTightness(t *testing.T) {
	for _, c := range []struct {
		op       expr.Op
		u        Interval
		k        int
		from, to float64
	}{
		{expr.Tanh, wholeLine(), 2, -4 / (3 * math.Sqrt(3)), 4 / (3 * math.Sqrt(3))},
		{expr.Sigmoid, wholeLine(), 2, -1 / (6 * math.Sqrt(3)), 1 / (6 * math.Sqrt(3))},
		{expr.Log1pExp, wholeLine(), 2, 0, 0.25},
		{expr.Log1pExp, Interval{-2, 1}, 2, math.Exp(-2) / ((1 + math.Exp(-2)) * (1 + math.Exp(-2))), 0.25},
		{expr.Sin, Interval{0, 2}, 0, 0, 1},
		{expr.Sin, Interval{3, 5}, 0, -1, math.Sin(3)},
		{expr.Cos, Interval{-1, 2}, 0, math.Cos(2), 1},
		{expr.Exp, Interval{-6, 3}, 0, math.Exp(-6), math.Exp(3)},
	} {
		j := unary(c.op, c.u)
		got := []Interval{j.v, j.d1, j.d2}[c.k]
		if math.Abs(got.Lo-c.from) > 1e-13*(1+math.Abs(c.from)) || math.Abs(got.Hi-c.to) > 1e-13*(1+math.Abs(c.to)) {
			t.Errorf("%s over %v: derivative %d is %v, want [%v, %v]", c.op, c.u, c.k, got, c.from, c.to)
		}
	}
}

// TestPieces: a range is cut where interval arithmetic needs it: no piece
// crosses 0 or spans more than an octave between 2^-12 and 2^12, none is wider
// than a thirty-second of a bounded range, and together they are the range.
func TestPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(39, *seed))
	end := func() float64 { return math.Ldexp(r.NormFloat64(), r.IntN(40)-20) }
	for range 2000 {
		a, b := end(), end()
		u := Interval{min(a, b), max(a, b)}
		if r.IntN(4) == 0 {
			u.Lo = math.Inf(-1)
		}
		if r.IntN(4) == 0 {
			u.Hi = math.Inf(1)
		}
		cuts := pieces(u)
		if cuts[0] != u.Lo || cuts[len(cuts)-1] != u.Hi || len(cuts) > 100 {
			t.Fatalf("%v is cut into %d pieces from %v to %v", u, len(cuts)-1, cuts[0], cuts[len(cuts)-1])
		}
		for i, hi := range cuts[1:] {
			lo := cuts[i]
			if !(lo < hi) || lo < 0 && hi > 0 {
				t.Fatalf("%v: a piece from %v to %v", u, lo, hi)
			}
			least, most := min(math.Abs(lo), math.Abs(hi)), max(math.Abs(lo), math.Abs(hi))
			if least >= 0x1p-12 && most <= 0x1p12 && most > 2*least {
				t.Fatalf("%v: a piece from %v to %v spans more than an octave", u, lo, hi)
			}
			if least < 0x1p-12 && most > 0x1p-12 || least < 0x1p12 && most > 0x1p12 {
				t.Fatalf("%v: a piece from %v to %v is not cut at the last octave", u, lo, hi)
			}
			if u.finite() && hi-lo > (u.Hi-u.Lo)/32*(1+1e-12) {
				t.Fatalf("%v: a piece from %v to %v is not among 32", u, lo, hi)
			}
		}
	}
}

// TestSoftmax holds ranges of the softmax against its values within the box, whose ends may be
// far apart or infinite, and asks that those of points are narrow, whatever their number.
func TestSoftmax(t *testing.T) {
	r := rand.New(rand.NewPCG(57, *seed))
	for range 3000 {
		u := make([]Interval, 1+r.IntN(5))
		spread := math.Ldexp(1, r.IntN(14))
		for k := range u {
			u[k].Lo = spread * r.NormFloat64()
			u[k].Hi = u[k].Lo + spread*r.ExpFloat64()*float64(r.IntN(2))
			switch r.IntN(8) {
			case 0:
				u[k].Lo = math.Inf(-1)
			case 1:
				u[k].Hi = math.Inf(1)
			}
		}
		p := softmaxRange(u)
		for range 10 {
			v := make([]float64, len(u))
			for k, e := range u {
				e = e.meet(Interval{-1e4, 1e4})
				v[k] = []float64{e.Lo, e.Hi, e.Lo + r.Float64()*(e.Hi-e.Lo)}[r.IntN(3)]
			}
			for k := range v {
				total := 1.0
				for j := range v {
					if j != k {
						total += math.Exp(v[j] - v[k])
					}
				}
				// The differences v_j - v_k that matter are below 750, and rounded to 2^-44.
				if want := 1 / total; want < p[k].Lo*(1-1e-12)-1e-300 || want > p[k].Hi*(1+1e-12)+1e-300 {
					t.Fatalf("entry %d at %v is %v, and over %v said to be in [%v, %v]", k, v, want, u, p[k].Lo, p[k].Hi)
				}
			}
		}
	}
	long := each.Below(1000, func(int) Interval { return point(r.NormFloat64()) })
	for k, p := range softmaxRange(long) {
		if !(p.Lo > 0 && p.Hi-p.Lo < 1e-11*p.Lo) {
			t.Fatalf("entry %d of many numbers: [%v, %v]", k, p.Lo, p.Hi)
		}
	}
}
