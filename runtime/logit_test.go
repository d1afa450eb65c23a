package runtime

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
)

const logit = `model logit
param n: int
data appeal: vector[n]
data cost: vector[n]
upper {
  var price: vector[n] in box(0, 50)
  maximize (price - cost)' * share
}
lower {
  var share: vector[n] in box(1e-12, 1)
  var none: real in box(1e-12, 1)
  maximize (appeal - price)' * share - sum(share .* log(share)) - none * log(none)
  subject to
    all: sum(share) + none == 1
}
`

// Customers choose by the logit model, for which an entropy stands. The best prices have one margin, 1 + F, where F exp(F) is the sum of exp(appeal - cost - 1) over the goods. At prices at which hardly anyone buys F is flat and concave:
// steps along negative curvature are long there, whatever curvature the terms of f have in other directions.
func TestLogitPrices(t *testing.T) {
	for seed := range members.SeedsOf(t, 8, 80) {
		rng := rand.New(rand.NewPCG(seed, 93))
		n := 2 + rng.IntN(3)
		appeal, cost, start := make([]float64, n), make([]float64, n), make([]float64, n)
		sum := 0.0
		for j := range n {
			appeal[j], cost[j], start[j] = 1+3*rng.Float64(), rng.Float64(), 10+8*rng.Float64()
			sum += math.Exp(appeal[j] - cost[j] - 1)
		}
		best := 0.0
		for range 60 { // Newton's method for F exp(F) = sum
			best -= (best*math.Exp(best) - sum) / ((1 + best) * math.Exp(best))
		}
		model, err := Compile("logit.blv", logit)
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Bind(Data{"n": n, "appeal": appeal, "cost": cost}, BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Solve(context.Background(), Options{Starts: 1, Start: Values{{Name: "price", Shape: []int{n}, Data: start}}})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != Solved || math.Abs(float64(r.Upper.Objective)-best) > 1e-6*best || r.Iterations > 100 {
			t.Errorf("seed %d, from %v: %s after %d iterations, F %v, truly %v (%s)", seed, start, r.Status, r.Iterations, r.Upper.Objective, best, r.Reason)
		}
	}
}
