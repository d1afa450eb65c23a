package runtime

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	solvers "bilevelc/runtime/lower"

	"bilevelc/internal/members"
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
	doubts, forged := 0, 0
	enough := func() bool { return doubts >= members.Part(100, 300) && forged >= members.Part(50, 300) }
	for trial := range members.SeedsUntil(t, 1000, enough) {
		rng := rand.New(rand.NewPCG(trial, 1))
		n := 1 + rng.IntN(4)
		width := math.Pow(10, float64(rng.IntN(17)-8))
		left := width * float64(1+2*rng.IntN(2)) // where it starts y may react, or not
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
			n, left, width, upper, n, lower)
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
	if !enough() {
		t.Errorf("%d weak rows, %d forged", doubts, forged)
	}
}

// TestMultipliersAreOfActiveRows: of rows that hold together, as y >= 0 and a sum of y <= 0, each one that a solution gives a
// multiplier is among its active ones, also where it comes from the solve before, at an x a little off.
func TestMultipliersAreOfActiveRows(t *testing.T) {
	shared := 0
	for trial := range members.Seeds(t, 40) {
		rng := rand.New(rand.NewPCG(trial, 1))
		n := 2 + rng.IntN(3)
		pressed := 1 + rng.IntN(n)
		lower, row := "0", "0"
		for i := range n {
			lower += fmt.Sprintf(" + %g * y[%d]^2 + %g * log1pexp(y[%d]) - (%g) * x * y[%d]", 0.5+rng.Float64(), i+1, float64(rng.IntN(2)), i+1, 2*rng.Float64()-1, i+1)
			if i < pressed {
				row += fmt.Sprintf(" + %g * y[%d]", 0.5+2*rng.Float64(), i+1)
			}
		}
		p := mustBind(t, fmt.Sprintf("model m\nupper {\n  var x: real in box(-1, 1)\n  minimize sum(y)\n}\nlower {\n  var y: vector[%d] in nonneg\n  minimize %s\n  subject to\n    r: %s <= 0\n}\n", n, lower, row))
		for _, name := range []string{"alm", "pdg"} {
			solver, err := solvers.New(name, nil, p.Numeric, 1)
			if err != nil {
				t.Fatal(err)
			}
			var warm *solvers.Solution
			for k := range 12 {
				x := []float64{rng.Float64() - 0.5}
				if warm != nil && k%3 > 0 {
					x[0] = math.Pow(10, -14*rng.Float64()) * rng.NormFloat64()
				}
				s := solver.Solve(context.Background(), p.Numeric, solvers.G(p.Numeric, x), x, warm)
				if s.Status != solvers.Solved {
					continue
				}
				largest := 0.0
				for _, l := range s.Lambda {
					largest = math.Max(largest, l)
				}
				for i, l := range s.Lambda {
					if l > 1e-5*largest && l > 1e-5 && !slices.Contains(s.Active, i) {
						t.Errorf("trial %d, %s, solve %d at %v: row %d has the multiplier %v and is not among %v", trial, name, k, x, i, l, s.Active)
					}
				}
				shared += len(s.Dependent)
				warm = s
			}
		}
	}
	if shared < members.Part(100, 40) {
		t.Errorf("%d dependent rows", shared)
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
