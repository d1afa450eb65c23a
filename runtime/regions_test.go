package runtime_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// Prices are multipliers that x does not determine where a market is at its capacity: F jumps there, and is no function of x that a method in the leader's space could follow. A hundred regions share a
// quantity: the run ends, at a point with a certificate.
func TestPricesJumpAtCapacities(t *testing.T) {
	t.Parallel()
	for seed := range members.Seeds(t, 2) {
		rng := rand.New(rand.NewPCG(seed, 64))
		draw := func(lo, hi float64) string {
			out := "["
			for i := range 100 {
				if i > 0 {
					out += ", "
				}
				out += fmt.Sprintf("%.2f", lo+(hi-lo)*rng.Float64())
			}
			return out + "]"
		}
		text := fmt.Sprintf(`model regions
set region = 1..100
data a: [region] = %s
data q: [region] = %s
data d: [region] = %s
data cap: [region] = %s
data back: [region] = %s
upper {
  var x: [region] in box(0, 3)
  minimize sum(r in region: dual(balance)[r] * x[r])
  subject to sum(x) == 60
}
lower market[r in region] {
  var y: real in box(0, cap[r])
  var z: real in nonneg
  minimize a[r] * y + 0.5 * q[r] * y^2 + back[r] * z + 0.05 * z^2
  subject to
    balance: d[r] + x[r] == y + z
}
`, draw(0.5, 2), draw(0.1, 1), draw(1, 3), draw(1.5, 4), draw(4, 7))
		p := bindText(t, text)
		r, err := p.Solve(t.Context(), runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != runtime.Solved || !verified(p, r) {
			t.Errorf("seed %d: %v (%s)", seed, r.Status, r.Reason)
		}
	}
}
