package runtime_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestBudgetsOfFarUnits: the constants of the theorems are those of F in any unit, near the ends of the range of double
// precision too, where their squares are beyond it: no budget is negative or spent before it has begun, and every document
// passes its verification.
func TestBudgetsOfFarUnits(t *testing.T) {
	for seed := range members.Seeds(t, 20) {
		rng := rand.New(rand.NewPCG(seed, 63))
		unit := fmt.Sprintf("1e%d", []int{-200, -170, 155, 200, 290}[rng.IntN(5)])
		text := fmt.Sprintf(`model far
upper {
  var x: vector[2] in box(-1, 1)
  minimize %s * (%.3g * x[1] - %.3g * x[2]) + %[1]s * y^2
}
lower {
  var y: real
  minimize (y - x[1] - %.3[4]g * x[2])^2
}
`, unit, rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64())
		problem := bindText(t, text)
		for _, method := range []string{"izo", "oigrm", "pigd"} {
			r := solveText(t, text, runtime.Options{Method: method, MaxIter: 5, Seed: seed + 1})
			if strings.Contains(r.Reason, "budget of -") || r.Status == runtime.BudgetSpent && !strings.HasPrefix(unit, "1e-") {
				t.Errorf("seed %d, %s: %v after 5 iterations: %s\n%s", seed, method, r.Status, r.Reason, text)
			}
			if !verified(problem, r) {
				t.Errorf("seed %d, %s: %v (%s) does not pass its verification\n%s", seed, method, r.Status, r.Reason, text)
			}
		}
	}
}
