package runtime

import (
	"context"
	"math"
	"testing"
)

// TestSlackRowsAreNotWeak: a row that is slack by more than y is known to is not one in doubt, whatever the document
// says of its error bound where it has no certificate of one.
func TestSlackRowsAreNotWeak(t *testing.T) {
	p := mustBind(t, "model m\nupper {\n  var x: real in box(-1, 1)\n  minimize y\n}\nlower {\n  var y: real in nonneg\n  minimize (y - x)^2\n}\n")
	for _, bound := range []float64{0, 1e-9, math.NaN(), math.Inf(1)} {
		r, err := p.Eval(context.Background(), Values{{Name: "x", Data: []float64{0.5}}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		before := len(failures(t, p, r))
		r.Lower.Weak, r.Lower.ErrorBound = []string{"y.nonneg"}, Number(bound)
		if math.IsNaN(bound) || math.IsInf(bound, 1) {
			r.Certificate = nil
		}
		if found := failures(t, p, r); before > 0 || found["weak rows"] == "" {
			t.Errorf("error bound %g: %v", bound, found)
		}
	}
}

// failures are the claims of a result that its verification refuses, with why.
func failures(t *testing.T, p *Problem, r *Result) map[string]string {
	t.Helper()
	report, err := p.Verify(r)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, c := range report.Failures() {
		out[c.Claim] = c.Problem()
	}
	return out
}
