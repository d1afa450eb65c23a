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

// TestAnswersThatCancel: at x = 0 the terms of grad_y g cancel at y = 0, and what a solver has is rounding, of which no part of y tells. The bound on the distance to y* holds, and the solution passes its verification.
func TestAnswersThatCancel(t *testing.T) {
	forms := []struct {
		text  string
		slope float64 // at 0
	}{{"0.5 * exp(2 * y)", 1}, {"exp(y)", 1}, {"log1pexp(y) + 0.25 * y^2", 0.5}, {"exp(y) + exp(-y)", 0}, {"-2 * log(y + 4)", -0.5}, {"3 * sqrt(1 + y^2)", 0}, {"0.25 * y^4 + 0.5 * y^2", 0}}
	for seed := range members.Seeds(t, 200) {
		rng := rand.New(rand.NewPCG(seed, 72))
		form, weight := forms[seed%uint64(len(forms))], math.Pow(10, float64(rng.IntN(7)-3))
		text := fmt.Sprintf(`model m
upper {
  var x: vector[2] in box([-2, 0], [2, 3])
  minimize sin(%d * x[1]) + exp(y / 2) - y + 0.2 * sumsq(x)
}
lower {
  var y: real in box(-3, 0)
  minimize %g * (%s - (%g - %g * x[2]) * y)
}
`, 1+rng.IntN(3), weight, form.text, form.slope, []float64{0.5, 1, 2}[rng.IntN(3)])
		p := bindText(t, text)
		at, err := p.Eval(context.Background(), runtime.Values{{Name: "x", Shape: []int{2}, Data: []float64{rng.NormFloat64() / 2, 0}}}, runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		y, ok := at.Lower.Variables.Get("y")
		if !ok || math.Abs(y.Data[0]) > float64(at.Lower.ErrorBound) {
			t.Errorf("seed %d: y is %v, and its error at most %g\n%s", seed, y, float64(at.Lower.ErrorBound), text)
		}
		if r, err := p.Solve(context.Background(), runtime.Options{}); err != nil || r.Status != runtime.Solved || !verified(p, r) {
			t.Errorf("seed %d: %v, %s, %v\n%s", seed, r.Status, r.Reason, err, text)
		}
	}
}
