package runtime_test

import (
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestTollsOfCommodities: tolls on some links of a network that several flows share are solved on the KKT system, with a certificate that holds: most rows are of links that no toll moves on the branch, by exactly nothing, of which
// a product with sparse factors leaves rounding.
func TestTollsOfCommodities(t *testing.T) {
	rng := members.Rand(t, 53)
	for k := range members.Of(10, 60) {
		const nodes, links, flows, tolled = 12, 50, 3, 10
		incidence, demand, of := make([][]float64, nodes-1), make([][]float64, nodes-1), make([][]float64, links)
		for i := range incidence {
			incidence[i], demand[i] = make([]float64, links), make([]float64, flows)
		}
		at := func(m [][]float64, i, j int, v float64) {
			if i < len(m) { // the balance of the last node follows from the others
				m[i][j] += v
			}
		}
		cost, slope := make([]float64, links), make([]float64, links)
		for l := range links {
			from, to := l%nodes, (l+1)%nodes
			if l >= nodes {
				from = rng.IntN(nodes)
				to = (from + 1 + rng.IntN(nodes-1)) % nodes
			}
			at(incidence, from, l, 1)
			at(incidence, to, l, -1)
			cost[l], slope[l], of[l] = 1+4*rng.Float64(), 0.1+0.9*rng.Float64(), make([]float64, tolled)
		}
		for j, l := range rng.Perm(links)[:tolled] {
			of[l][j] = 1
		}
		for c := range flows {
			from, amount := rng.IntN(nodes), 1+3*rng.Float64()
			at(demand, from, c, amount)
			at(demand, (from+1+rng.IntN(nodes-1))%nodes, c, -amount)
		}
		p := bindData(t, `model tolls
param n: int
param N: int
param K: int
param q: int
data I: matrix[N, n]
data D: matrix[N, K]
data S: matrix[n, q]
data c: vector[n]
data s: vector[n]
upper {
  var t: vector[q] in box(0, 10)
  maximize (S * t)' * total
}
lower {
  var y: matrix[n, K] in nonneg
  let total = y * ones(K)
  minimize (c + S * t)' * total + 0.5 * sum(s .* total .^ 2) + 0.01 * sum(y .^ 2)
  subject to
    flow: I * y == D
}
`, runtime.Data{"n": links, "N": nodes - 1, "K": flows, "q": tolled, "I": incidence, "D": demand, "S": of, "c": cost, "s": slope})
		r, err := p.Solve(t.Context(), runtime.Options{Method: "pieces", Search: runtime.SearchNone})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != runtime.Solved || !verified(p, r) {
			t.Errorf("case %d: %s: %s", k, r.Status, r.Reason)
		}
	}
}
