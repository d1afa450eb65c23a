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

// Where x is whole numbers alone, and they are few, F is found at each of them: also of an f that is not convex over answers that only the follower's own objective bounds. These have a closed form: entries of y are at rows that move with x,
// those of z at the ends of a box, or anywhere in it where their costs are 0.
func TestWholeNumbersOneByOne(t *testing.T) {
	solved := 0
	for k := range members.Seeds(t, 60) {
		rng := rand.New(rand.NewPCG(k, 713))
		draw := func(n int) []int {
			v := make([]int, n)
			for j := range v {
				v[j] = rng.IntN(7) - 3
			}
			return v
		}
		const most, wide = 4, 3
		q, s, w, l, p := [][]int{draw(2), draw(2)}, [][]int{draw(2), draw(2)}, [][]int{draw(2), draw(2)}, [][]int{draw(2), draw(2)}, [][]int{draw(2), draw(2)}
		low, cost, u := draw(2), draw(2), draw(2)
		sense, sign := "minimize", 1.0
		if k%2 == 0 {
			sense, sign = "maximize", -1
		}
		model := fmt.Sprintf(`model every
data Q: matrix[2, 2] = %s
data S: matrix[2, 2] = %s
data W: matrix[2, 2] = %s
data L: matrix[2, 2] = %s
data P: matrix[2, 2] = %s
data low: vector[2] = %s
data cost: vector[2] = %s
data u: vector[2] = %s
upper {
  var x: vector[2] integer in box(0, %d)
  %s x' * (Q * x) + x' * (S * y) + x' * (W * z) + u' * z
  subject to
    few: sum(x) <= %d
}
lower {
  var y: vector[2] in nonneg
  var z: vector[2] in box(0, %d)
  minimize sum(y) + (cost + P * x)' * z
  subject to
    rise: y >= L * x + low
}
solve { ties = optimistic }
`, text(q), text(s), text(w), text(l), text(p), text(low), text(cost), text(u), most, sense, most+2, wide)
		best := math.Inf(1)
		for a := range most + 1 {
			for b := range most + 1 {
				if a+b > most+2 {
					continue
				}
				x, f := [2]int{a, b}, 0.0
				along := func(v []int) int { return v[0]*a + v[1]*b }
				for i := range x {
					y := max(0, along(l[i])+low[i])
					f += sign * float64(x[i]*along(q[i])+(s[0][i]*a+s[1][i]*b)*y)
					c, slope := cost[i]+along(p[i]), sign*float64(u[i]+w[0][i]*a+w[1][i]*b)
					if c < 0 || c == 0 && slope < 0 {
						f += wide * slope
					}
				}
				best = math.Min(best, f)
			}
		}
		r, err := bindText(t, model).Solve(context.Background(), runtime.Options{})
		if err != nil {
			t.Errorf("member %d: %v\n%s", k, err, model)
			continue
		}
		if r.Status != runtime.Solved || r.Global == nil || !r.Global.Proved || math.Abs(sign*float64(r.Upper.Objective)-best) > 1e-6*(1+math.Abs(best)) {
			t.Errorf("member %d: %s (%s), F = %v for %v\n%s", k, r.Status, r.Reason, r.Upper.Objective, sign*best, model)
			continue
		}
		solved++
	}
	if solved == 0 {
		t.Error("none solved")
	}
}
