package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// Customers who go to the nearest of the facilities that are open, or to a rival, with distances in whole numbers, so that many are as near as others: F at each x is a sum over towns of the best margin among the nearest, and the
// best of all x is found and proved, as the towns are programs of their own also where the best of their answers are looked for.
func TestNearestSites(t *testing.T) {
	t.Parallel()
	for seed := range members.SeedsOf(t, 1, 6) {
		rng := rand.New(rand.NewPCG(seed, 93))
		sites, towns := 9, 25+rng.IntN(15)
		draw := func(n, least, most int) []float64 {
			v := make([]float64, n)
			for j := range v {
				v[j] = float64(least + rng.IntN(most-least+1))
			}
			return v
		}
		weight, fixed, margin, rival := draw(towns, 1, 8), draw(sites, 6, 25), draw(sites, 1, 4), draw(towns, 2, 6)
		dist := make([][]float64, sites)
		rows := ""
		for i := range dist {
			dist[i] = draw(towns, 1, 8)
			rows += map[bool]string{true: ", "}[i > 0] + list(dist[i])
		}
		want := math.Inf(-1)
		for open := range 1 << sites {
			f := 0.0
			for j := range towns {
				near, gain := rival[j], 0.0
				for i := range sites {
					switch d := dist[i][j]; {
					case open>>i&1 == 0:
					case d < near:
						near, gain = d, margin[i]
					case d == near:
						gain = math.Max(gain, margin[i])
					}
				}
				f += gain * weight[j]
			}
			for i := range sites {
				f -= fixed[i] * float64(open>>i&1)
			}
			want = math.Max(want, f)
		}
		r := solveText(t, fmt.Sprintf(`model sites
data dist: matrix[%[1]d, %[2]d] = [%[3]s]
data weight: vector[%[2]d] = %[4]s
data fixed: vector[%[1]d] = %[5]s
data margin: vector[%[1]d] = %[6]s
data rival: vector[%[2]d] = %[7]s
upper {
  var open: vector[%[1]d] binary
  maximize sum(i in 1..%[1]d, j in 1..%[2]d: margin[i] * weight[j] * go[i, j]) - fixed' * open
}
lower {
  var go: matrix[%[1]d, %[2]d] in nonneg
  var away: vector[%[2]d] in nonneg
  minimize sum(i in 1..%[1]d, j in 1..%[2]d: dist[i, j] * go[i, j]) + rival' * away
  subject to
    all: forall j in 1..%[2]d: sum(i in 1..%[1]d: go[i, j]) + away[j] == 1
    only: forall i in 1..%[1]d, j in 1..%[2]d: go[i, j] <= open[i]
}
solve { ties = optimistic }`, sites, towns, rows, list(weight), list(fixed), list(margin), list(rival)), runtime.Options{})
		if r.Status != runtime.Solved || r.Global == nil || !r.Global.Proved || math.Abs(float64(r.Upper.Objective)-want) > 1e-9*math.Abs(want) {
			t.Errorf("%d: %s (%s), F = %v for %v", seed, r.Status, r.Reason, r.Upper.Objective, want)
		}
	}
}
