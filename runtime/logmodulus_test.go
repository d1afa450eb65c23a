package runtime_test

import (
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// Users of links with logarithmic utilities curve ever less the more they send, so that their curvature tells no size of what they send: g curves by w/(1 + room)^2 as far as the links have room, and gradients at points without room do not speak against that.
func TestModulusOfLogarithms(t *testing.T) {
	t.Parallel()
	const model = `model net
param U: int
param L: int
data R: matrix[L, U]
data cap: vector[L]
data w: vector[U]
upper {
  var price: vector[L] in box(0.05, 3)
  maximize sum(price .* (R * rate)) - 0.02 * sumsq(R * rate)
}
lower {
  var rate: vector[U] in nonneg
  maximize sum(u in 1..U: w[u] * log(1 + rate[u])) - price' * R * rate
  subject to
    links: R * rate <= cap
}
`
	for seed := range members.SeedsOf(t, 3, 20) {
		rng := rand.New(rand.NewPCG(seed, 811))
		users, links := 4+rng.IntN(7), 3+rng.IntN(3)
		room, weight, on := make([]float64, links), make([]float64, users), make([][]float64, links)
		for l := range on {
			room[l], on[l] = 3+7*rng.Float64(), make([]float64, users)
		}
		for u := range users {
			weight[u] = 1 + 3*rng.Float64()
			on[rng.IntN(links)][u] = 1
			on[rng.IntN(links)][u] = 1
		}
		p := bindData(t, model, runtime.Data{"U": users, "L": links, "R": on, "cap": room, "w": weight})
		r, err := p.Solve(t.Context(), runtime.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		report, err := p.Verify(r)
		if err != nil || r.Status != runtime.Solved || !report.OK() {
			t.Errorf("seed %d: %v, %v (%s), %v", seed, err, r.Status, r.Reason, report)
		}
	}
}
