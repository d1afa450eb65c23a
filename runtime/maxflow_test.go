package runtime_test

import (
	"fmt"
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

// Flows are at least 0, so that a point with F = 0, which cuts all arcs of the source, is proved wherever it was found: also by a look at other whole numbers after the search has ended with its budget.
func TestPointsThatCloseTheGapAfterTheSearch(t *testing.T) {
	t.Parallel()
	const nodes, degree = 20, 4
	for seed := range members.SeedsOf(t, 2, 12) {
		rng := rand.New(rand.NewPCG(seed, 8274))
		var arcs [][2]int
		for a := range nodes - 1 {
			for _, b := range rng.Perm(nodes - 1)[:degree] {
				if b >= a {
					b++
				}
				arcs = append(arcs, [2]int{a, b})
			}
		}
		inc, caps := make([][]float64, nodes), make([]float64, len(arcs))
		for i := range inc {
			inc[i] = make([]float64, len(arcs))
		}
		for k, a := range arcs {
			inc[a[0]][k], inc[a[1]][k], caps[k] = -1, 1, 1+math.Round(900*rng.Float64())/100
		}
		p := bindText(t, fmt.Sprintf(`model maxflow
data inc: matrix[%[1]d, %[2]d] = %[3]s
data cap: vector[%[2]d] = %[4]s
upper {
  var cut: vector[%[2]d] binary
  minimize sent
  subject to money: sum(cut) <= %[5]d
}
lower {
  var flow: vector[%[2]d] in nonneg
  var sent: real in nonneg
  minimize -sent
  subject to
    keep: inc * flow == sent * [-1; zeros(%[6]d); 1]
    room: flow <= cap .* (1 - cut)
}
solve { ties = optimistic }
`, nodes, len(arcs), text(inc), text(caps), degree, nodes-2))
		r, err := p.Solve(t.Context(), runtime.Options{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		if r.HasPoint() && r.Upper.Objective == 0 {
			if r.Status != runtime.Solved || r.Global == nil || !r.Global.Proved || !verified(p, r) {
				t.Errorf("seed %d: %v (%s), %+v", seed, r.Status, r.Reason, r.Global)
			}
		}
	}
}
