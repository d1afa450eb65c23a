package runtime_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/each"
	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// Travellers spread over destinations as entropy has it, in rooms that hold at no toll, and the leader wants a tenth of each room free: where a room is full small tolls change nothing. A row that always holds, of products, leaves no relaxation. Tolls that do it are
// the multipliers of smaller rooms, which are finite as long as those are larger than all supplies together.
func TestTollsWhereRoomsAreFull(t *testing.T) {
	t.Parallel()
	for seed := range members.Seeds(t, 1) {
		rng := rand.New(rand.NewPCG(seed, 95))
		from, to := 4+rng.IntN(4), 5+rng.IntN(4)
		supply := each.Below(from, func(int) float64 { return 5 + 20*rng.Float64() })
		all := each.Sum(supply, func(v float64) float64 { return v })
		room := each.Below(to, func(int) float64 { return 1.25 * all / float64(to) })
		cost := each.Below(from, func(int) []float64 { return each.Below(to, func(int) float64 { return 1 + 5*rng.Float64() }) })
		p := bindData(t, `model trips
param n: int
param m: int
data cost: matrix[n, m]
data supply: vector[n]
data room: vector[m]
upper {
  var toll: vector[m] in box(0, 20)
  minimize sum(cost .* trip) + 0.1 * sumsq(toll)
  subject to
    most: forall d in 1..m: sum(trip[:, d]) <= 0.9 * room[d]
    money: sum(o in 1..n, d in 1..m: toll[d] * trip[o, d]) <= 20 * sum(supply)
}
lower {
  var trip: matrix[n, m] in nonneg
  minimize sum(o in 1..n, d in 1..m: (cost[o, d] + toll[d]) * trip[o, d] + (trip[o, d] + 0.001) * log(trip[o, d] + 0.001))
  subject to
    leave: forall o in 1..n: sum(trip[o, :]) == supply[o]
    fit: forall d in 1..m: sum(trip[:, d]) <= room[d]
}
`, runtime.Data{"n": from, "m": to, "cost": cost, "supply": supply, "room": room})
		r, err := p.Solve(t.Context(), runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != runtime.Solved || !verified(p, r) {
			t.Errorf("seed %d: %v: %s", seed, r.Status, r.Reason)
		}
	}
}

// A bonus at which nobody works has no slope, and others are better: pains of effort are drawn so that a common rate pays. A start from a draw may stall without a certificate: the run goes on from its point off the KKT system (seed 361538783).
func TestBonusAtWhichNobodyWorks(t *testing.T) {
	t.Parallel()
	for seed := range members.Seeds(t, 2) {
		rng := rand.New(rand.NewPCG(seed, 96))
		n := 25 + rng.IntN(20)
		skill, pain := each.Below(n, func(int) float64 { return 0.5 + rng.Float64() }), each.Below(n, func(int) float64 { return 0.3 + 0.6*rng.Float64() })
		p := bindData(t, `model bonus
param n: int
data skill: vector[n]
data pain: vector[n]
upper {
  var rate: vector[3] in box(0, 6)
  var base: real in box(0, 5)
  maximize sum(w in 1..n: skill[w] * (5 * effort[w, 1] + 4 * effort[w, 2] + 3 * effort[w, 3]) - sum(k in 1..3: rate[k] * effort[w, k]) - base)
  subject to
    accept: forall w in 1..n: base + sum(k in 1..3: rate[k] * effort[w, k]) - pain[w] * sum(k in 1..3: exp(effort[w, k])) >= 0
}
lower person[w in 1..n] {
  var effort: vector[3] in nonneg
  maximize rate' * effort - pain[w] * sum(k in 1..3: exp(effort[k])) - 0.5 * log1pexp(sum(effort) - 3)
  subject to
    hours: sum(effort) <= 5
}
`, runtime.Data{"n": n, "skill": skill, "pain": pain})
		r, err := p.Solve(t.Context(), runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		best := math.Inf(-1)
		for rate := 0.5; rate <= 6; rate += 0.5 {
			told, err := p.Evaluate(t.Context(), []float64{rate, rate, rate, 0})
			if err != nil {
				t.Fatal(err)
			}
			base := 0.0 // the least with which all accept
			for w := range n {
				need := 0.0
				for _, e := range told.Y[3*w : 3*w+3] {
					need += pain[w]*math.Exp(e) - rate*e
				}
				base = math.Max(base, need)
			}
			if base <= 5 {
				best = math.Max(best, told.F-float64(n)*base)
			}
		}
		f := float64(r.Upper.Objective)
		if r.Status != runtime.Solved || !verified(p, r) {
			t.Errorf("seed %d, %d workers: %v (%s)", seed, n, r.Status, r.Reason)
		}
		if f < best-1e-6*math.Abs(best) {
			t.Errorf("seed %d, %d workers: F = %v (%s), and a common rate has %v", seed, n, f, r.Reason, best)
		}
	}
}

// A good that is priced out is a plateau of F, which no local solution leaves, and prices that sell it are a twentieth of X: with log utilities and room for all that is best to sell, each good has a best price of its own, at which its marginal revenue a b / (1 + b y)^2 is its cost.
func TestGoodsPricedOut(t *testing.T) {
	t.Parallel()
	for seed := range members.SeedsOf(t, 2, 40) {
		rng := rand.New(rand.NewPCG(seed, 97))
		n, best, room := 8, 0.0, 1.0
		draw := func(lo, hi float64) []float64 {
			return each.Below(n, func(int) float64 { return lo + (hi-lo)*rng.Float64() })
		}
		a, b, cost := draw(1, 4), draw(0.5, 2), draw(0.2, 1)
		for i := range n {
			if y := (math.Sqrt(a[i]*b[i]/cost[i]) - 1) / b[i]; y > 0 {
				best, room = best+(a[i]*b[i]/(1+b[i]*y)-cost[i])*y, room+y
			}
		}
		p := bindData(t, `model goods
param n: int
param most: real
data a: vector[n]
data b: vector[n]
data cost: vector[n]
upper {
  var p: vector[n] in box(0.1, 20)
  maximize (p - cost)' * y
}
lower {
  var y: vector[n] in box(0, 50)
  maximize sum(a .* log(1 + b .* y)) - p' * y
  subject to
    room: sum(y) <= most
}
`, runtime.Data{"n": n, "a": a, "b": b, "cost": cost, "most": math.Ceil(room)})
		r, err := p.Solve(t.Context(), runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if f := float64(r.Upper.Objective); r.Status != runtime.Solved || math.Abs(f-best) > 1e-6*best {
			t.Errorf("seed %d: %v: %s; F %.10g, the best is %.10g", seed, r.Status, r.Reason, f, best)
		}
	}
}
