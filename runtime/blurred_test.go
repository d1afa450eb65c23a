package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/runtime"
)

// TestCurvaturesThatUnitsDoNotMend: followers whose curvature is 1e-6 along y_1 = y_2 and 1e6 across it,
// so that no units of y bring them together, held by nearly parallel rows. Rounding of the gradient of g,
// of terms of 1e6, is more than the force that tells which row holds y; along the way of y it is not.
func TestCurvaturesThatUnitsDoNotMend(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(14, 6))
	for k := range 4 {
		least, most := math.Pow(10, -6+rng.Float64()), math.Pow(10, 5+rng.Float64())
		a, b := rng.Float64()*1e-7, (1+rng.Float64())*1e-7
		text := fmt.Sprintf(`model blurred
upper { var x: real in box(-1, 1); minimize (y[1] - 1)^2 + 0.01 * x^2 }
lower {
  var y: vector[2]
  minimize %g * (y[1] - x)^2 + %g * (y[2] - y[1])^2
  subject to
    a: y[1] + %g * y[2] <= 0.5
    b: y[1] + %g * y[2] <= 0.5
}
`, least, most, a, b)
		r := solveText(t, text, runtime.Options{Seed: 1})
		at := 0.5 / (1 + b) // y[1] = y[2] = x up to there, then it stays
		want := (at-1)*(at-1) + 0.01*at*at
		if math.Abs(float64(r.Upper.Objective)-want) > 1e-6 {
			t.Errorf("%d: F %v, in truth %v: %s\n%s", k, r.Upper.Objective, want, r.Reason, text)
		}
		if r.Status != runtime.Solved {
			t.Errorf("%d: %s: %s\n%s", k, r.Status, r.Reason, text)
		}
	}
}
