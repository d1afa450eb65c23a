package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestWorstAnswerBesideWholeNumbers: F with the worst of the follower's answers is with one at the result's own whole numbers. g does
// not read y, so that all that its box and row leave are its answers, and f is a parabola of y1 for each of the ends of y2, where its worst
// is at an end and its best where it is level, if that is between them.
func TestWorstAnswerBesideWholeNumbers(t *testing.T) {
	for k := range members.Known(t, 100) {
		rng := rand.New(rand.NewPCG(k, 43))
		draw := func() float64 { return math.Round(20*rng.Float64()-10) / 2 }
		a, b, c, d, e := draw(), draw(), draw(), draw(), draw()
		h := 0.5 + math.Abs(draw())
		if e == 0 {
			e = 1
		}
		text := fmt.Sprintf(`model whole
upper {
  var x: integer in box(-2, 3)
  minimize %v * x + %v * y1 + %v * x * y1 + %v * x * y2 + %v * y1 * y2 + %v * y1^2
}
lower {
  var y1: real in box(-1, 2)
  var y2: real in box(-3, 1)
  minimize 0
  subject to
    r: y1 <= 1 + 0.25 * x
}
solve { ties = optimistic }
`, a, b, c, d, e, h)
		ends := func(x float64) (best, worst float64) {
			best, worst = math.Inf(1), math.Inf(-1)
			for _, y2 := range []float64{-3, 1} {
				most := math.Min(2, 1+0.25*x)
				for _, y1 := range []float64{-1, most, math.Max(-1, math.Min(most, -(b+c*x+e*y2)/(2*h)))} {
					f := a*x + b*y1 + c*x*y1 + d*x*y2 + e*y1*y2 + h*y1*y1
					best, worst = math.Min(best, f), math.Max(worst, f)
				}
			}
			return best, worst
		}
		least := math.Inf(1)
		for x := -2.0; x <= 3; x++ {
			best, _ := ends(x)
			least = math.Min(least, best)
		}
		r := solveText(t, text, runtime.Options{})
		x, _ := r.Upper.Variables.Get("x")
		if r.Status != runtime.Solved {
			t.Errorf("%d: %s (%s)\n%s", k, r.Status, r.Reason, text)
			continue
		}
		if _, worst := ends(x.Data[0]); math.Abs(float64(r.Lower.Ties.Pessimistic)-worst) > 1e-6 || math.Abs(float64(r.Upper.Objective)-least) > 1e-6 {
			t.Errorf("%d: F %v, truly %v; the worst %v, truly %v\n%s", k, r.Upper.Objective, least, r.Lower.Ties.Pessimistic, worst, text)
		}
	}
}
