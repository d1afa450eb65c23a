package runtime

import (
	"context"
	"strings"
	"testing"
)

// scoutsText is the experiment of the paper, section 6, in which most starts end at points of their own, with a row
// on x, beside which a run goes along the central path.
const scoutsText = `model experiment
data c: vector[45] ~ normal(0, 1)
data P: matrix[20, 45] ~ normal(0, 1)
data L: matrix[45, 45] ~ normal(0, 1)
data A: matrix[9, 45] ~ normal(0, 1)
data b: vector[9] ~ normal(0, 1)
upper {
  var x: vector[20]
  minimize c' * y + 0.01 * sumsq(x) + 0.01 * sumsq(y)
  subject to
    total: sum(x) <= 1000
}
lower {
  var y: vector[45]
  minimize 0.5 * y' * (L' * L + eye(45)) * y + x' * P * y
  subject to
    capacity: A * y <= b
}
`

// TestScouts compares a default run with that from the first start: it is at least as low,
// and where it says that the way from another start led lower it says from what, passes
// verification, and comes out the same again. Who asks for one start gets that one.
func TestScouts(t *testing.T) {
	model, err := Compile("experiment.blv", scoutsText)
	if err != nil {
		t.Fatal(err)
	}
	lower := 0
	for seed := range uint64(3) {
		p, err := model.Bind(nil, BindOptions{Seed: seed + 1})
		if err != nil {
			t.Fatal(err)
		}
		solve := func(opts Options) *Result {
			r, err := p.Solve(context.Background(), opts)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		looked := func(r *Result) string {
			for _, note := range r.Notes {
				if strings.HasPrefix(note, "looked from") {
					return note
				}
			}
			return ""
		}
		one, all := solve(Options{Starts: 1, offSystem: true}), solve(Options{offSystem: true})
		if looked(one) != "" || looked(all) == "" {
			t.Fatalf("seed %d: one start says %q, the default %q", seed, looked(one), looked(all))
		}
		if all.Status != Solved || all.Upper.Objective > one.Upper.Objective {
			t.Errorf("seed %d: %s at %v, and one start %v", seed, all.Status, all.Upper.Objective, one.Upper.Objective)
		}
		if all.Calls.GradG <= one.Calls.GradG {
			t.Errorf("seed %d: %d gradients of g, and the first start alone took %d", seed, all.Calls.GradG, one.Calls.GradG)
		}
		if strings.Contains(looked(all), "none led lower") {
			if all.Upper.Objective != one.Upper.Objective {
				t.Errorf("seed %d: %v is not %v, and %q", seed, all.Upper.Objective, one.Upper.Objective, looked(all))
			}
			continue
		}
		lower++
		if !strings.Contains(looked(all), "from the first start the run ends at "+number(float64(one.Upper.Objective))) {
			t.Errorf("seed %d: %q, and one start ends at %v", seed, looked(all), one.Upper.Objective)
		}
		if again := solve(Options{offSystem: true}); again.Upper.Objective != all.Upper.Objective || looked(again) != looked(all) || again.Calls != all.Calls {
			t.Errorf("seed %d: another run has %v in %v, %q", seed, again.Upper.Objective, again.Calls, looked(again))
		}
		if report, err := p.Verify(all); err != nil || !report.OK() {
			t.Errorf("seed %d: the result is not verified (%v)", seed, err)
		}
		chosen := solve(Options{offSystem: true, Start: Values{{Name: "x", Shape: []int{20}, Data: make([]float64, 20)}}})
		if looked(chosen) != "" || chosen.Upper.Objective != one.Upper.Objective {
			t.Errorf("seed %d: a start that was chosen ends at %v, and %q", seed, chosen.Upper.Objective, looked(chosen))
		}
	}
	if lower == 0 {
		t.Error("no start led lower than the first")
	}
}
