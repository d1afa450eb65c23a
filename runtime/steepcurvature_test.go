package runtime_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// The second derivative of |e|^p has no bound at e = 0 for p < 2, and Newton's method for the follower's answer does not converge next to it, though F is smooth across: steps of Newton's method on F that ended
// where no answer was found crept up to that x, thousands of them, each a few evaluations of F.
func TestCurvaturesWithoutABound(t *testing.T) {
	t.Parallel()
	trials, slow := 0, 0
	for trial := range members.Seeds(t, 40) {
		rng := rand.New(rand.NewPCG(trial, 915))
		p := 1.3 + 0.4*rng.Float64()
		power := func() string {
			return fmt.Sprintf("abs(%g * y[1] + %g * y[2] + %g * x)^%g", 3*rng.NormFloat64(), 3*rng.NormFloat64(), 3*rng.NormFloat64(), p)
		}
		text := fmt.Sprintf("model steep\nupper {\n  var x: real in box(-2, 3)\n  minimize y[1] * x + log1pexp(2 * y[1]) + %g * x\n}\nlower {\n  var y: vector[2]\n  minimize %s + %s + sumsq(y - x)\n}\n",
			0.05*rng.NormFloat64(), power(), power())
		r := solveText(t, text, runtime.Options{Seed: trial})
		if trials++; r.Calls.F > 5000 { // one of 600: member 372476370
			slow++
		}
		if !r.HasPoint() {
			t.Errorf("trial %d: %s (%s) after %d evaluations of f\n%s", trial, r.Status, r.Reason, r.Calls.F, text)
		}
	}
	if slow > members.Misses(trials, 0.003) {
		t.Errorf("%d of %d took more than 5,000 evaluations of f", slow, trials)
	}
}
