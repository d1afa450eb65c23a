package system_test

import (
	"math"
	"testing"

	"bilevelc/runtime"
	"bilevelc/runtime/status"
	"bilevelc/runtime/system"
)

// TestRefuse: F = x/10 - x^2 on [-1, 2] has the local minima -3.8 at 2 and -1.1 at -1. Where the points at 2 are refused the one at -1 is the result, and -3.8 stays what bounds it.
func TestRefuse(t *testing.T) {
	model, err := runtime.Compile("two.blv", "model two\nupper {\n  var x: real in box(-1, 2)\n  minimize 0.1 * x - x * y\n}\nlower {\n  var y: real\n  minimize (y - x)^2\n}\n")
	if err != nil {
		t.Fatal(err)
	}
	bound, err := model.Bind(nil, runtime.BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	begin := func() ([]float64, error) { return []float64{1}, nil }
	run, err := system.Solve(t.Context(), bound.Numeric, system.Options{Linear: true, Sign: 1, Begin: begin, Starts: 8, Seed: 1})
	if err != nil || run.Best == nil || math.Abs(run.Best.F+3.8) > 1e-9 || run.Global == nil || !run.Global.Proved {
		t.Fatalf("%+v, %v", run, err)
	}
	for run.Best.F < -2 {
		if !run.Refuse(t.Context(), "for a test") {
			t.Fatalf("no start has ended at -1: %+v", run.Ends)
		}
	}
	if g := run.Global; math.Abs(run.Best.F+1.1) > 1e-9 || run.Status != status.Solved || g.Proved || g.Why == "" || math.Abs(float64(g.Bound)+3.8) > 1e-5 || math.Abs(float64(g.Gap)-2.7/1.1) > 1e-5 {
		t.Errorf("F = %v, %s, %+v", run.Best.F, run.Status, run.Global)
	}
	for _, end := range run.Ends {
		if end.Objective < -2 || end.Status == status.NumericalFailure && (end.Reason != "for a test" || !math.IsNaN(float64(end.Objective))) {
			t.Errorf("%+v", end)
		}
	}
	for run.Refuse(t.Context(), "for a test") {
		if math.Abs(run.Best.F+1.1) > 1e-9 {
			t.Errorf("F = %v", run.Best.F)
		}
	}
}
