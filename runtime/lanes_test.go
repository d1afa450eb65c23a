package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/runtime"
)

// lanes is a town that adds lanes to roads beside each other; travellers, of one kind or of two that only their numbers tell apart, spread as Wardrop has it.
type lanes struct {
	t0, room, add, price []float64
	demand, money        float64
	kinds                int
}

func newLanes(rng *rand.Rand) *lanes {
	b := &lanes{demand: 8 + 4*rng.Float64(), money: 1.5 + rng.Float64(), kinds: 1 + rng.IntN(2)}
	for range 2 + rng.IntN(3) {
		b.t0, b.room = append(b.t0, 8+6*rng.Float64()), append(b.room, 2+2*rng.Float64())
		b.add, b.price = append(b.add, 1+2*rng.Float64()), append(b.price, 0.5+rng.Float64())
	}
	return b
}

func (b *lanes) text() string {
	list := func(v []float64) string {
		return "[" + strings.Join(strings.Fields(strings.Trim(fmt.Sprint(v), "[]")), ", ") + "]"
	}
	return fmt.Sprintf("model lanes\nset road = 1..%d\nset kind = 1..%d\ndata t0: [road] = %s\ndata room: [road] = %s\ndata add: [road] = %s\ndata price: [road] = %s\nsolve { ties = optimistic }\n"+
		"upper {\n  var lane: [road] binary\n  minimize sum(r in road: t0[r] * v[r] * (1 + 0.15 * (v[r] / (room[r] + add[r] * lane[r]))^4)) + price' * lane\n  subject to\n    budget: price' * lane <= %v\n}\n"+
		"lower {\n  var y: [kind, road] in nonneg\n  let v = [r in road: sum(k in kind: y[k, r])]\n  minimize sum(r in road: t0[r] * (v[r] + 0.03 * (room[r] + add[r] * lane[r]) * (v[r] / (room[r] + add[r] * lane[r]))^5))\n"+
		"  subject to all: forall k in kind: sum(r in road: y[k, r]) == %v\n}\n", len(b.t0), b.kinds, list(b.t0), list(b.room), list(b.add), list(b.price), b.money, b.demand/float64(b.kinds))
}

// least is the lowest F over all choices: at each the flows, and the time that all roads in use take, by bisection.
func (b *lanes) least() float64 {
	best := math.Inf(1)
	for bits := range 1 << len(b.t0) {
		cost, room := 0.0, append([]float64(nil), b.room...)
		for r := range room {
			if bits>>r&1 == 1 {
				cost += b.price[r]
				room[r] += b.add[r]
			}
		}
		if cost > b.money {
			continue
		}
		flow := func(r int, time float64) float64 { return room[r] * math.Pow(math.Max(0, time/b.t0[r]-1)/0.15, 0.25) }
		lo, hi := 0.0, 1e6
		for range 200 {
			sum, mid := 0.0, (lo+hi)/2
			for r := range room {
				sum += flow(r, mid)
			}
			if sum < b.demand {
				lo = mid
			} else {
				hi = mid
			}
		}
		best = math.Min(best, cost+b.demand*lo)
	}
	return best
}

// Whole numbers are looked at one by one also where the follower's costs are convex, and strictly only in sums of its entries.
func TestLanesOfCongestedRoads(t *testing.T) {
	for k := range uint64(6) {
		b := newLanes(rand.New(rand.NewPCG(k, 31)))
		r, err := bindText(t, b.text()).Solve(context.Background(), runtime.Options{})
		if err != nil {
			t.Fatalf("%d: %v\n%s", k, err, b.text())
		}
		if want := b.least(); r.Status != runtime.Solved || !r.Global.Proved || math.Abs(float64(r.Upper.Objective)-want) > 1e-7*want {
			t.Errorf("%d: %v (%s): F = %v, want %v\n%s", k, r.Status, r.Reason, r.Upper.Objective, want, b.text())
		}
	}
}

// Of several answers the one that is best for the leader counts: those of two entries whose sum the follower weighs, exp(s) - (e + k[1]) s + k[2] s / 10 with s = log(e + k[1] - k[2] / 10).
func TestWholeNumbersBesideTies(t *testing.T) {
	for f, of := range map[string]func(s float64) float64{
		"y[1] - 0.5 * y[2]": func(s float64) float64 { return -0.5 * s },
		"y[1] * y[2]":       func(float64) float64 { return 0 }, // not convex: the ends of the answers are least
	} {
		r, err := bindText(t, fmt.Sprintf("model two\nsolve { ties = optimistic }\nupper {\n  var k: vector[2] binary\n  minimize %s + 0.3 * k[1] - 0.1 * k[2]\n}\n"+
			"lower {\n  var y: vector[2] in box(0, 2)\n  minimize exp(y[1] + y[2]) - (exp(1) + k[1]) * (y[1] + y[2]) + 0.1 * k[2] * (y[1] + y[2])\n}\n", f)).Solve(context.Background(), runtime.Options{})
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		want := math.Inf(1)
		for bits := range 4 {
			a, b := float64(bits&1), float64(bits>>1)
			want = math.Min(want, of(math.Log(math.E+a-0.1*b))+0.3*a-0.1*b)
		}
		if r.Status != runtime.Solved || !r.Global.Proved || math.Abs(float64(r.Upper.Objective)-want) > 1e-8 {
			t.Errorf("%s: %v (%s): F = %v, want %v", f, r.Status, r.Reason, r.Upper.Objective, want)
		}
	}
}
