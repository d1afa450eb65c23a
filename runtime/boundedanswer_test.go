package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestStartsWithoutAnswers: the follower has a bound in a small corner of X alone, where no start of a few falls. The least F there is found, whose place is known, and no start's fate is taken for F's.
func TestStartsWithoutAnswers(t *testing.T) {
	for seed := range members.Seeds(t, 100) {
		rng := rand.New(rand.NewPCG(seed, 73))
		n := 1 + rng.IntN(4)
		b := float64(n) * (0.5 + 0.49*rng.Float64())
		f, rows := "sum(exp(-x)) + y", ""
		want := float64(n) * math.Exp(b/float64(n))
		switch rng.IntN(3) {
		case 0:
			f, want = "sumsq(x - 3) + y", float64(n)*math.Pow(b/float64(n)+3, 2)
		case 1:
			rows = fmt.Sprintf("\n  subject to q: x[1] * x[%d] <= 1e7", n)
		}
		text := fmt.Sprintf("model m\nsolve { ties = optimistic }\nupper {\n  var x: vector[%d] in box(-1, 100)\n  minimize %s%s\n}\nlower {\n  var y: real in nonneg\n  minimize -(sum(x) + %.17g) * y\n}\n", n, f, rows, b)
		p := bindText(t, text)
		r, err := p.Solve(t.Context(), runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != runtime.Solved || !verified(p, r) || math.Abs(float64(r.Upper.Objective)-want) > 1e-6*want {
			t.Errorf("seed %d: %s, %s, F %v, not %v\n%s", seed, r.Status, r.Reason, float64(r.Upper.Objective), want, text)
		}
	}
}

// TestStartsWithoutAnswersBesideRows: the same with a follower that is not quadratic, has no bound where x < 0 and is indifferent to y[1] at x = 0, up to what a row of the leader allows.
func TestStartsWithoutAnswersBesideRows(t *testing.T) {
	t.Parallel()
	for seed := range members.SeedsOf(t, 8, 30) {
		rng := rand.New(rand.NewPCG(seed, 74))
		a, b, c := 0.5+2*rng.Float64(), 0.2+rng.Float64(), 1+4*rng.Float64()
		f, want := fmt.Sprintf("x - %.17g * y[1]", a), -a*c/2
		if rng.IntN(2) == 0 {
			f, want = "exp("+f+")", math.Exp(want)
		}
		text := fmt.Sprintf("model m\nsolve { ties = optimistic }\nupper {\n  var x: real in box(-5, 0.1)\n  minimize %s\n  subject to q: 2 * y[1] + 3 * y[2] + x <= %.17g\n}\nlower {\n  var y: vector[2] in nonneg\n  minimize sqrt(1 + (%.17g * y[2] + 2 * x)^2) + x * sum(y)\n}\n", f, c, b)
		r := solveText(t, text, runtime.Options{Seed: seed})
		if r.Status != runtime.Solved || math.Abs(float64(r.Upper.Objective)-want) > 1e-6*math.Abs(want) {
			t.Errorf("seed %d: %s, %s, F %v, not %v\n%s", seed, r.Status, r.Reason, float64(r.Upper.Objective), want, text)
		}
	}
}

// TestUnboundedAnswersAreNotF: where no point with an answer is found the run has failed; F is not said to fall.
func TestUnboundedAnswersAreNotF(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"model m\nupper {\n  var x: real in box(1, 2)\n  minimize x + y\n}\nlower {\n  var y: real in nonneg\n  minimize exp(-y) - x * y\n}\n",
		"model m\nupper {\n  var x: real in box(-1, 100)\n  minimize sumsq(x - 50) + y\n}\nlower {\n  var y: real in box(0, inf)\n  minimize exp(-y) - x * y\n}\n",
		"model m\nsolve { ties = optimistic }\nupper {\n  var x: real in box(0, 1)\n  minimize x + y\n  subject to q: x * y <= 4\n}\nlower {\n  var y: real in nonneg\n  minimize -y\n}\n",
	} {
		r := solveText(t, text, runtime.Options{})
		if r.Status == runtime.Unbounded || r.Status == runtime.Solved {
			t.Errorf("%s, %s\n%s", r.Status, r.Reason, text)
		}
		if !r.HasPoint() && !r.Diagnostics.HasErrors() {
			t.Errorf("nothing says where: %s\n%s", r.Reason, text)
		}
	}
}
