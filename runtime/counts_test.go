package runtime

import (
	"context"
	"testing"
)

// TestCountsAreNoneNegative: no count of a result is below what one point of F takes, that of its verification not below 0.
func TestCountsAreNoneNegative(t *testing.T) {
	p := mustBind(t, "model m\nupper {\n  var x: real in box(-1, 1)\n  minimize (y - 0.5)^2 + 0.1 * x\n}\nlower {\n  var y: real in nonneg\n  minimize (y - x)^2\n}\n")
	r, err := p.Solve(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if found := failures(t, p, r); len(found) > 0 || r.Verification == nil {
		t.Fatalf("an honest result fails: %v", found)
	}
	for name, count := range map[string]*int64{
		"calls f": &r.Calls.F, "grad f": &r.Calls.GradF, "g": &r.Calls.G, "grad g": &r.Calls.GradG,
		"f of the verification": &r.Verification.F, "grad f of it": &r.Verification.GradF, "g of it": &r.Verification.G, "grad g of it": &r.Verification.GradG,
	} {
		honest := *count
		*count = -1
		found := failures(t, p, r)
		if found["calls"] == "" && found["calls of the run's verification"] == "" {
			t.Errorf("%s is -1: %v", name, found)
		}
		*count = honest
	}
}
