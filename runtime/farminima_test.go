package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// farMinimum is a program of one leader's variable whose F falls as -log(x) over many decades before what it costs to go on
// stops it, and F as a function of x, where the follower's y is found by bisection. Far out the second derivatives of F are
// small beside the rounding of those of g that they are made of.
func farMinimum(r *rand.Rand) (text string, f func(x float64) float64) {
	number := func() float64 { return float64(1+r.IntN(8)) / 2 }
	gain, unit, base := number(), math.Pow(10, float64(r.IntN(3)-1)), number()*math.Pow(10, float64(r.IntN(3)))
	weight := number() * math.Pow(10, float64(r.IntN(4)-2))
	cost := number() * gain * base / unit * math.Pow(10, -float64(3+r.IntN(6))) // F of x is level where x costs gain base/unit
	within, price := " in box(0, inf)", "x"
	squared := r.IntN(2) == 0
	if squared {
		within, price = "", "x^2"
	}
	text = fmt.Sprintf("model far\nupper {\n  var x: real%s\n  minimize -%g * log(1 + exp(y / %g)) + %g * %s\n}\nlower {\n  var y: real\n  minimize (y - x)^2 + %g * exp(y / %g)\n}\n",
		within, gain, unit, cost, price, weight, base)
	return text, func(x float64) float64 {
		lo, hi := -2000*base, x
		for range 200 {
			if y := (lo + hi) / 2; 2*(y-x)+weight/base*math.Exp(y/base) > 0 {
				hi = y
			} else {
				lo = y
			}
		}
		u := lo / unit
		v := -gain * (math.Max(u, 0) + math.Log1p(math.Exp(-math.Abs(u))))
		if squared {
			return v + cost*x*x
		}
		return v + cost*x
	}
}

// A step by a curvature that is the rounding of what it is made of is lengthened while F falls as steeply as before: such runs did not end.
func TestFarMinimaAreReached(t *testing.T) {
	t.Parallel()
	for seed := range members.SeedsOf(t, 12, 300) {
		text, f := farMinimum(rand.New(rand.NewPCG(seed, 977)))
		best, where := f(0), 0.0
		for k := -600; k <= 1500; k++ {
			if x := math.Pow(10, float64(k)/100); f(x) < best {
				best, where = f(x), x
			}
		}
		for width := 1.03; width > 1+1e-9; width = 1 + (width-1)/2 {
			for _, x := range []float64{where / width, where * width} {
				if f(x) < best {
					best, where = f(x), x
				}
			}
		}
		r := solveText(t, text, runtime.Options{Seed: seed, MaxIter: 200})
		got := float64(r.Upper.Objective)
		at, _ := r.Upper.Variables.Get("x")
		x := at.Data[0]
		wide := 1e-3 * math.Max(1, math.Abs(x))
		lowest := math.Abs(got-best) <= 1e-6*math.Max(1, math.Abs(best))
		local := math.Abs(got-f(x)) <= 1e-12 && f(x) < math.Min(f(x-wide), f(x+wide)) // of the price alone, where exp is still nothing
		if r.Status != runtime.Solved || !lowest && !local {
			t.Errorf("seed %d: %s after %d iterations (%s), F %v, truly %v at %v, calls %v\n%s", seed, r.Status, r.Iterations, r.Reason, r.Upper.Objective, best, where, r.Calls, text)
		}
	}
}
