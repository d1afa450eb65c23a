package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestFollowersHeldByRows: entries of y that rows fix, equations or two inequalities, and in which g is linear, are no reason to doubt
// that g is strongly convex along the rows. F is a parabola of x, whose least value is written down.
func TestFollowersHeldByRows(t *testing.T) {
	for k := range members.Known(t, 100) {
		rng := rand.New(rand.NewPCG(k, 33))
		draw := func() float64 { return math.Round(20*rng.Float64()-10) / 4 }
		lo := draw()
		hi := lo + 0.25 + math.Abs(draw())
		a, b, c, d, p, q, s := draw(), draw(), draw(), draw(), draw(), draw(), draw()
		h := 0.25 + math.Abs(draw())
		held := fmt.Sprintf("held: y1 - %v * x == %v", a, b)
		if k%2 == 1 { // two inequalities
			a = 0
			held = fmt.Sprintf("above: y1 >= %v\n    below: 2 * y1 <= %v", b, 2*b)
		}
		text := fmt.Sprintf(`model held
upper {
  var x: real in box(%v, %v)
  minimize (y1 - %v)^2 + (y2 - %v)^2 + %v * x
}
lower {
  var y1: real
  var y2: real
  minimize %v * y1 + %v * y2^2 - (%v * x + %v) * y2
  subject to
    %s
}
solve { ties = optimistic }
`, lo, hi, p, q, s, draw(), h/2, c, d, held)
		r := solveText(t, text, runtime.Options{})
		f := func(x float64) float64 {
			y1, y2 := a*x+b, (c*x+d)/h
			return (y1-p)*(y1-p) + (y2-q)*(y2-q) + s*x
		}
		curve := 2 * (a*a + c*c/(h*h))
		slope := 2*a*(b-p) + 2*c/h*(d/h-q) + s // at 0
		least := math.Min(f(lo), f(hi))
		if curve > 0 {
			least = f(math.Max(lo, math.Min(hi, -slope/curve)))
		}
		if r.Status != runtime.Solved || math.Abs(float64(r.Upper.Objective)-least) > 1e-6*(1+math.Abs(least)) {
			t.Errorf("%d: %s, F %v, truly %v (%s)\n%s", k, r.Status, r.Upper.Objective, least, r.Reason, text)
		}
	}
}
