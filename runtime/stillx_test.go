package runtime_test

import (
	"fmt"
	"math"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// Where no term moves F with x, as at x = 0 of a square, where every second run begins, the derivative of grad_x g along the adjoint has nothing else to be measured by (BOLIB's Colson2002BIPA4). The others end
// there from afar: next to x = 0, where its bound holds it, nothing but the slope of F says how long x is.
func TestNoTermMovesF(t *testing.T) {
	rng := members.Rand(t, 34)
	for k := range members.Of(40, 1000) {
		a, b := 10*rng.Float64(), 0.1+rng.Float64()
		x := 0.0
		if k%2 == 1 {
			x = 1000 * rng.Float64()
		}
		r := solveText(t, fmt.Sprintf(`model still
upper {
  var x: real in nonneg
  minimize (y - %v)^2 + x^2
}
lower {
  var y: real in box(0, 5)
  minimize x - %v * y - x^2 + x^3 + 2 * y^3
}
solve { ties = optimistic }
`, a, b), runtime.Options{Start: runtime.Values{{Name: "x", Data: []float64{x}}}, Starts: k % 2})
		if want := math.Pow(math.Sqrt(b/6)-a, 2); r.Status != runtime.Solved || math.Abs(float64(r.Upper.Objective)-want) > 1e-8*(1+want) {
			t.Errorf("a = %v, b = %v: %v (%s), F = %v for %v", a, b, r.Status, r.Reason, r.Upper.Objective, want)
		}
	}
}

// Equality rows make up for a Hessian of g that is not definite; at a point where it is not finite, as that of a logarithm may be next to 0, none do, and a run does not look for them for ever.
func TestHessiansThatAreNotFinite(t *testing.T) {
	r := solveText(t, `model m
upper {
  var x: vector[3] in box([(-1e6), (-1e6), (-1e6)], [1e6, 1e6, (-1e6)])
  maximize -((-0.5e-2) * x[1] + (-3e-2) * x[2] + 2e4 * y[2] + 0.5 * 2e-8 * x[1]^2 + 0.5 * 1e-8 * x[2]^2 + 0.5 * 2e-8 * x[3]^2 + 0.5 * 1e4 * y[1]^2 + 0.5 * 1e4 * y[2]^2)
}
lower {
  var y: vector[2] in nonneg
  maximize -((-2e4) * y[2] + 0.2e-2 * x[1] * y[1] + 1e-2 * x[1] * y[2] + (-0.2e-2) * x[2] * y[1] + 0.5 * 19.9e4 * y[1]^2 + 6e4 * y[1] * y[2] + 0.5 * 7e4 * y[2]^2 + 1e4 * (1 * y[1]) * log(1 * y[1]))
  subject to
    r1: (-2e1) * y[1] + 3e1 * y[2] <= 3.2e1
    r2: (-3e1) * y[2] == (-1.5e1)
    r3: (-9e1) * y[2] == (-4.5e1)
    r4: 1.6e-5 * x[1] + 3e-5 * x[2] <= 0
    r5: (-2e1) * y[2] <= 1e1
}
`, runtime.Options{})
	if want := -18602.86624; r.Status != runtime.Solved || math.Abs(float64(r.Upper.Objective)-want) > 1e-8*math.Abs(want) { // in units of 1 it is -1.860286624
		t.Errorf("%v (%s), F = %v", r.Status, r.Reason, r.Upper.Objective)
	}
}
