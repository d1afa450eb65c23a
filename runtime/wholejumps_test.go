package runtime_test

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// A firm turns its units on and off hour by hour, which costs something itself, and is paid the price of a market that takes the cheapest offers. Its profit has a closed form: the price is the cost of the offer that is taken in part, and a dynamic program over the
// sets of units of an hour finds the best. Too large for a search, the result is one that no other unit in one hour betters, and in most members the best.
func TestJumpsOfWholeNumbers(t *testing.T) {
	const text = `model firm
param G: int
param H: int
data cost: vector[G]
data cap: vector[G]
data other: vector[5]
data room: vector[5]
data load: vector[H]
upper {
  var on: matrix[G, H] binary
  var start: matrix[G, H] in nonneg
  maximize sum(g in 1..G, h in 1..H: (dual(balance)[h] - cost[g]) * p[g, h]) - 60 * sum(start) - 30 * sum(on)
  subject to
    first: forall g in 1..G: start[g, 1] >= on[g, 1]
    begin: forall g in 1..G, h in 2..H: start[g, h] >= on[g, h] - on[g, h - 1]
}
lower {
  var p: matrix[G, H] in nonneg
  var r: matrix[5, H] in nonneg
  var shed: vector[H] in nonneg
  minimize sum(g in 1..G, h in 1..H: cost[g] * p[g, h]) + sum(k in 1..5, h in 1..H: other[k] * r[k, h]) + 150 * sum(shed)
  subject to
    balance: forall h in 1..H: load[h] == sum(g in 1..G: p[g, h]) + sum(k in 1..5: r[k, h]) + shed[h]
    limit: forall g in 1..G, h in 1..H: p[g, h] <= cap[g] * on[g, h]
    rivals: forall k in 1..5, h in 1..H: r[k, h] <= room[k]
}
solve { ties = optimistic }
`
	const units, hours = 3, 7
	count, open, best := 0, 0, 0
	for seed := range members.SeedsOf(t, 5, 100) {
		count++
		rng := rand.New(rand.NewPCG(seed, 83))
		draw := func(n int, lo, hi float64) []float64 {
			out := make([]float64, n)
			for i := range out {
				out[i] = math.Round(1000*(lo+(hi-lo)*rng.Float64())) / 1000
			}
			return out
		}
		cost, size, other, room, load := draw(units, 5, 40), draw(units, 10, 30), draw(5, 10, 80), draw(5, 10, 30), draw(hours, 50, 150)
		hour := func(h, set int) float64 { // profit, but for starts
			type offer struct {
				cost, size float64
				own        bool
			}
			var offers []offer
			for g := range units {
				if set>>g&1 == 1 {
					offers = append(offers, offer{cost[g], size[g], true})
				}
			}
			for i := range other {
				offers = append(offers, offer{other[i], room[i], false})
			}
			slices.SortFunc(offers, func(a, b offer) int { return cmp.Compare(a.cost, b.cost) })
			left, price, profit, sold := load[h], 150.0, -30*float64(bits.OnesCount(uint(set))), 0.0
			for _, o := range offers {
				taken := min(left, o.size)
				if o.own {
					profit, sold = profit-o.cost*taken, sold+taken
				}
				if left -= taken; left <= 0 {
					price = o.cost
					break
				}
			}
			return profit + price*sold
		}
		profit := func(sets []int) (sum float64) {
			before := 0
			for h, set := range sets {
				sum += hour(h, set) - 60*float64(bits.OnesCount(uint(set&^before)))
				before = set
			}
			return sum
		}
		at := make([]float64, 1<<units)
		for set := range at {
			if at[set] = math.Inf(-1); set == 0 {
				at[set] = 0
			}
		}
		for h := range hours {
			next := make([]float64, len(at))
			for set := range next {
				next[set] = math.Inf(-1)
				for before, v := range at {
					next[set] = max(next[set], v+hour(h, set)-60*float64(bits.OnesCount(uint(set&^before))))
				}
			}
			at = next
		}
		most := slices.Max(at)
		p := bindData(t, text, runtime.Data{"G": units, "H": hours, "cost": cost, "cap": size, "other": other, "room": room, "load": load})
		r, err := p.Solve(t.Context(), runtime.Options{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		on, _ := r.Upper.Variables.Get("on")
		sets := make([]int, hours)
		for h := range sets {
			for g := range units {
				sets[h] |= int(math.Round(on.Data[g*hours+h])) << g
			}
		}
		f := float64(r.Upper.Objective)
		if !(math.Abs(f-profit(sets)) <= 1e-7*(1+math.Abs(f))) || f > most+1e-7*(1+most) || !verified(p, r) {
			t.Errorf("seed %d: F = %v, not %v, of %v at most, or not verified", seed, f, profit(sets), most)
		}
		if f >= most-1e-7*(1+most) {
			best++
		}
		if r.Status == runtime.Solved {
			continue
		}
		open++
		for h := range sets {
			for g := range units {
				sets[h] ^= 1 << g
				if v := profit(sets); v > f+1e-7*(1+math.Abs(f)) {
					t.Errorf("seed %d: F = %v, but %v with unit %d otherwise in hour %d", seed, f, v, g, h)
				}
				sets[h] ^= 1 << g
			}
		}
	}
	if open == 0 {
		t.Error("all were small enough for a search")
	}
	if 2*best < count {
		t.Errorf("%d of %d at the best", best, count)
	}
}
