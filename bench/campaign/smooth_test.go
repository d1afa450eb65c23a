package main

import (
	"testing"

	"bilevelc/internal/members"
)

// TestSmooth asks about programs with followers that are not quadratic, whose answers are known in closed form.
func TestSmooth(t *testing.T) {
	outcomes := map[string]int{}
	for seed := range members.Seeds(t, 200) {
		r := examineSmooth(seed)
		for _, o := range r.Outcomes {
			outcomes[o]++
		}
		for _, f := range r.Findings {
			if f.Soft {
				t.Logf("seed %d: %s: %s", seed, f.Kind, f.Detail)
			} else {
				t.Errorf("seed %d: %s: %s\n%s", seed, f.Kind, f.Detail, r.Text)
			}
		}
	}
	t.Logf("%v", outcomes)
	if n := members.Count(200); n-outcomes["solve solved"] > members.Misses(n, 0.05) || n-outcomes["the optimum"] > members.Misses(n, 0.1) {
		t.Errorf("of %d programs %d are solved, and %d at the optimum", n, outcomes["solve solved"], outcomes["the optimum"])
	}
}
