package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// Travel times grow with the flows of roads, which are sums over all groups of travellers: only these are unique. By the closed form of the sums on two roads F has no better point on a grid.
func TestRoadsOfSeveralGroups(t *testing.T) {
	t.Parallel()
	count, rough := 0, 0
	for seed := range members.Seeds(t, 12) {
		rng := rand.New(rand.NewPCG(seed, 41))
		free, slope, wish := 1+rng.Float64(), 0.2+rng.Float64(), 3*rng.Float64()
		demand, text := 0.0, ""
		groups := 2 + rng.IntN(4)
		for k := range groups {
			d := 0.2 + rng.Float64()
			demand += d
			if k > 0 {
				text += ", "
			}
			text += fmt.Sprintf("%.17g", d)
		}
		p := bindText(t, fmt.Sprintf(`model groups
param free: real = %.17g
param slope: real = %.17g
param wish: real = %.17g
data demand: vector[%d] = [%s]
solve { ties = optimistic }
upper {
  var toll: real in box(0, 6)
  minimize (sum(first) - wish)^2 + 0.01 * toll^2
}
lower {
  var first: vector[%[4]d] in nonneg
  var second: vector[%[4]d] in nonneg
  minimize (1 + toll) * sum(first) + 0.1 * sum(first)^5 + free * sum(second) + slope * sum(second)^3
  subject to first + second == demand
}`, free, slope, wish, groups, text))
		r, err := p.Solve(context.Background(), runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		count++
		if r.Status == runtime.NumericalFailure { // one in twenty: differences leave a certificate too rough
			rough++
			continue
		}
		if r.Status != runtime.Solved || r.Method != runtime.SystemMethod || !verified(p, r) {
			t.Errorf("seed %d: %s with %s (%s)", seed, r.Status, r.Method, r.Reason)
			continue
		}
		gap := func(toll, v float64) float64 {
			w := demand - v
			return 1 + toll + 0.5*math.Pow(v, 4) - free - 3*slope*w*w
		}
		tollIsBest(t, seed, r, demand, wish, gap)
	}
	if rough > 1+count/5 {
		t.Errorf("%d of %d were not solved", rough, count)
	}
}

// Tolls on three of eight roads of a square, two groups of travellers. The best F that a pattern search over the three tolls finds, with the flows by assignment to paths to a relative gap of 1e-10, is 164.0029406.
func TestTollsOfASquare(t *testing.T) {
	t.Parallel()
	p := bindText(t, `model square
set node = {"a", "b", "c", "d"}
set arc(from, to) within node * node = {("a", "b"), ("b", "a"), ("a", "c"), ("c", "a"), ("b", "d"), ("d", "b"), ("c", "d"), ("d", "c")}
set trip(origin, dest) within node * node = {("d", "a"), ("c", "b")}
data free: [arc] = [5.1, 7.7, 2.9, 7.7, 3.9, 4.5, 7.0, 4.5]
data cap: [arc] = [5.7, 3.1, 6.8, 5.7, 4.6, 6.9, 4.5, 5.3]
data gate: [arc] = [0, 20, 0, 0, 20, 0, 0, 20]
data demand: [trip] = [7.5, 4.7]
solve { ties = optimistic }
upper {
  var toll: [arc] in box(0, gate)
  minimize sum((i, j) in arc: free[i, j] * v[i, j] * (1 + 0.15 * (v[i, j] / cap[i, j])^4))
}
lower {
  var flow: [trip, arc] in nonneg
  let v = [(i, j) in arc: sum((o, d) in trip: flow[o, d, i, j])]
  minimize sum((i, j) in arc: free[i, j] * (v[i, j] + 0.03 * cap[i, j] * (v[i, j] / cap[i, j])^5) + toll[i, j] * v[i, j])
  subject to
    balance: forall (o, d) in trip, n in node: sum((i, j) in arc if j == n: flow[o, d, i, j]) - sum((i, j) in arc if i == n: flow[o, d, i, j]) == (if n == d then demand[o, d] else if n == o then -demand[o, d] else 0)
}`)
	r, err := p.Solve(context.Background(), runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != runtime.Solved || !verified(p, r) || math.Abs(float64(r.Upper.Objective)-164.0029406) > 1e-6 {
		t.Errorf("%s: F = %v (%s)", r.Status, r.Upper.Objective, r.Reason)
	}
}
