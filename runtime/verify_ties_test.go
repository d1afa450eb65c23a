package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestTiesAreVerified: what a result says of a follower with ties is verified. Its loss, and F
// at the answers best and worst for the leader, are those of the vertices of a simplex, and a
// document in which one of these claims is another passes no more. The followers choose
// shares of goods at prices, two of which the leader sets, with several cheapest ones.
func TestTiesAreVerified(t *testing.T) {
	apart := 0
	for k := range members.Seeds(t, 8) {
		rng := rand.New(rand.NewPCG(k, 1))
		n := 3 + rng.IntN(3)
		cost, gain := make([]float64, n), make([]float64, n)
		for i := range cost {
			cost[i], gain[i] = math.Round(1+4*rng.Float64()), math.Round(8*rng.NormFloat64())/4
		}
		fix := math.Round(4*rng.Float64()) / 2
		text := fmt.Sprintf(`model tied
data cost: vector[%d] = %s
data gain: vector[%d] = %s
upper {
  var price: real in box(%g, %g)
  minimize gain' * share + price
}
lower {
  var share: vector[%d] in nonneg
  minimize cost' * share + price * share[1]
  subject to all: sum(share) == 2
}
solve { ties = %s }
`, n, list(cost), n, list(gain), fix, fix, n, []string{"optimistic", "least_norm"}[k%2])
		problem := bindText(t, text)
		res := solveText(t, text, runtime.Options{Seed: 1, Starts: 1})
		ties := res.Lower.Ties
		if ties == nil {
			t.Fatalf("model %d: %s: %s", k, res.Status, res.Reason)
		}
		best, low, high := math.Inf(1), math.Inf(1), math.Inf(-1)
		price := func(i int) float64 {
			if i == 0 {
				return cost[i] + fix
			}
			return cost[i]
		}
		for i := range cost {
			best = min(best, price(i))
		}
		for i := range cost {
			if price(i) == best {
				low, high = min(low, 2*gain[i]+fix), max(high, 2*gain[i]+fix)
			}
		}
		near := func(what string, got runtime.Number, want float64) {
			if math.Abs(float64(got)-want) > 1e-3*(1+math.Abs(want)) {
				t.Errorf("model %d: %s is %v, not %v\n%s", k, what, got, want, text)
			}
		}
		near("the loss", ties.Loss, float64(res.Lower.Objective)-2*best)
		near("F at the best answer", ties.Optimistic, low)
		near("F at the worst answer", ties.Pessimistic, high)
		if high > low {
			apart++
		}
		if !verified(problem, res) {
			report, err := problem.Verify(res)
			t.Fatalf("model %d: untouched: %v, %v\n%s", k, err, report.Failures(), text)
		}
		for name, forge := range map[string]func(t *runtime.Ties){
			"loss":               func(t *runtime.Ties) { t.Loss += 1e-3 },
			"exact":              func(t *runtime.Ties) { t.Exact = !t.Exact },
			"one answer":         func(t *runtime.Ties) { t.Unique = !t.Unique },
			"answer best for":    func(t *runtime.Ties) { t.Optimistic -= 1e-3 },
			"answer worst for":   func(t *runtime.Ties) { t.Pessimistic += 1e-3 },
			"answer worst for 2": func(t *runtime.Ties) { t.Pessimistic = runtime.Number(math.NaN()) },
		} {
			kept := *ties
			forge(ties)
			report, err := problem.Verify(res)
			if err != nil || report.OK() {
				t.Errorf("model %d: another %s is not noticed: %v", k, name, err)
			}
			*ties = kept
		}
		if report, _ := problem.Verify(res); strings.Contains(strings.Join(report.Unchecked, " "), "lower.ties") {
			t.Errorf("parts of the ties are not checked: %v", report.Unchecked)
		}
	}
	if members.Full() && apart == 0 { // of few there may be none
		t.Error("no follower had two answers")
	}
}
