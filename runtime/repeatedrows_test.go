package runtime_test

import (
	"fmt"
	"math"
	"testing"

	"bilevelc/runtime"
)

// Equality rows that repeat each other may add any multiple of their difference to their multipliers: what is returned is as large as the forces that they
// balance, however wide the box of y is.
func TestRepeatedRowsHaveModestMultipliers(t *testing.T) {
	t.Parallel()
	for _, wide := range []string{"1e3", "1e6", "1e9", "1e12"} {
		for _, g := range []string{"sumsq(y - 3)", "sumsq(y - 3) + x[2] * y[1]"} {
			for _, f := range []string{"sumsq(y - 1) + sum(x)", "sum(y) - x[1]", "(x[1] - 0.5)^2 + x[2] * y[1]"} {
				p := bindText(t, fmt.Sprintf(`model twice
upper {
  var x: vector[2] in box(0, 1)
  minimize %s
}
lower {
  var y: vector[2] in box(-%s, %s)
  minimize %s
  subject to
    one: y[1] + 2 * y[2] == x[1]
    two: 2 * y[1] + 4 * y[2] == 2 * x[1]
    three: 0.1 * y[1] + 0.2 * y[2] == 0.1 * x[1]
}
`, f, wide, wide, g))
				r, err := p.Solve(t.Context(), runtime.Options{})
				if err != nil || r.Status != runtime.Solved || !verified(p, r) {
					t.Fatal(r, err)
				}
				for _, row := range []string{"one", "two", "three"} {
					// grad g is at most 10 here, and the shortest row 0.2.
					if m, _ := r.Lower.Multipliers.Get(row); !(math.Abs(m.Data[0]) <= 50) {
						t.Errorf("%s, %s, y to %s: the multiplier of %s is %g", f, g, wide, row, m.Data[0])
					}
				}
			}
		}
	}
}
