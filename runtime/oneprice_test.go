package runtime_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/each"
	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// Many followers apart with one price: F is quadratic between the prices at which one of them comes to 0 or to his bound, and its greatest value is on one of these stretches. Nodes of the search take a small part of what
// factors of dense relaxations would, and a run that nobody told anything proves its answer.
func TestOnePriceOfManyFollowersIsProved(t *testing.T) {
	t.Parallel()
	for seed := range members.Seeds(t, 2) {
		rng := rand.New(rand.NewPCG(seed, 97))
		n := 66 + rng.IntN(3)
		draw := func(lo, hi float64) []float64 {
			return each.Below(n, func(int) float64 { return lo + (hi-lo)*rng.Float64() })
		}
		q, a, u, b := draw(0.5, 3), draw(2, 10), draw(0.5, 3), draw(0.5, 2)
		p := bindData(t, `model many
param n: int
data q: vector[n]
data a: vector[n]
data u: vector[n]
data b: vector[n]
upper {
  var x: real in box(0, 20)
  maximize (x - 0.5) * sum(b .* y) / n
}
lower firm[i in 1..n] {
  var y: real in box(0, u[i])
  minimize 0.5 * q[i] * y^2 - (a[i] - b[i] * x) * y
}
`, runtime.Data{"n": n, "q": q, "a": a, "u": u, "b": b})
		r, err := p.Solve(t.Context(), runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ends := []float64{0, 20}
		for i := range n {
			ends = append(ends, min(20, a[i]/b[i]), min(20, max(0, (a[i]-q[i]*u[i])/b[i])))
		}
		slices.Sort(ends)
		value := func(x float64) (sum float64) {
			for i := range n {
				sum += b[i] * min(u[i], max(0, (a[i]-b[i]*x)/q[i]))
			}
			return (x - 0.5) * sum / float64(n)
		}
		best := math.Inf(-1)
		for k := 1; k < len(ends); k++ {
			lo, hi := ends[k-1], ends[k]
			left, mid, right := value(lo), value((lo+hi)/2), value(hi)
			best = max(best, left, right)
			if curve := left - 2*mid + right; curve < 0 { // F is the parabola through the three
				if at := (lo+hi)/2 - (hi-lo)/4*(right-left)/curve; at > lo && at < hi {
					best = max(best, value(at))
				}
			}
		}
		if f := float64(r.Upper.Objective); r.Status != runtime.Solved || math.Abs(f-best) > 1e-6*math.Abs(best) {
			t.Errorf("seed %d: %v with F = %v, and %v is the greatest", seed, r.Status, f, best)
		}
		if g := r.Global; !g.Proved || !verified(p, r) {
			t.Errorf("seed %d: not proved: gap %v after %d nodes: %s", seed, g.Gap, g.Nodes, g.Why)
		}
	}
}
