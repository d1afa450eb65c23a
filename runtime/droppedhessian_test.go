package runtime_test

import (
	"math"
	"testing"

	"bilevelc/runtime"
)

// A step of a Hessian that is known may show that it was not the right one, on the way to what is left to decide where rows neither have slack nor press: it is measured again then. At the optimum, x = (0, 1, -1), all
// rows are biactive; the solve ended in a panic.
func TestKnownHessianIsDropped(t *testing.T) {
	r := solveText(t, `model dropped
upper {
  var x: vector[3] in box([-1, -1, -1], [1, 1, 1])
  minimize 2.9 * y[2] + 2 * y[3]
}
lower {
  var y: vector[3] in nonneg
  minimize -3 * y[2] - 2 * x[1] * y[1] + x[1] * y[3] + 3 * x[2] * y[2] - x[2] * y[3] - x[3] * y[3] + 0.5 * 6.84 * y[1]^2 - 4.4 * y[1] * y[2] + 0.5 * 7 * y[2]^2 + 0.5 * y[3]^2
}
`, runtime.Options{Oracle: "difference", Solver: "alm"})
	if f := float64(r.Upper.Objective); math.Abs(f) > 1e-5 {
		t.Errorf("%s (%s), F %v, and the least is 0", r.Status, r.Reason, f)
	}
}
