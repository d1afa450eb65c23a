package runtime_test

import (
	"math"
	"testing"

	"bilevelc/runtime"
)

// A result that says of itself that its lower level is not solved may say nothing of F
// that would follow from one, and is never solved; without that it passes whatever y it
// was left at, as long as its numbers are those of that point.
func TestRoughResults(t *testing.T) {
	p := bindText(t, "model rough\nupper {\nvar x: real in box(0, 2)\nminimize (y - 1)^2\n}\nlower {\nvar y: real\nminimize 0.5 * (y - x)^2\n}\n")
	r, err := p.Solve(t.Context(), runtime.Options{})
	if err != nil || r.Status != runtime.Solved {
		t.Fatal(r.Status, r.Reason, err)
	}
	ok := func(r runtime.Result) bool {
		report, err := p.Verify(&r)
		if err != nil {
			t.Fatal(err)
		}
		return report.OK()
	}
	r.Lower.Status = "inaccurate"
	if ok(*r) {
		t.Error("solved over a lower level that is not passes")
	}
	r.Status = runtime.LimitReached
	if ok(*r) {
		t.Error("a gradient of F passes where the lower level is not solved")
	}
	certificate := *r.Certificate
	certificate.Goldstein, certificate.GradientMapping = nil, nil
	r.Certificate, r.Upper.Hypergradient = &certificate, nil
	r.Stationarity.Strict, r.Stationarity.Measure, r.Stationarity.Value, r.Stationarity.Delta = false, "none", runtime.Number(math.NaN()), 0
	if !ok(*r) {
		t.Error("a result that claims nothing of F does not pass")
	}
	r.Lower.Objective++
	if ok(*r) {
		t.Error("another value of g passes")
	}
}
