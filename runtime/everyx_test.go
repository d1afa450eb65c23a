package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// Where x is whole numbers alone, and they are few, F is found at each of them: also of an f that is not convex over answers that only the follower's own objective bounds. These have a closed form: entries of y are at rows that move with x,
// those of z at the ends of a box, or anywhere in it where their costs are 0. In every third member the leader has rows on both, which the best of the answers to an x may not keep, or none.
func TestWholeNumbersOneByOne(t *testing.T) {
	solved := 0
	for k := range members.SeedsOf(t, 12, 60) {
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
		low, cost, u, curves := draw(2), draw(2), draw(2), draw(2)
		room, top, rows := math.Inf(1), math.Inf(1), ""
		if k%3 == 0 {
			room, top = float64(rng.IntN(12)), float64(rng.IntN(wide))
			rows = fmt.Sprintf("\n    own: sum(y) <= %v\n    cut: z[1] <= %v + x[1]", room, top)
		}
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
data c: vector[2] = %s
upper {
  var x: vector[2] integer in box(0, %d)
  %s x' * (Q * x) + x' * (S * y) + x' * (W * z) + u' * z + c[1] * y[1]^2 + c[2] * y[2]^2
  subject to
    few: sum(x) <= %d%s
}
lower {
  var y: vector[2] in nonneg
  var z: vector[2] in box(0, %d)
  minimize sum(y) + (cost + P * x)' * z
  subject to
    rise: y >= L * x + low
}
solve { ties = optimistic }
`, text(q), text(s), text(w), text(l), text(p), text(low), text(cost), text(u), text(curves), most, sense, most+2, rows, wide)
		best := math.Inf(1)
		for a := range most + 1 {
			for b := range most + 1 {
				if a+b > most+2 {
					continue
				}
				x, f, sum := [2]int{a, b}, 0.0, 0
				along := func(v []int) int { return v[0]*a + v[1]*b }
				for i := range x {
					y := max(0, along(l[i])+low[i])
					sum += y
					f += sign * float64(curves[i]*y*y)
					f += sign * float64(x[i]*along(q[i])+(s[0][i]*a+s[1][i]*b)*y)
					c, slope := cost[i]+along(p[i]), sign*float64(u[i]+w[0][i]*a+w[1][i]*b)
					most := float64(wide)
					if i == 0 && c >= 0 {
						most = math.Min(wide, top+float64(a))
					} else if i == 0 && wide > top+float64(a) {
						f = math.Inf(1)
					}
					if c < 0 || c == 0 && slope < 0 {
						f += most * slope
					}
				}
				if float64(sum) > room {
					continue
				}
				best = math.Min(best, f)
			}
		}
		if math.IsInf(best, 1) { // no x has an answer that the leader's rows allow
			continue
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

// A leader closes a few of many depots to make the follower's transports dear. Costs are the sum of one of the depot and one of the town, so that the cheapest q units leave the cheapest depots for the cheapest towns, and F at each choice is the least of numbers over q. Relaxations know
// little of such an F; the choices that the leader's row admits are few, and each is a program next to the one before.
func TestInterdictionOneByOne(t *testing.T) {
	for k := range members.SeedsOf(t, 2, 6) {
		rng := rand.New(rand.NewPCG(k, 714))
		const depots, towns, closed, short = 11, 14, 2, 20
		draw := func(n, least, most int) []int {
			v := make([]int, n)
			for j := range v {
				v[j] = least + rng.IntN(most-least+1)
			}
			return v
		}
		room, need, out, in := draw(depots, 2, 8), draw(towns, 1, 4), draw(depots, 1, 9), draw(towns, 0, 9)
		units := func(size, cost []int, without ...int) (sums []int) { // of the cheapest units
			var each []int
			for j, n := range size {
				if !slices.Contains(without, j) {
					each = append(each, slices.Repeat([]int{cost[j]}, n)...)
				}
			}
			slices.Sort(each)
			sums = []int{0}
			for q, c := range each {
				sums = append(sums, sums[q]+c)
			}
			return sums
		}
		want, to := 0, units(need, in)
		for a := range depots {
			for b := range a {
				from, least := units(room, out, a, b), short*(len(to)-1)
				for q := range min(len(from), len(to)) {
					least = min(least, from[q]+to[q]+short*(len(to)-1-q))
				}
				want = max(want, least)
			}
		}
		model := fmt.Sprintf(`model interdiction
set depot = 1..%d
set town = 1..%d
data room: [depot] = %s
data need: [town] = %s
data out: [depot] = %s
data home: [town] = %s
upper {
  var closed: [depot] binary
  maximize sum(d in depot, t in town: (out[d] + home[t]) * ship[d, t]) + %d * sum(short)
  subject to
    few: sum(closed) <= %d
}
lower {
  var ship: [depot, town] in nonneg
  var short: [town] in nonneg
  minimize sum(d in depot, t in town: (out[d] + home[t]) * ship[d, t]) + %d * sum(short)
  subject to
    supply: forall d in depot: sum(t in town: ship[d, t]) <= room[d] * (1 - closed[d])
    demand: forall t in town: sum(d in depot: ship[d, t]) + short[t] >= need[t]
}
solve { ties = optimistic }
`, depots, towns, text(room), text(need), text(out), text(in), short, closed, short)
		r := solveText(t, model, runtime.Options{})
		if r.Status != runtime.Solved || r.Global == nil || !r.Global.Proved || math.Abs(float64(r.Upper.Objective)-float64(want)) > 1e-9*float64(want) {
			t.Errorf("member %d: %s (%s), F = %v for %v", k, r.Status, r.Reason, r.Upper.Objective, want)
		}
	}
}

// The same where a constraint of the leader reads the follower's answers: with g = sum exp(y/2) + 0.5 y^2 - k y each answer is where exp(y/2)/2 + y = k, or 0, by bisection; of the k whose answers the constraint allows the best one is found, or there is none.
func TestFAtEachWholeXBesideProductsOfAnswers(t *testing.T) {
	t.Parallel()
	answer := func(k float64) float64 {
		lo, hi := 0.0, 5.0
		for range 100 {
			if y := (lo + hi) / 2; math.Exp(y/2)/2+y < k {
				lo = y
			} else {
				hi = y
			}
		}
		return lo
	}
	for seed := range members.SeedsOf(t, 6, 40) {
		rng := rand.New(rand.NewPCG(seed, 8273))
		n, most, weight := 2+rng.IntN(4), 3*rng.Float64(), rng.Float64()
		if seed%3 == 0 {
			most = -0.1
		}
		text := fmt.Sprintf("model h\nupper {\n  var k: vector[2] integer in box(0, %d)\n  maximize y[1] * k[1] + y[2] - %g * k[2]\n  subject to lim: y[1] * y[2] <= %g\n}\nlower {\n  var y: vector[2] in box(0, 5)\n  minimize sum(exp(0.5 * y)) + 0.5 * sumsq(y) - k' * y\n}\n", n, weight, most)
		best := math.Inf(-1)
		for a := range n + 1 {
			for b := range n + 1 {
				if p, q := answer(float64(a)), answer(float64(b)); p*q <= most {
					best = math.Max(best, p*float64(a)+q-weight*float64(b))
				}
			}
		}
		switch r := solveText(t, text, runtime.Options{Seed: seed}); {
		case math.IsInf(best, -1):
			if r.Status != runtime.Infeasible || strings.Contains(r.Reason, "contradict") {
				t.Errorf("%v (%s), truly infeasible\n%s", r.Status, r.Reason, text)
			}
		case r.Status != runtime.Solved || r.Global == nil || !r.Global.Proved || math.Abs(float64(r.Upper.Objective)-best) > 1e-7*(1+math.Abs(best)):
			t.Errorf("%v (%s), F = %v, truly %v\n%s", r.Status, r.Reason, r.Upper.Objective, best, text)
		}
	}
}

// So is F of a smooth follower without rows: exp(y) + y^2 - uy is least where exp(y) + 2y = u, which bisection solves.
func TestWholeNumbersOfFreeFollowers(t *testing.T) {
	t.Parallel()
	for k := range members.SeedsOf(t, 4, 40) {
		rng := rand.New(rand.NewPCG(k, 714))
		most, goal, pay := 2+rng.IntN(5), 6*rng.Float64()-1, 2*rng.NormFloat64()
		best := math.Inf(1)
		for u := range most + 1 {
			lo, hi := -10.0, 10.0
			for range 80 {
				if y := (lo + hi) / 2; math.Exp(y)+2*y < float64(u) {
					lo = y
				} else {
					hi = y
				}
			}
			best = math.Min(best, (float64(u)-goal)*(float64(u)-goal)+pay*lo)
		}
		text := fmt.Sprintf("model whole\nupper {\n  var u: integer in box(0, %d)\n  minimize (u - %.17g)^2 + %.17g * y\n}\nlower {\n  var y: real\n  minimize exp(y) + y^2 - u * y\n}\n", most, goal, pay)
		r := solveText(t, text, runtime.Options{Seed: k})
		if r.Status != runtime.Solved || r.Global == nil || !r.Global.Proved || math.Abs(float64(r.Upper.Objective)-best) > 1e-7*(1+math.Abs(best)) {
			t.Errorf("member %d: %v (%s), F = %v, truly %v\n%s", k, r.Status, r.Reason, r.Upper.Objective, best, text)
		}
	}
}
