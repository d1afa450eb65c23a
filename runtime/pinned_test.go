package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// Where a bound and a row of the leader's interest hold y at one value, one multiplier of the certificate belongs to both, and to the one that is biactive only
// where it has the sign of a minimum. F is piecewise linear in x then: its least value is at an end of X or where no force is left on y.
func TestCertificatesOfPinnedAnswers(t *testing.T) {
	for seed := range members.Seeds(t, 200) {
		r := rand.New(rand.NewPCG(seed, 979))
		number := func() float64 { return float64(r.IntN(17)-8) / 2 }
		at, unit, most := number(), []float64{1, 2, 4, 64}[r.IntN(4)], 1+float64(r.IntN(5))
		a, b, read := number(), number(), float64(1+r.IntN(8))/2
		force, slope, curvature := number(), number(), float64(r.IntN(3))
		text := fmt.Sprintf("model pinned\nupper {\n  var x: real in box(-%g, %g)\n  minimize %g * x + %g * y + %g * dual(high)\n}\n"+
			"lower {\n  var y: real in box(%g, inf)\n  minimize %g * y + %g * x * y + %g * y^2\n  subject to\n    high: -%g * y >= %g\n}\nsolve { ties = optimistic }\n",
			most, most, a, b, read, at, force, slope, curvature, unit, -unit*at)
		best := math.Inf(1)
		for _, x := range []float64{-most, most, -(force + 2*curvature*at) / slope} {
			if math.Abs(x) <= most {
				best = math.Min(best, a*x+b*at+read*math.Max(0, -(force+slope*x+2*curvature*at))/unit)
			}
		}
		if s := solveText(t, text, runtime.Options{Seed: seed}); s.Status != runtime.Solved || s.Global == nil || !s.Global.Proved || !(math.Abs(float64(s.Upper.Objective)-best) <= 1e-6*(1+math.Abs(best))) {
			t.Errorf("seed %d: %s: %s: F %v, truly %v; %+v\n%s", seed, s.Status, s.Reason, s.Upper.Objective, best, s.Global, text)
		}
	}
}
