package runtime_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

const interdiction = `model maxflow
param N: int
param n: int
param budget: int
data a: vector[n]
data b: vector[n]
data cap: vector[n]
upper {
  var hit: vector[n] binary
  minimize through
  subject to
    few: sum(hit) <= budget
}
lower {
  var flow: vector[n] in nonneg
  var through: real in nonneg
  maximize through
  subject to
    bal: forall v in 1..N: sum(k in 1..n if b[k] == v: flow[k]) - sum(k in 1..n if a[k] == v: flow[k]) == (if v == N then 1 else if v == 1 then -1 else 0) * through
    size: flow <= cap .* (1 - hit)
}
solve { ties = optimistic }
`

// maxFlow is that from the first of so many nodes to the last, by shortest augmenting paths (Edmonds and Karp 1972).
func maxFlow(nodes int, a, b, capacity []float64) (through float64) {
	left := make([][]float64, nodes)
	for v := range left {
		left[v] = make([]float64, nodes)
	}
	for k := range a {
		left[int(a[k])-1][int(b[k])-1] += capacity[k]
	}
	for {
		from, queue := make([]int, nodes), []int{0}
		for v := 1; v < nodes; v++ {
			from[v] = -1
		}
		for q := 0; q < len(queue) && from[nodes-1] < 0; q++ {
			for v, c := range left[queue[q]] {
				if c > 0 && from[v] < 0 {
					from[v], queue = queue[q], append(queue, v)
				}
			}
		}
		if from[nodes-1] < 0 {
			return through
		}
		most := math.Inf(1)
		for v := nodes - 1; v > 0; v = from[v] {
			most = math.Min(most, left[from[v]][v])
		}
		for v := nodes - 1; v > 0; v = from[v] {
			left[from[v]][v] -= most
			left[v][from[v]] += most
		}
		through += most
	}
}

// Interdiction of maximal flows on networks with cycles, whose balances depend on each other: nodes that nothing sets apart have multipliers that are rounding, which is no loss of the follower as far as its arcs can carry anything.
func TestMaximalFlows(t *testing.T) {
	t.Parallel()
	for seed := range members.Seeds(t, 100) {
		rng := rand.New(rand.NewPCG(seed, 733))
		nodes := 5 + rng.IntN(4)
		var a, b, capacity []float64
		for v := 1; v < nodes; v++ {
			for range 2 {
				if to := 1 + rng.IntN(nodes); to != v && to != 1 {
					a, b, capacity = append(a, float64(v)), append(b, float64(to)), append(capacity, float64(1+rng.IntN(9)))
				}
			}
		}
		a, b, capacity = append(a, 1, float64(nodes-1)), append(b, 2, float64(nodes)), append(capacity, 7, 7)
		budget := rng.IntN(2)
		least := maxFlow(nodes, a, b, capacity)
		for k := range a {
			if budget == 1 {
				c := capacity[k]
				capacity[k] = 0
				least = math.Min(least, maxFlow(nodes, a, b, capacity))
				capacity[k] = c
			}
		}
		p := bindData(t, interdiction, runtime.Data{"N": nodes, "n": len(a), "budget": budget, "a": a, "b": b, "cap": capacity})
		r, err := p.Solve(t.Context(), runtime.Options{Seed: 1})
		if err != nil || r.Status != runtime.Solved || math.Abs(float64(r.Upper.Objective)-least) > 1e-6*(1+least) {
			t.Errorf("seed %d: %v, %v (%s), F %v for %v", seed, err, r.Status, r.Reason, r.Upper.Objective, least)
		}
	}
}
