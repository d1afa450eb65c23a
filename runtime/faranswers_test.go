package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
	"bilevelc/runtime/certify"
)

// TestAnswersAtFarX: the rows of a follower at an x far from 0 are what their large terms leave of them, next to which answers are rounding only to the last digits. Its answers are a box whose sides such
// rows set, exact in rational numbers, and f, linear in each entry, has its ends at corners. A document whose worst answer is beyond a side by less than programs tolerate of the terms is refused.
func TestAnswersAtFarX(t *testing.T) {
	forged := 0
	for seed := range members.Seeds(t, 60) {
		rng := rand.New(rand.NewPCG(seed, 22))
		x := math.Pow(10, 7+2*rng.Float64()) * float64(1-2*rng.IntN(2))
		a, rhs, hi := [2]float64{}, [2]float64{}, [2]float64{}
		for j := range a {
			a[j] = float64(1+rng.IntN(4)) * float64(1-2*rng.IntN(2))
			rhs[j] = math.Round((a[j]*x+1+2*rng.Float64())*16) / 16
			at := new(big.Rat).Mul(new(big.Rat).SetFloat64(a[j]), new(big.Rat).SetFloat64(x))
			hi[j], _ = new(big.Rat).Sub(new(big.Rat).SetFloat64(rhs[j]), at).Float64()
		}
		c, d, e := math.Round(8*rng.NormFloat64())/4, math.Round(8*rng.NormFloat64())/4, 1+math.Round(8*rng.Float64())/4
		text := fmt.Sprintf(`model far
upper {
  var x: real in box(-1e9, 1e9)
  minimize %g * y[1] + %g * y[2] + %g * y[1] * y[2]
}
lower {
  var y: vector[3] in box(-1, 4)
  minimize y[3]
  subject to
    first: %g * x + y[1] <= %.4f
    second: %g * x + y[2] <= %.4f
}
solve { ties = optimistic }
`, c, d, e, a[0], rhs[0], a[1], rhs[1])
		f := func(u, v float64) float64 { return c*u + d*v + e*u*v }
		ends := func(hi [2]float64) (least, most float64) {
			least, most = math.Inf(1), math.Inf(-1)
			for _, u := range []float64{-1, hi[0]} {
				for _, v := range []float64{-1, hi[1]} {
					least, most = min(least, f(u, v)), max(most, f(u, v))
				}
			}
			return least, most
		}
		p := bindText(t, text)
		r, err := p.Eval(context.Background(), runtime.Values{{Name: "x", Data: []float64{x}}}, runtime.Options{})
		if err != nil || r.Status != runtime.Solved || r.Lower.Ties == nil {
			t.Fatalf("seed %d: %v, %+v\n%s", seed, err, r, text)
		}
		least, most := ends(hi)
		rounding := 0x1p-48 * 4e9 * (math.Abs(c) + math.Abs(d) + 4*e)
		if best, worst := float64(r.Lower.Ties.Optimistic), float64(r.Lower.Ties.Pessimistic); math.IsNaN(best) || math.IsNaN(worst) { // a search that does not end says so
			continue
		} else if math.Abs(best-least) > rounding || math.Abs(worst-most) > rounding {
			t.Errorf("seed %d, x = %v: F from %v to %v, truly from %v to %v\n%s", seed, x, best, worst, least, most, text)
			continue
		}
		if !verified(p, r) {
			report, err := p.Verify(r)
			t.Errorf("seed %d: untouched: %v, %v\n%s", seed, err, report.Failures(), text)
		}
		for j := range hi {
			hi[j] += 3e-10 * math.Abs(a[j]*x)
		}
		lowest, beyond := ends(hi)
		if lowest < least-10*rounding { // with y there
			forged++
			copied := *r
			ties := *r.Lower.Ties
			for u := range 2 {
				for v := range 2 {
					if at := [2]float64{[]float64{-1, hi[0]}[u], []float64{-1, hi[1]}[v]}; f(at[0], at[1]) == lowest {
						copied.Lower.Variables = runtime.Values{{Name: "y", Shape: []int{3}, Data: []float64{at[0], at[1], -1}}}
					}
				}
			}
			ties.Optimistic, copied.Upper.Objective, copied.Lower.Ties = runtime.Number(lowest), runtime.Number(lowest), &ties
			report, err := p.Verify(&copied)
			if err != nil || !slices.ContainsFunc(report.Failures(), func(c certify.Check) bool { return strings.HasSuffix(c.Claim, "best for the leader") }) {
				t.Errorf("seed %d, x = %v: F = %v at y = %v is taken for that of an answer, the best has %v: %v\n%s", seed, x, lowest, copied.Lower.Variables[0].Data, least, err, text)
			}
		}
		if beyond > most+10*rounding {
			forged++
			r.Lower.Ties.Pessimistic = runtime.Number(beyond)
			if verified(p, r) {
				t.Errorf("seed %d, x = %v: a worst F of %v passes, truly %v\n%s", seed, x, beyond, most, text)
			}
		}
	}
	t.Logf("%d forged", forged)
	if forged < 5 {
		t.Errorf("only %d forged", forged)
	}
}
