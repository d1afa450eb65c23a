package runtime_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestAnswersOfManyMarkets: hourly markets that nothing joins clear by merit order, and where the load is what the cheaper units make up, any price up to the next unit's cost clears. The leader is paid shares of price times amount, and in some hours
// the square of an amount that the follower does not feel, which is curved down for the best answer or for the worst. The best answer is each market's own, and so is the worst: however many there are, F at both is known, by the order of the costs.
func TestAnswersOfManyMarkets(t *testing.T) {
	t.Parallel()
	const text = `model markets
set hour = 1..H
set block = 1..B
param H: int
param B: int
data cost: [hour, block]
data size: [hour, block]
data load: [hour]
data share: [hour]
data idle: [hour]
upper {
  var x: real in box(0, 1)
  var kept: real in box(0, 1)
  let price = dual(balance)
  maximize sum(t in hour: share[t] * price[t] * gen[t, 1]) + sum(t in hour if idle[t] != 0: idle[t] * (2*spare[t] - 1)^2)
  subject to
    both: x + kept <= 2
}
lower {
  var gen: [hour, block] in nonneg
  var spare: [hour] in box(0, 1)
  minimize sum(t in hour, k in block: cost[t, k] * gen[t, k])
  subject to
    balance: forall t in hour: load[t] * x == sum(k in block: gen[t, k])
    full: forall t in hour, k in block: gen[t, k] <= size[t, k]
}
solve { ties = optimistic }
`
	for seed := range members.Seeds(t, 40) {
		rng := rand.New(rand.NewPCG(seed, 0x3a6e))
		hours, blocks := 2+rng.IntN(60), 2+rng.IntN(4)
		cost, size := make([][]int, hours), make([][]int, hours)
		load, share, idle := make([]int, hours), make([]int, hours), make([]int, hours)
		best, worst := 0, 0
		for h := range hours {
			var order []int
			for k := range blocks {
				cost[h], size[h], order = append(cost[h], 10*k+1+rng.IntN(9)), append(size[h], 1+rng.IntN(9)), append(order, k)
			}
			rng.Shuffle(blocks, func(i, j int) { cost[h][i], cost[h][j] = cost[h][j], cost[h][i] })
			slices.SortFunc(order, func(i, j int) int { return cmp.Compare(cost[h][i], cost[h][j]) })
			share[h] = rng.IntN(7) - 3
			if rng.IntN(8) == 0 {
				idle[h] = rng.IntN(7) - 3
			}
			last := rng.IntN(blocks - 1) // the dearest unit of this hour, wholly or in part
			amounts, prices := make([]int, blocks), []int{cost[h][order[last]]}
			for n, k := range order[:last+1] {
				amounts[k] = size[h][k]
				if n == last {
					amounts[k] = 1 + rng.IntN(size[h][k])
				}
				load[h] += amounts[k]
			}
			if amounts[order[last]] == size[h][order[last]] {
				prices = append(prices, cost[h][order[last+1]])
			}
			least, most := math.MaxInt, math.MinInt
			for _, p := range prices {
				v := share[h] * p * amounts[0]
				least, most = min(least, v+min(0, idle[h])), max(most, v+max(0, idle[h]))
			}
			best, worst = best+most, worst+least
		}
		p := bindData(t, text, runtime.Data{"H": hours, "B": blocks, "cost": cost, "size": size, "load": load, "share": share, "idle": idle})
		r, err := p.Eval(t.Context(), runtime.Values{{Name: "x", Data: []float64{1}}, {Name: "kept", Data: []float64{1}}}, runtime.Options{})
		if err != nil {
			t.Fatalf("%d: %v", seed, err)
		}
		f := float64(r.Upper.Objective)
		off := func(got, want float64) bool { return !(math.Abs(got-want) <= 1e-6*math.Max(1, math.Abs(want))) }
		if off(f, float64(best)) || r.Lower.Ties != nil && off(float64(r.Lower.Ties.Pessimistic), float64(worst)) {
			t.Errorf("%d: %d markets of %d: F = %v (%+v), the best and the worst are %d and %d; %v", seed, hours, blocks, f, r.Lower.Ties, best, worst, r.Notes)
		}
	}
}
