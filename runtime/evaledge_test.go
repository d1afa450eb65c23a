package runtime_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestEvalAtTheEdge: a x + b y <= c with c = a x in decimals leaves y = 0 its only answer at x, whatever rounding makes of a x, and none a millionth beyond.
func TestEvalAtTheEdge(t *testing.T) {
	for k := range members.Known(t, 400) {
		rng := rand.New(rand.NewPCG(k, 34))
		a, x := 1+rng.IntN(99), 1+rng.IntN(199) // tenths
		lo := x - 1 - rng.IntN(30)
		g := []string{"-y", "0.5 * y^2 - 3 * y"}[rng.IntN(2)]
		text := fmt.Sprintf("model m\nupper {\n  var x: real in box(%de-1, %de-1)\n  minimize -x - 3 * y\n}\nlower {\n  var y: real in box(0, 2)\n  minimize %s\n  subject to\n    r: %de-1 * x + %de-1 * y <= %de-2\n}\nsolve { ties = optimistic }\n",
			lo, x, g, a, 1+rng.IntN(30), a*x)
		p := bindText(t, text)
		at := func(v float64) *runtime.Result {
			r, err := p.Eval(context.Background(), runtime.Values{{Name: "x", Data: []float64{v}}}, runtime.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		if r := at(float64(x) / 10); r.Status != runtime.Solved {
			t.Errorf("%d: %s (%s) at x = %v\n%s", k, r.Status, r.Reason, float64(x)/10, text)
		} else if y, _ := r.Lower.Variables.Get("y"); y.Data[0] > 1e-9*float64(a*x) {
			t.Errorf("%d: y = %v at x = %v\n%s", k, y.Data[0], float64(x)/10, text)
		}
		if r := at(float64(x) / 10 * (1 + 1e-6)); r.Status != runtime.Infeasible {
			t.Errorf("%d: %s (%s) beyond\n%s", k, r.Status, r.Reason, text)
		}
	}
}
