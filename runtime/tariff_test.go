package runtime_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

const tariff = `model tariff
param H: int
data base: vector[H]
data cost: vector[H]
upper {
  var price: vector[H] in box(1, 8)
  maximize sum((price - cost) .* buy) - 0.05 * sum(buy.^2)
  subject to
    average: sum(price) <= 4 * H
}
lower {
  var buy: vector[H] in box(0, 6)
  var store: vector[H] in box(0, 5)
  var use: vector[H] in nonneg
  minimize price'*buy + 0.5 * sumsq(use - base) + 0.01 * sumsq(buy) + 0.005 * sumsq(store) - 5 * sum(use)
  subject to
    first: store[1] == buy[1] - use[1]
    later: forall t in 2..H: store[t] == 0.95 * store[t-1] + buy[t] - use[t]
    ramp: forall t in 2..H: abs(use[t] - use[t-1]) <= 1.5
}
`

// A leader with some hundred entries beside a follower with sparse factors is solved in its space, with multipliers that show the point to be stationary, and F falls nowhere next to it.
func TestTariffOfDays(t *testing.T) {
	t.Parallel()
	for seed := range members.SeedsOf(t, 1, 10) {
		rng := rand.New(rand.NewPCG(seed, 907))
		const hours = 90
		base, cost := make([]float64, hours), make([]float64, hours)
		for h := range hours {
			base[h], cost[h] = 1+3*rng.Float64(), 1+rng.Float64()
		}
		p := bindData(t, tariff, runtime.Data{"H": hours, "base": base, "cost": cost})
		r, err := p.Solve(t.Context(), runtime.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != runtime.Solved || r.Method != runtime.SystemMethod {
			t.Errorf("seed %d: %v by %s (%s; %s)", seed, r.Status, r.Method, r.Reason, r.Global.Why)
		}
		price, _ := r.Upper.Variables.Get("price")
		f := float64(r.Upper.Objective)
		for range 10 { // by no more than curvature makes of the distance
			d, x, sum := math.Pow(10, -4-rng.Float64()), append([]float64{}, price.Data...), 0.0
			for j := range x {
				x[j] = math.Max(1, math.Min(8, x[j]+d*rng.NormFloat64()))
				sum += x[j]
			}
			if sum > 4*hours {
				continue
			}
			e, err := p.Evaluate(t.Context(), x)
			if err != nil {
				t.Fatal(err)
			}
			if e.F > f+1e3*d*d+1e-7*math.Abs(f) {
				t.Errorf("seed %d: F is %v, and %v at the distance %g", seed, f, e.F, d)
			}
		}
	}
}
