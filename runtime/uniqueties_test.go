package runtime_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestRulesOfOneAnswer: where the follower is shown strongly convex a rule of its ties has nothing to choose, and the result is the one without it, also where the follower has kinks of a higher order and its KKT system is not kept.
func TestRulesOfOneAnswer(t *testing.T) {
	t.Parallel()
	solved := 0
	for seed := range members.SeedsOf(t, 8, 40) {
		rng := rand.New(rand.NewPCG(seed, 641))
		model := fmt.Sprintf("model one\nupper {\n  var x: real in box(0, 3)\n  minimize (y - %.3g)^2 + 0.1 * x * y + %.3g * x\n}\nlower {\n  var y: real in box(-4, 4)\n  minimize %.3g * abs(y - %.3g * x)^%.2g + 0.5 * (y + %.3g * x - %.3g)^2\n}\n",
			2*rng.NormFloat64(), rng.NormFloat64(), 0.2+rng.Float64(), 0.5+rng.Float64(), []float64{1.5, 2.5, 3}[rng.IntN(3)], rng.NormFloat64(), rng.NormFloat64())
		plain, err := bindText(t, model).Solve(t.Context(), runtime.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range []string{"optimistic", "least_norm", "pessimistic"} {
			r, err := bindText(t, model+"solve { ties = "+rule+" }\n").Solve(t.Context(), runtime.Options{Seed: 1})
			if err != nil || r.Status != plain.Status || r.Upper.Objective != plain.Upper.Objective {
				t.Errorf("seed %d, %s: %v, %v (%s), F %v; without it %v, F %v\n%s", seed, rule, err, r.Status, r.Reason, r.Upper.Objective, plain.Status, plain.Upper.Objective, model)
			}
		}
		if plain.Status == runtime.Solved {
			solved++
		}
	}
	if solved < members.Of(8, 40)/2 {
		t.Errorf("%d solved", solved)
	}
}
