package paper

import (
	"context"
	"math/rand/v2"
	"testing"

	"bilevelc/runtime/lower"
	"bilevelc/runtime/method"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/status"
)

// The continuation never loses a lower point, and finds the global minimum, known from
// a grid, of followers whose F has several local ones more often than the search from
// the start alone.
func TestContinuationLeavesLocalTraps(t *testing.T) {
	spec, err := lower.Lookup(lower.Default)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 3))
	found, problems := [2]int{}, 0
	for problems < 300 {
		p := randomFollower(rng)
		if p.dx > 1 {
			continue
		}
		problems++
		least, traps := p.grid(t)
		if traps < 2 {
			continue
		}
		var f [2]float64
		for k, continued := range []bool{false, true} {
			s, err := spec.New(nil)
			if err != nil {
				t.Fatal(err)
			}
			h := oracle.New(p.problem(), s, &oracle.Face{Settings: *oracle.DefaultFace()})
			r, err := outer.Solve(context.Background(), h, "bundle", made(t, "bundle", method.Values{"continuation": continued}), outer.Options{Start: []float64{0.3}, Seed: 1})
			if err != nil || r.Best == nil || r.Status != status.Solved {
				t.Fatalf("%v: %v", r, err)
			}
			if f[k] = r.Best.F; f[k] <= least+1e-3 {
				found[k]++
			}
		}
		if f[1] > f[0]+1e-9 {
			t.Errorf("F %g with a continuation, %g without", f[1], f[0])
		}
	}
	t.Logf("global minimum found %d times, and %d times with a continuation", found[0], found[1])
	if found[1] <= found[0] {
		t.Errorf("the continuation finds the minimum %d times, the search alone %d times", found[1], found[0])
	}
}

// grid is the least F on [-1, 1] and the number of local minima, of a grid and for
// dx = 1.
func (p *follower) grid(t *testing.T) (least float64, minima int) {
	const n = 200
	h := hyper(t, p.problem())
	var f [n + 1]float64
	for i := range f {
		pt, err := h.Value(context.Background(), []float64{-1 + 2*float64(i)/n})
		if err != nil {
			t.Fatal(err)
		}
		f[i] = pt.F
		if i == 0 || f[i] < least {
			least = f[i]
		}
	}
	for i, v := range f {
		if (i == 0 || v < f[i-1]-1e-9) && (i == n || v < f[i+1]-1e-9) {
			minima++
		}
	}
	return least, minima
}
