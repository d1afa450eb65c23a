package runtime

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
)

// An evaluation's hypergradient is that of the branch on which the point lies, however near another one is: y = max(x - a, 0) and F = -y, with y next to 0 and x far from it. The gradient of
// the other branch, with the multipliers of that, is refused on either side of the kink by what those leave, whatever a solver says.
func TestGradientOfTheOtherBranch(t *testing.T) {
	forged := 0
	for k := range members.Seeds(t, 60) {
		rng := rand.New(rand.NewPCG(k, 45))
		a, unit := math.Ldexp(1, rng.IntN(12)), math.Pow(10, float64(rng.IntN(9)-4))
		p := mustBind(t, fmt.Sprintf("model other\nupper {\n  var x: real in box(0, %g)\n  maximize %g * y[1]\n}\nlower {\n  var y: vector[2] in nonneg\n  minimize (y[1] - x + %g)^2 + %s\n}\nsolve { ties = optimistic }\n",
			2*a, unit, a, []string{"0 * y[2]", "(y[2] - x)^2"}[k%2]))
		x := a * (1 + math.Ldexp(float64(2*rng.IntN(2)-1), -8-rng.IntN(15))) // no nearer to a than rows are told apart by
		r, err := p.Eval(t.Context(), Values{{Name: "x", Data: []float64{x}}}, Options{})
		if err != nil || r.Status != Solved {
			t.Fatalf("member %d: %v, %+v", k, err, r)
		}
		if report, err := p.Verify(r); err != nil || !report.OK() {
			t.Errorf("member %d: untouched: %v %v", k, err, report.Failures())
		}
		if r.Upper.Hypergradient == nil || r.Certificate.Gradient == nil {
			continue
		}
		// F = -unit y[1] of the run's minimization; H = 2, G = -2; row 0 is y[1] >= 0.
		other, m := 0.0, *r.Certificate.Gradient
		m.Adjoint, m.Slack, m.Multiplier = append([]float64(nil), m.Adjoint...), append([]float64(nil), m.Slack...), append([]float64(nil), m.Multiplier...)
		m.Adjoint[0], m.Slack[0], m.Multiplier[0] = 0, -unit, 0
		if x < a { // the other branch is that with slack
			other = unit
			m.Adjoint[0], m.Slack[0], m.Multiplier[0] = -unit/2, 0, -unit/2
		}
		m.Bound = []float64{-other}
		r.Certificate.Gradient = &m
		r.Upper.Hypergradient[0].Data = []float64{other}
		forged++
		if report, err := p.Verify(r); err == nil && !refuses(report, "gradient along the branch") {
			t.Errorf("member %d: the gradient %g at x = %v passes, a = %g, F times %g", k, other, x, a, unit)
		}
	}
	if forged < members.Count(60)/8 {
		t.Errorf("only %d forged", forged)
	}
}
