package runtime_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestSlopesAtFarX: F' of followers that read x - u, of entries that are up to 1e14, beside which y and F' are small. What is said of the error of F' holds, by a solution of the
// follower's equations in 300 bits, and near 0 it is no more than a thousand roundings of F's terms; and documents pass their verification, or say that F' is not known.
func TestSlopesAtFarX(t *testing.T) {
	number := func(v float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(v) }
	times := func(a, b *big.Float) *big.Float { return new(big.Float).Mul(a, b) }
	plus := func(sum *big.Float, more ...*big.Float) *big.Float {
		for _, v := range more {
			sum = new(big.Float).Add(sum, v)
		}
		return sum
	}
	unknown := 0
	for seed := range members.Seeds(t, 300) {
		rng := rand.New(rand.NewPCG(seed, 78))
		part := func() float64 { return math.Round(8*rng.NormFloat64()) / 4 }
		positive := func() float64 { return 0.25 + math.Round(8*rng.Float64())/4 }
		x, off := math.Pow(10, 14*rng.Float64()), part()
		u := x - off
		p, cross, square, c := part(), part(), part(), part()/16
		w, s := [2]float64{positive(), positive()}, [2]float64{part(), part()}
		text := fmt.Sprintf(`model far
upper {
  var x: real
  var u: real
  minimize (y[1] - (%[1]g))^2 + (%[2]g) * y[2] * (x - u) + (%[3]g) * (x - u)^2
}
lower {
  var y: vector[2]
  minimize %[4]g * (y[1] - (%[5]g) * (x - u))^2 + %[6]g * (y[2] - (%[7]g) * x + (%[7]g) * u)^2 + (%[8]g) * y[1] * y[2]
}
`, p, cross, square, w[0], s[0], w[1], s[1], c)
		problem := bindText(t, text)
		if !(problem.Numeric.Facts.StrongConvexity > 0) {
			continue
		}
		r, err := problem.Eval(t.Context(), runtime.Values{{Name: "x", Data: []float64{x}}, {Name: "u", Data: []float64{u}}}, runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != runtime.Solved {
			continue
		}
		if report, err := problem.Verify(r); err != nil || len(report.Failures()) > 0 {
			t.Errorf("seed %d, x = %g: F' %v, claimed to %v: %v, %v\n%s", seed, x, r.Upper.Hypergradient, r.Stationarity.GradientError, err, report.Failures(), text)
		}
		if len(r.Upper.Hypergradient) == 0 {
			if unknown++; x < 1e3 {
				t.Errorf("seed %d, x = %g: F' is not known: %v\n%s", seed, x, r.Notes, text)
			}
			continue
		}
		// y = slope (x - u), of the matrix (2w, c; c, 2w).
		apart := plus(number(x), number(-u))
		det := plus(times(number(4*w[0]), number(w[1])), times(number(-c), number(c)))
		var slope [2]*big.Float
		for j := range slope {
			k := 1 - j
			slope[j] = plus(times(times(number(4*w[k]), number(w[j])), number(s[j])), times(times(number(-2*w[k]), number(s[k])), number(c)))
			slope[j].Quo(slope[j], det)
		}
		parts := []*big.Float{times(times(number(2), slope[0]), times(slope[0], apart)), times(times(number(-2*p), slope[0]), number(1)),
			times(times(number(2*cross), slope[1]), apart), times(number(2*square), apart)}
		truth, _ := plus(parts[0], parts[1:]...).Float64()
		terms := 0.0
		for _, v := range parts {
			size, _ := v.Float64()
			terms += math.Abs(size)
		}
		claimed := float64(r.Stationarity.GradientError)
		for j, got := range r.Upper.Hypergradient {
			if wrong := math.Abs(got.Data[0] - truth*float64(1-2*j)); wrong > 4*claimed+0x1p-50*terms {
				t.Errorf("seed %d, x = %g: F' is %v, off by %g, claimed %g\n%s", seed, x, got, wrong, claimed, text)
			}
		}
		if x < 10 && claimed > 1e3*0x1p-53*(terms+math.Abs(p)+math.Abs(off)+x*1e2) {
			t.Errorf("seed %d, x = %g: F' is known to %g, of terms of %g\n%s", seed, x, claimed, terms, text)
		}
	}
	t.Logf("%d are not known", unknown)
}

// TestQuarticsAtFarX: followers that read x - u alone, with fourth powers of it, at entries of 1e3 to 1e7: F' is that of the same x - u next to 0, and documents pass their verification.
func TestQuarticsAtFarX(t *testing.T) {
	given := 0
	for seed := range members.Seeds(t, 300) {
		rng := rand.New(rand.NewPCG(seed, 79))
		part := func() float64 { return math.Round(8*rng.NormFloat64()) / 4 }
		positive := func() float64 { return 0.25 + math.Round(8*rng.Float64())/4 }
		x := math.Pow(10, 3+4*rng.Float64())
		u := x - part()
		text := fmt.Sprintf(`model far
upper {
  var x: real
  var u: real
  minimize (y[1] - (%g))^2 + (%g) * y[2] * (x - u)
}
lower {
  var y: vector[2]
  minimize %g * (y[1] - (%g) * (x - u))^2 + %g * (y[2] - (%g) * (x - u))^2 + %g * (y[1] + (%g) * (x - u))^4
}
`, part(), part(), positive(), part(), positive(), part(), positive(), part())
		problem := bindText(t, text)
		var slopes, errors [2]float64
		for k, at := range [][2]float64{{x, u}, {x - u, 0}} {
			r, err := problem.Eval(t.Context(), runtime.Values{{Name: "x", Data: at[:1]}, {Name: "u", Data: at[1:]}}, runtime.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if report, err := problem.Verify(r); err != nil || len(report.Failures()) > 0 {
				t.Errorf("seed %d, x = %g: F' %v, claimed to %v: %v, %v\n%s", seed, at[0], r.Upper.Hypergradient, r.Stationarity.GradientError, err, report.Failures(), text)
			}
			errors[k] = math.NaN()
			if len(r.Upper.Hypergradient) > 0 {
				slopes[k], errors[k] = r.Upper.Hypergradient[0].Data[0], float64(r.Stationarity.GradientError)
			}
		}
		if off := math.Abs(slopes[0] - slopes[1]); off > 32*(errors[0]+errors[1])+1e-9*math.Abs(slopes[1]) {
			t.Errorf("seed %d, x = %g: F' is %v to %v, next to 0 %v to %v\n%s", seed, x, slopes[0], errors[0], slopes[1], errors[1], text)
		} else if !math.IsNaN(off + errors[0] + errors[1]) {
			given++
		}
	}
	if given < members.Count(300)/2 {
		t.Errorf("%d slopes were given", given)
	}
}
