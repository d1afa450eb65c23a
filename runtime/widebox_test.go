package runtime_test

import (
	"fmt"
	"math"
	"testing"

	"bilevelc/runtime"
)

// The leader's box of half width W holds the optimum, whatever W is: F does not depend on it.
func TestWideBoxes(t *testing.T) {
	for name, model := range map[string]string{
		"quadratic": `model b104
data P: matrix[2, 3] = [[-0.9, -1.9, 1.5], [3.1, -1.1, -3.4]]
upper {
  var x: vector[3] in box(-%[1]g, %[1]g)
  minimize x[1]*y[1] + 0.3*sumsq(y) + 3.1*sumsq(x)
}
lower {
  var y: vector[2] in box(-0.5, 0.5)
  minimize 3*y[1]^2 + 0.07*y[1]*y[2] + 0.25*y[2]^2 + ([5, 0.45] + P*x)'*y
}
`,
		"curved, with kinks": `model wk
upper {
  var x: vector[3] in box(-%[1]g, %[1]g)
  minimize sum(log1pexp(5*(x - [1, 2, 3]))) + sumsq(y) - sum(x) + 0.5*norm1(x - y)
}
lower {
  var y: vector[3] in box(-0.5, 2.5)
  minimize sumsq(y - x) + y[1]*y[2]
}
`} {
		first := math.NaN()
		for _, width := range []float64{10, 1e3, 1e5, 1e7, 1e9} {
			text := fmt.Sprintf(model, width)
			r := solveText(t, text, runtime.Options{Seed: 1})
			f := float64(r.Upper.Objective)
			if math.IsNaN(first) {
				first = f
			}
			if r.Status != runtime.Solved || math.Abs(f-first) > 1e-8*math.Abs(first) {
				t.Errorf("%s: W = %g: %s (%s), F %v; %v in the narrowest box", name, width, r.Status, r.Reason, f, first)
			}
		}
	}
}
