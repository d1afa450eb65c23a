package main

import (
	"context"
	"math"
	"testing"

	"bilevelc/runtime"
)

// The optimum that one variable tells is the one that a solve of the whole program finds, and the
// merely convex toy ends at its closed form, but for what the regularization of ties takes.
func TestEqualities(t *testing.T) {
	solve := func(model string, numbers runtime.Data) *runtime.Result {
		t.Helper()
		p := withNumbers("data", model, numbers)()
		r, err := p.Solve(context.Background(), runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if v, err := p.Verify(r); err != nil || !v.OK() || r.Status != runtime.Solved {
			t.Fatalf("%s: %v, verified: %v, %v", model, r.Status, v, err)
		}
		return r
	}
	for seed := uint64(1); seed <= 3; seed++ {
		numbers, least := equality(seed, 20, 15, 8)
		if F := float64(solve("equality.blv", numbers).Upper.Objective); math.Abs(F-least) > 1e-9 {
			t.Errorf("seed %d: F is %v, the optimum %v", seed, F, least)
		}
	}
	r := solve("equality_convex.blv", runtime.Data{"n": 10})
	if F := float64(r.Upper.Objective); math.Abs(F-0.5) > 1e-5 {
		t.Errorf("convex: F is %v, the optimum 0.5", F)
	}
}
