package runtime_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/each"
	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// A tax on emissions has to bring plants that run at the least cost under a cap: that is at the tax where it first can, plants change places in the order of costs there, and the leader, whom they favour, has as much of
// the dearer cleaner ones as the cap asks for. With the tax no dispatch costs less, so that its cost, without it, follows from the cap.
func TestTaxesUnderACap(t *testing.T) {
	t.Parallel()
	text := `model carbon
param n: int
param hours: int
data cost: vector[n]
data emission: vector[n]
data size: vector[n]
data load: vector[hours]
param limit: real
upper {
  var tax: real in box(0, 500)
  minimize sum(p in 1..n, h in 1..hours: cost[p] * run[p, h]) + 0.001 * tax
  subject to
    cap: sum(p in 1..n, h in 1..hours: emission[p] * run[p, h]) <= limit
}
lower {
  var run: matrix[n, hours] in nonneg
  minimize sum(p in 1..n, h in 1..hours: (cost[p] + tax * emission[p]) * run[p, h])
  subject to
    balance: forall h in 1..hours: sum(p in 1..n: run[p, h]) == load[h]
    most: forall p in 1..n, h in 1..hours: run[p, h] <= size[p]
}
solve { ties = optimistic }
`
	for seed := range members.Seeds(t, 3) {
		rng := rand.New(rand.NewPCG(seed, 92))
		n, hours := 5+rng.IntN(4), 16+rng.IntN(20)
		cost, emission, size := make([]float64, n), make([]float64, n), make([]float64, n)
		for p := range n {
			cost[p], emission[p], size[p] = 10+80*rng.Float64(), 0.05+rng.Float64(), 20+80*rng.Float64()
		}
		load := each.Below(hours, func(int) float64 {
			return (0.3 + 0.6*rng.Float64()) * each.Sum(size, func(v float64) float64 { return v })
		})
		// dispatched is the least emission with a tax, the greatest, and the cost with the tax.
		dispatched := func(tax float64) (least, most, paid float64) {
			for _, sign := range []float64{1, -1} {
				order := each.Below(n, func(p int) int { return p })
				price := func(p int) float64 { return cost[p] + tax*emission[p] }
				slices.SortFunc(order, func(a, b int) int {
					if math.Abs(price(a)-price(b)) > 1e-9*price(a) {
						return cmp.Compare(price(a), price(b))
					}
					return cmp.Compare(sign*emission[a], sign*emission[b])
				})
				sum, all := 0.0, 0.0
				for _, left := range load {
					for _, p := range order {
						run := math.Min(left, size[p])
						left -= run
						sum, all = sum+emission[p]*run, all+price(p)*run
					}
				}
				if paid = all; sign > 0 {
					least = sum
				} else {
					most = sum
				}
			}
			return least, most, paid
		}
		_, dirty, _ := dispatched(0)
		clean, _, _ := dispatched(1e6)
		limit := clean + (0.1+0.8*rng.Float64())*(dirty-clean)
		taxes := []float64{0}
		for p := range n {
			for q := range n {
				if tie := (cost[p] - cost[q]) / (emission[q] - emission[p]); p != q && tie > 0 {
					taxes = append(taxes, tie)
				}
			}
		}
		slices.Sort(taxes)
		truth := math.NaN()
		for _, tax := range taxes {
			if least, most, paid := dispatched(tax); least <= limit*(1+1e-12) {
				if tax < 499 {
					truth = paid - tax*math.Min(limit, most) + 0.001*tax
				}
				break
			}
		}
		if math.IsNaN(truth) {
			continue
		}
		p := bindData(t, text, runtime.Data{"n": n, "hours": hours, "cost": cost, "emission": emission, "size": size, "load": load, "limit": limit})
		r, err := p.Solve(t.Context(), runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if f := float64(r.Upper.Objective); r.Status != runtime.Solved || !verified(p, r) || !(math.Abs(f-truth) <= 1e-6*truth) {
			t.Errorf("seed %d, %d plants, %d hours: %v (%s), F = %v, and %v is true", seed, n, hours, r.Status, r.Reason, f, truth)
		}
	}
}

// Costs of arcs change as little as can be, in the sum, for a route that was seen to be a cheapest one. Where routes are chosen stage by stage that is by what the arc that was seen costs more than the cheapest beside it.
func TestRoutesThatWereSeen(t *testing.T) {
	t.Parallel()
	for seed := range members.Seeds(t, 2) {
		rng := rand.New(rand.NewPCG(seed, 93))
		stages, arcs := 20+rng.IntN(30), 3+rng.IntN(2)
		c, truth := make([][]float64, stages), 0.0
		for s := range c {
			c[s] = each.Below(arcs, func(int) float64 { return float64(1 + rng.IntN(9)) })
			truth += max(0, c[s][0]-slices.Min(c[s][1:]))
		}
		p := bindData(t, fmt.Sprintf(`model routes
data c: matrix[%d, %d]
upper {
  var d: matrix[%[1]d, %[2]d] in box(-10, 10)
  minimize sum(abs(d))
  subject to
    positive: c + d >= 0.1
    seen: sum(flow[:, 1]) >= %[1]d
}
lower {
  var flow: matrix[%[1]d, %[2]d] in nonneg
  minimize sum((c + d) .* flow)
  subject to
    stage: forall s in 1..%[1]d: sum(flow[s, :]) == 1
}
solve { ties = optimistic }
`, stages, arcs), runtime.Data{"c": c})
		r, err := p.Solve(t.Context(), runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if f := float64(r.Upper.Objective); r.Status != runtime.Solved || !verified(p, r) || math.Abs(f-truth) > 1e-6*math.Max(1, truth) {
			t.Errorf("seed %d, %d stages: %v (%s), F = %v, and %v is true", seed, stages, r.Status, r.Reason, f, truth)
		}
	}
}

// Equalities that say the same of y many times over, along which y moves with x, leave no equation of x behind: what their derivatives leave of it is rounding.
func TestEqualAnswersSaidTwice(t *testing.T) {
	t.Parallel()
	for seed := range members.Seeds(t, 4) {
		rng := rand.New(rand.NewPCG(seed, 94))
		n, a, b := 36+rng.IntN(20), rng.Float64(), 0.01+rng.Float64()
		other := each.Below(n-1, func(i int) float64 { return float64(1 + rng.IntN(i+1)) })
		p := bindData(t, fmt.Sprintf(`model same
data other: vector[%d]
upper {
  var x: real in box(-1, 1)
  minimize (y[%d] - %g)^2 + %g * x^2
}
lower {
  var y: vector[%[2]d] in box(-1, 1)
  minimize (y[1] - x)^2
  subject to
    link: forall i in 2..%[2]d: y[i] == 1.5 * y[i - 1] - 0.5 * y[i - 1]
    again: forall i in 2..%[2]d: y[i] - y[other[i - 1]] == 0
}
`, n-1, n, a, b), runtime.Data{"other": other})
		r, err := p.Solve(t.Context(), runtime.Options{Search: runtime.SearchNone})
		if err != nil {
			t.Fatal(err)
		}
		truth := a * a * b / (1 + b)
		if f := float64(r.Upper.Objective); r.Status != runtime.Solved || r.Method != runtime.SystemMethod || !verified(p, r) || math.Abs(f-truth) > 1e-9 {
			t.Errorf("seed %d: %v (%s), F = %v, and %v is true", seed, r.Status, r.Reason, f, truth)
		}
	}
}
