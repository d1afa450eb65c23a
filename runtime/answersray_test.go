package runtime_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestRaysBeginWhereRowsHold: where a row of the follower leaves y one point its multiplier has no end, and f falls along it. The x there is a sum that is 0 to rounding at bounds, or between them: the ray's point keeps the row as
// it says.
func TestRaysBeginWhereRowsHold(t *testing.T) {
	for seed := range members.Seeds(t, 100) {
		rng := rand.New(rand.NewPCG(seed, 76))
		for range 5 {
			size := func() float64 { return float64(rng.IntN(13)-6) / 2 }
			row := fmt.Sprintf("%v * x[1] + %v * x[2] + %v * x[3]", size()/3, size(), size()+0.25)
			text := fmt.Sprintf(`model begin
solve { ties = optimistic }
upper {
  var x: vector[3] in box(-2, 2)
  minimize %[2]v * x[1] + %[3]v * x[2] + x[3] - 2 * y - 2 * dual(r) - 2 * dual(s) + y^2 + x[1]^2 + x[3] * dual(s)
}
lower {
  var y: real in box(0, 4)
  minimize 0.5 * y^2 - %[4]v * x[1] * y - %[5]v * x[3] * y + y
  subject to
    r: y - (%[1]s) <= 0
    s: -2 * y + (%[1]s) <= 2
}
`, row, size(), size(), size(), size())
			p := bindText(t, text)
			r, err := p.Solve(t.Context(), runtime.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Status == runtime.NumericalFailure || !verified(p, r) {
				t.Errorf("seed %d: %s, %s\n%s", seed, r.Status, r.Reason, text)
			}
		}
	}
}
