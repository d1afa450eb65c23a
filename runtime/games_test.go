package runtime_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestGamesOfUsers solves Bayesian security games, in which attackers of several types see how targets are covered, as users write them. The truth is a linear program for each of the types' choices
// (Paruchuri et al. 2008), by gonum's simplex method.
func TestGamesOfUsers(t *testing.T) {
	rng := members.Rand(t, 31)
	for k := range 6 {
		types, targets := 2+k%2, 3+k%3
		numbers := func(lo, hi int) (all [][]float64, text string) {
			var rows []string
			for range types {
				row, words := []float64{}, []string{}
				for range targets {
					v := float64(lo*4+rng.IntN(4*(hi-lo)+1)) / 4
					row, words = append(row, v), append(words, fmt.Sprint(v))
				}
				all, rows = append(all, row), append(rows, "["+strings.Join(words, ", ")+"]")
			}
			return all, "[" + strings.Join(rows, ", ") + "]"
		}
		rd, rdText := numbers(1, 10) // the leader's, covered and not
		pd, pdText := numbers(-10, -1)
		ra, raText := numbers(1, 10) // an attacker's, not covered and covered
		pa, paText := numbers(-10, -1)
		const guards = 1.25
		r := solveText(t, fmt.Sprintf(`model game
param k: int = %d
param n: int = %d
data rd: matrix[k, n] = %s
data pd: matrix[k, n] = %s
data ra: matrix[k, n] = %s
data pa: matrix[k, n] = %s
solve { ties = optimistic }
upper {
  var cover: vector[n] in box(0, 1)
  maximize sum(i in 1..k, t in 1..n: i * attack[i, t] * (pd[i, t] + cover[t] * (rd[i, t] - pd[i, t])))
  subject to guards: sum(cover) <= %v
}
lower attacker[i in 1..k] {
  var attack: vector[n] in simplex(1)
  maximize sum(t in 1..n: attack[t] * (ra[i, t] + cover[t] * (pa[i, t] - ra[i, t])))
}
`, types, targets, rdText, pdText, raText, paText, guards), runtime.Options{})

		best := math.Inf(-1)
		for code := range int(math.Pow(float64(targets), float64(types))) {
			// maximize over cover in [0, 1], such that each type's target is best for it.
			cost, konst := make([]float64, targets), 0.0
			var rows []float64
			var sides []float64
			row := func(side float64, entries map[int]float64) {
				of := make([]float64, targets)
				for j, v := range entries {
					of[j] = v
				}
				rows, sides = append(rows, of...), append(sides, side)
			}
			budget := map[int]float64{}
			for j := range targets {
				row(1, map[int]float64{j: 1})
				row(0, map[int]float64{j: -1})
				budget[j] = 1
			}
			row(guards, budget)
			for i, left := 0, code; i < types; i, left = i+1, left/targets {
				at, p := left%targets, float64(i+1)
				cost[at] -= p * (rd[i][at] - pd[i][at])
				konst += p * pd[i][at]
				for s := range targets {
					if s != at { // ra_s + (pa_s - ra_s) x_s <= ra_at + (pa_at - ra_at) x_at
						row(ra[i][at]-ra[i][s], map[int]float64{s: pa[i][s] - ra[i][s], at: ra[i][at] - pa[i][at]})
					}
				}
			}
			c, a, b := lp.Convert(cost, mat.NewDense(len(sides), targets, rows), sides, nil, nil)
			if v, _, err := lp.Simplex(c, a, b, 1e-10, nil); err == nil {
				best = max(best, konst-v)
			}
		}
		if f := float64(r.Upper.Objective); r.Status != runtime.Solved || !r.Global.Proved || math.Abs(f-best) > 2e-6*math.Abs(best) {
			t.Errorf("%d types, %d targets: %s (%s), F %v, not %v", types, targets, r.Status, r.Reason, f, best)
		}
	}
}
