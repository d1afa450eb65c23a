package runtime_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// Followers that are not quadratic, too many for a factor of their system: the local solution in the leader's space is verified, and no worse than what the method goldstein, which knows values and
// gradients of F alone, ends at.
func TestManyFollowersThatAreNotQuadratic(t *testing.T) {
	t.Parallel()
	for seed := range members.SeedsOf(t, 1, 2) {
		rng := rand.New(rand.NewPCG(seed, 63))
		n, k := 60, 5
		table := func(lo, hi float64) string {
			rows := make([]string, n)
			for i := range rows {
				row := make([]string, k)
				for j := range row {
					row[j] = fmt.Sprintf("%.3f", lo+(hi-lo)*rng.Float64())
				}
				rows[i] = "[" + strings.Join(row, ", ") + "]"
			}
			return "[" + strings.Join(rows, ", ") + "]"
		}
		text := fmt.Sprintf(`model households
let u = %s
let cap = %s
upper {
  var t: vector[%d] in box(0, 3)
  maximize sum(i in 1..%d: y[i, :] * t) / %d - 0.05 * sumsq(t)
}
lower {
  var y: matrix[%d, %d] in box(0, 1)
  minimize sum(i in 1..%d: sum(j in 1..%d: (t[j] - u[i, j]) * y[i, j] + 0.3 * exp(y[i, j]) + 0.2 * y[i, j]^4))
  subject to
    forall i in 1..%d: sum(y[i, :]) == 1
    y <= cap
}
`, table(0, 4), table(0.25, 0.8), k, n, n, n, k, n, k, n)
		p := bindText(t, text)
		r, err := p.Solve(t.Context(), runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != runtime.Solved || r.Method != runtime.SystemMethod {
			t.Fatalf("seed %d: %v by %s: %s", seed, r.Status, r.Method, r.Reason)
		}
		if !verified(p, r) {
			t.Errorf("seed %d: not verified", seed)
		}
		other, err := p.Solve(t.Context(), runtime.Options{Method: "goldstein"})
		if err != nil {
			t.Fatal(err)
		}
		if f, g := float64(r.Upper.Objective), float64(other.Upper.Objective); f < g-1e-6 {
			t.Errorf("seed %d: F = %v, and %v by %s", seed, f, g, other.Method)
		}
	}
}
