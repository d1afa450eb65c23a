package runtime_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestRoadsThatAreClosed holds which roads of a grid to close so that the shortest paths of several carriers bring the least risk (Kara and Verter 2004), by all ways to close some, with paths by Bellman's and Ford's
// method, of the shortest the one of least risk. A relaxation has more than a thousand rows and columns, and the search proves the plan in the time of a run that nobody asked for more.
func TestRoadsThatAreClosed(t *testing.T) {
	t.Parallel()
	rng := members.Rand(t, 43)
	for k := range members.Count(3) {
		const side, nodes, carriers, roads = 5, 25, 6, 12
		var from, to []int
		for i := range nodes {
			for _, j := range [2]int{i + 1, i + side} {
				if j < nodes && (j != i+1 || j%side > 0) {
					from, to = append(from, i, j), append(to, j, i)
				}
			}
		}
		m := len(from)
		cost, risk, ends := make([]int, m), make([]int, carriers*m), make([]int, 2*carriers)
		for a := range m {
			cost[a] = 1 + rng.IntN(9)
		}
		for e := range risk {
			risk[e] = rng.IntN(20)
		}
		for c := range carriers {
			ends[2*c] = rng.IntN(nodes)
			for ends[2*c+1] = ends[2*c]; ends[2*c+1] == ends[2*c]; {
				ends[2*c+1] = rng.IntN(nodes)
			}
		}
		road := rng.Perm(m)[:roads]
		best := math.MaxInt
		for plan := range 1 << roads {
			closed := make([]bool, m)
			for r, a := range road {
				closed[a] = plan>>r&1 == 1
			}
			sum := 0
			for c := range carriers {
				const long = 1 << 20 // beside risks
				far := make([]int, nodes)
				for i := range far {
					far[i] = math.MaxInt / 2
				}
				far[ends[2*c]] = 0
				for moved := true; moved; {
					moved = false
					for a := range m {
						if d := far[from[a]] + long*cost[a] + risk[c*m+a]; !closed[a] && d < far[to[a]] {
							far[to[a]], moved = d, true
						}
					}
				}
				if d := far[ends[2*c+1]]; d < math.MaxInt/2 {
					sum += d % long
				} else {
					sum = math.MaxInt / 2
					break
				}
			}
			best = min(best, sum)
		}
		list := func(v []int) string { return strings.ReplaceAll(fmt.Sprint(v), " ", ", ") }
		rows := func(v []int) string {
			var text []string
			for at := 0; at < len(v); at += m {
				text = append(text, list(v[at:at+m]))
			}
			return "[" + strings.Join(text, ", ") + "]"
		}
		need, is := make([]int, carriers*nodes), make([]int, roads*m)
		for c := range carriers {
			need[c*nodes+ends[2*c]]++
			need[c*nodes+ends[2*c+1]]--
		}
		for r, a := range road {
			is[r*m+a] = 1
		}
		var needs []string
		for c := range carriers {
			needs = append(needs, list(need[c*nodes:(c+1)*nodes]))
		}
		r := solveText(t, fmt.Sprintf(`model roads
param m: int = %d
param nodes: int = %d
param carriers: int = %d
param nb: int = %d
data from: vector[m] = %s
data to: vector[m] = %s
data c: vector[m] = %s
data risk: matrix[carriers, m] = %s
data need: matrix[carriers, nodes] = [%s]
data road: matrix[nb, m] = %s
upper {
  var open: vector[nb] binary
  minimize sum(risk .* x)
}
lower carrier[k in 1..carriers] {
  var x: vector[m] in nonneg
  minimize c' * x
  subject to
    flow: forall i in 1..nodes: sum(a in 1..m if from[a] + 1 == i: x[a]) - sum(a in 1..m if to[a] + 1 == i: x[a]) == need[k, i]
    allowed: road * x <= open
}
solve { ties = optimistic }
`, m, nodes, carriers, roads, list(from), list(to), list(cost), rows(risk), strings.Join(needs, ", "), rows(is)), runtime.Options{})
		if f := float64(r.Upper.Objective); r.Status != runtime.Solved || !r.Global.Proved || math.Abs(f-float64(best)) > 2e-6*f {
			t.Errorf("case %d: %s (%s), proved %v in %d nodes (%s), F %v, not %d", k, r.Status, r.Reason, r.Global.Proved, r.Global.Nodes, r.Global.Why, f, best)
		}
	}
}
