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

// idleLinks are parallel links with travel times free (1 + 0.15 (v/room)^4), the first with a toll, for several kinds of travellers whose flows on links are as good as each other's.
type idleLinks struct{ free, room, need []float64 }

func randomIdleLinks(r *rand.Rand) (l idleLinks) {
	for range 3 + r.IntN(5) {
		l.free = append(l.free, math.Round(20+30*r.Float64())/10)
		l.room = append(l.room, float64(2+r.IntN(4)))
	}
	for range 1 + r.IntN(3) {
		l.need = append(l.need, float64(2+r.IntN(6)))
	}
	return l
}

func (l idleLinks) model() string {
	return fmt.Sprintf(`model links
data free: vector[%[1]d] = %[3]s
data room: vector[%[1]d] = %[4]s
data need: vector[%[2]d] = %[5]s
upper {
  var toll: real in box(0, 3)
  minimize sum(a in 1..%[1]d: free[a] * (total[a] + 0.15 * total[a]^5 / room[a]^4))
}
lower {
  var flow: matrix[%[2]d, %[1]d] in nonneg
  var total: vector[%[1]d] in nonneg
  minimize sum(a in 1..%[1]d: free[a] * (total[a] + 0.03 * total[a]^5 / room[a]^4)) + toll * total[1]
  subject to
    all: forall a in 1..%[1]d: total[a] == sum(k in 1..%[2]d: flow[k, a])
    carried: forall k in 1..%[2]d: sum(a in 1..%[1]d: flow[k, a]) == need[k]
}
solve { ties = optimistic }`, len(l.free), len(l.need), list(l.free), list(l.room), list(l.need))
}

// at is F at a toll: by Wardrop's condition all links that are used take the same time, which bisection finds, and none takes less.
func (l idleLinks) at(toll float64) (f float64) {
	need := 0.0
	for _, t := range l.need {
		need += t
	}
	flows := func(time float64) (v []float64, sum float64) {
		for a, free := range l.free {
			cost := free
			if a == 0 {
				cost += toll
			}
			v = append(v, l.room[a]*math.Pow(math.Max(0, time-cost)/(0.15*free), 0.25))
			sum += v[a]
		}
		return v, sum
	}
	lo, hi := 0.0, 1e6
	for range 200 {
		mid := (lo + hi) / 2
		if _, sum := flows(mid); sum < need {
			lo = mid
		} else {
			hi = mid
		}
	}
	v, _ := flows(hi)
	for a, free := range l.free {
		f += free * (v[a] + 0.15*math.Pow(v[a], 5)/math.Pow(l.room[a], 4))
	}
	return f
}

// Parallel links some of which nobody uses, at whose flow of 0 travel times have no slope: answers are known to be 0 there, and others not to be, whatever little the idle ones curve.
func TestIdleLinks(t *testing.T) {
	t.Parallel()
	for seed := range members.SeedsOf(t, 6, 200) {
		l := randomIdleLinks(rand.New(rand.NewPCG(seed, 92)))
		p := bindText(t, l.model())
		r, err := p.Solve(context.Background(), runtime.Options{})
		if err != nil {
			t.Fatalf("%d: %v\n%s", seed, err, l.model())
		}
		if r.Status != runtime.Solved {
			t.Errorf("%d: %s (%s)\n%s", seed, r.Status, r.Reason, l.model())
			continue
		}
		best, near := math.Inf(1), 1.5
		for _, half := range []float64{1.5, 0.15} { // all of the box, then around the best
			for k, middle := -150, near; k <= 150; k++ {
				toll := min(max(middle+half*float64(k)/150, 0), 3)
				if f := l.at(toll); f < best {
					best, near = f, toll
				}
			}
		}
		toll, _ := r.Upper.Variables.Get("toll")
		if f, at := float64(r.Upper.Objective), l.at(toll.Data[0]); math.Abs(f-at) > 1e-8*at || f > best+1e-6*best {
			t.Errorf("%d: F = %v at %v, which is %v by bisection, %v on a grid\n%s", seed, f, toll.Data[0], at, best, l.model())
		}
	}
}
