package runtime_test

import (
	"fmt"
	"math"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// Where no term moves F with x, as at x = 0 of a square, the derivative of grad_x g along the adjoint has nothing else to be measured by (BOLIB's Colson2002BIPA4).
func TestNoTermMovesF(t *testing.T) {
	rng := members.Rand(t, 34)
	for range members.Of(20, 500) {
		a, b := 10*rng.Float64(), 0.1+rng.Float64()
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
`, a, b), runtime.Options{})
		if want := math.Pow(math.Sqrt(b/6)-a, 2); r.Status != runtime.Solved || math.Abs(float64(r.Upper.Objective)-want) > 1e-8*(1+want) {
			t.Errorf("a = %v, b = %v: %v (%s), F = %v for %v", a, b, r.Status, r.Reason, r.Upper.Objective, want)
		}
	}
}
