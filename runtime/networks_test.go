package runtime_test

import (
	"math"
	"testing"

	"bilevelc/runtime"
)

// TestNetworksOfUsers holds two models whose optimum is known in another way: a patrol whose smugglers' paths, of which two can be the cheapest, are a linear program each, with balances of
// which one repeats the others; and a market on a network of six nodes with angles, in which the follower's costs do not curve, by the system in SCIP.
func TestNetworksOfUsers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, model string
		optimum     float64
	}{
		{"patrol", `model patrol
param N: int = 6
param m: int = 8
data from: vector[m] = [1, 1, 1, 2, 3, 3, 3, 4]
data to: vector[m] = [3, 4, 6, 6, 4, 5, 6, 5]
data cost: vector[m] = [3.35, 1.95, 3.12, 1.9, 3.22, 1.84, 3.35, 3.96]
data risk: vector[m] = [5.94, 5.53, 5.65, 4.83, 4.22, 5.69, 2.36, 3.48]
solve { ties = optimistic }
upper {
  var patrol: vector[m] in box(0, 1)
  maximize sum(patrol .* flow) - 0.1 * sum(patrol)
  subject to hours: sum(patrol) <= 2.5
}
lower {
  var flow: vector[m] in nonneg
  minimize sum((cost + risk .* patrol) .* flow)
  subject to
    balance: forall i in 1..N: sum(a in 1..m if from[a] == i: flow[a]) - sum(a in 1..m if to[a] == i: flow[a]) == (if i == 1 then 1 else if i == N then -1 else 0)
}
`, 0.8651515151515152},
		{"market", `model quantity
param nb: int = 6
param m: int = 8
data from: vector[m] = [1, 2, 3, 4, 5, 1, 4, 3]
data to: vector[m] = [2, 3, 4, 5, 6, 6, 6, 6]
data sus: vector[m] = [14.7, 11.7, 13.3, 9.6, 8.2, 10.4, 11.0, 14.1]
data lim: vector[m] = [25, 29, 25, 19, 16, 21, 30, 38]
data c: vector[nb] = [10.3, 23.8, 34.4, 38.9, 14.8, 12.0]
data cap: vector[nb] = [34, 40, 41, 48, 31, 58]
data a: vector[nb] = [87, 81, 99, 77, 72, 90]
data beta: vector[nb] = [1.31, 1.22, 1.37, 0.62, 1.43, 0.77]
data at: vector[2] = [2, 5]
data oc: vector[2] = [8, 12]
data oq: vector[2] = [50, 40]
upper {
  var q: vector[2] in box(0, oq)
  maximize sum(k in 1..2: (dual(balance)[at[k]] - oc[k]) * q[k])
}
lower {
  var p: vector[nb] in box(0, cap)
  var d: vector[nb] in nonneg
  var angle: vector[nb - 1]
  let th = [0; angle]
  minimize c' * p + 0.1 * sumsq(p) - a' * d + 0.5 * sum(beta .* d .^ 2)
  subject to
    balance: forall i in 1..nb: d[i] + sum(l in 1..m if from[l] == i: sus[l] * (th[from[l]] - th[to[l]])) - sum(l in 1..m if to[l] == i: sus[l] * (th[from[l]] - th[to[l]])) == p[i] + sum(k in 1..2 if at[k] == i: q[k])
    lines: forall l in 1..m: -lim[l] <= sus[l] * (th[from[l]] - th[to[l]]) <= lim[l]
}
solve { ties = optimistic }
`, 1716.0062037919445},
	} {
		r := solveText(t, c.model, runtime.Options{})
		if f := float64(r.Upper.Objective); r.Status != runtime.Solved || !r.Global.Proved || math.Abs(f-c.optimum) > 2e-6*c.optimum {
			t.Errorf("%s: %s (%s), F %v, not %v", c.name, r.Status, r.Reason, f, c.optimum)
		}
	}
}
