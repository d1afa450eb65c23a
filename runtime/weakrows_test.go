package runtime

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
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

// TestWeakRowsWhereXIsRounding: F = sum of max(0, c_i x_i) in any units, at an x of which some entries are 1e-17 to
// 1e-60 of the width of X. Those have no digits, so that their rows are weak, and a verification agrees; a row
// whose multiplier is a thousandth of the width says is not.
func TestWeakRowsWhereXIsRounding(t *testing.T) {
	rng := rand.New(rand.NewPCG(40025263, 1))
	doubts, forged := 0, 0
	for trial := range 300 {
		n := 1 + rng.IntN(4)
		width := math.Pow(10, float64(rng.IntN(17)-8))
		lower, upper, x := "", "", make([]float64, n)
		for i := range n {
			c := float64(1+rng.IntN(3)) * float64(1-2*rng.IntN(2))
			lower += fmt.Sprintf(" + %g * 0.5 * y[%d]^2 - (%g) * x[%d] * y[%d]", math.Pow(10, float64(rng.IntN(5)-2)), i+1, c, i+1, i+1)
			upper += fmt.Sprintf(" + %d * y[%d]", 1+rng.IntN(3), i+1)
			far := math.Pow(10, -17-43*rng.Float64())
			if rng.IntN(3) == 0 {
				far = math.Pow(10, -3*rng.Float64())
			}
			if x[i] = width * far * float64(1-2*rng.IntN(2)); rng.IntN(4) == 0 {
				x[i] = 0
			}
		}
		text := fmt.Sprintf("model m\nupper {\n  var x: vector[%d] in box(-%g, %g)\n  minimize 0%s\n}\nlower {\n  var y: vector[%d] in nonneg\n  minimize 0%s\n}\n",
			n, width, width, upper, n, lower)
		p := mustBind(t, text)
		r, err := p.Eval(context.Background(), Values{{Name: "x", Shape: []int{n}, Data: x}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if found := failures(t, p, r); len(found) > 0 {
			t.Errorf("trial %d, x = %v: %v\n%s", trial, x, found, text)
		}
		doubts += len(r.Lower.Weak)
		for k, name := range r.Lower.Active {
			row := 0
			if _, err := fmt.Sscanf(name, "y.nonneg[%d]", &row); err != nil {
				t.Fatal(err)
			}
			if math.Abs(x[row-1]) < 1e-4*width {
				continue
			}
			r.Lower.Weak = append(r.Lower.Weak, name)
			r.Lower.Active = append(r.Lower.Active[:k:k], r.Lower.Active[k+1:]...)
			forged++
			if found := failures(t, p, r); found["weak rows"] == "" {
				t.Errorf("trial %d, x = %v: %s may be weak: %v\n%s", trial, x, name, found, text)
			}
			break
		}
	}
	if doubts < 100 || forged < 50 {
		t.Errorf("%d weak rows, %d forged", doubts, forged)
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
