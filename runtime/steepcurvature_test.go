package runtime_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// The second derivative of |e|^p has no bound at e = 0 for p < 2, and Newton's method for the follower's answer does not converge next to it, though F is smooth across: steps of Newton's method on F that ended
// where no answer was found crept up to that x, thousands of them, each a few evaluations of F, and so did those by gradients of the follower's path that were off there by seven times F's own, of member 372476370 for three minutes.
func TestCurvaturesWithoutABound(t *testing.T) {
	t.Parallel()
	for _, trial := range append(slices.Collect(members.SeedsOf(t, 12, 40)), 372476370) {
		rng := rand.New(rand.NewPCG(trial, 915))
		p := 1.3 + 0.4*rng.Float64()
		power := func() string {
			return fmt.Sprintf("abs(%g * y[1] + %g * y[2] + %g * x)^%g", 3*rng.NormFloat64(), 3*rng.NormFloat64(), 3*rng.NormFloat64(), p)
		}
		text := fmt.Sprintf("model steep\nupper {\n  var x: real in box(-2, 3)\n  minimize y[1] * x + log1pexp(2 * y[1]) + %g * x\n}\nlower {\n  var y: vector[2]\n  minimize %s + %s + sumsq(y - x)\n}\n",
			0.05*rng.NormFloat64(), power(), power())
		r := solveText(t, text, runtime.Options{Seed: trial})
		if r.Calls.F > 5000 {
			t.Errorf("trial %d: %d evaluations of f\n%s", trial, r.Calls.F, text)
		}
		if !r.HasPoint() {
			t.Errorf("trial %d: %s (%s) after %d evaluations of f\n%s", trial, r.Status, r.Reason, r.Calls.F, text)
		}
	}
}
