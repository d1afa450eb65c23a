package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"bilevelc/runtime"
)

// unequal has four followers of 9, 12, 20 and 30 entries: a quadratic one, a
// curved one, one with an equality, and one with a budget that x moves.
const unequal = `model unequal
data A: matrix[30, 30] ~ normal(0, 0.4)
data c: vector[71] ~ normal(0, 2)
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x - [0.5, -0.2, 0.1]) + 0.1 * sumsq(a) + 0.1 * sum(b) + 0.05 * sumsq(d - 0.1) + sum(e) * x[1] / 20
}
lower {
  var a: vector[9] in box(-1, 1)
  var b: vector[12] in box(-2, 2)
  var d: vector[20] in nonneg
  var e: vector[30] in nonneg
  minimize 0.5 * sumsq(A[1..9, 1..9] * a) + sumsq(a) - c[1..9]' * a * (1 + x[1]) +
           sum(i in 1..12: log1pexp(b[i] - c[9+i]) + 0.5 * (b[i] - x[2])^2) + 0.1 * (sum(b) - 1)^2 +
           sumsq(d + A[1..20, 1..3] * x) + 0.3 * (d[1] - d[20])^2 +
           0.5 * sumsq(A * e) + 0.2 * sumsq(e) - (c[42..71] + 1)' * e
  subject to
    split: sum(d) == 3 + x[3]
    budget: sum(e) <= 4 + x[2]
}
`

// near compares two lists of numbers.
func near(t *testing.T, what string, got, want runtime.Values, tolerance float64) {
	t.Helper()
	for _, w := range want {
		g, ok := got.Get(w.Name)
		if !ok {
			t.Fatalf("%s: %s is missing", what, w.Name)
		}
		for k, v := range w.Data {
			if !(math.Abs(g.Data[k]-v) <= tolerance) {
				t.Errorf("%s: %s is %.12g in parts and %.12g as a whole", what, runtime.EntryName(w, k), g.Data[k], v)
			}
		}
	}
}

func TestFollowersEqualTheWhole(t *testing.T) {
	p := bindText(t, unequal)
	for _, oracle := range []string{"face", "difference", "penalty"} {
		at := runtime.Values{{Name: "x", Shape: []int{3}, Data: []float64{0.3, -0.4, 0.2}}}
		opts := runtime.Options{Oracle: oracle, Solver: "sparse", CheckGradient: true}
		a, err := p.Eval(context.Background(), at, opts)
		if err != nil {
			t.Fatal(err)
		}
		opts.Solver = "alm"
		w, err := p.Eval(context.Background(), at, opts)
		if err != nil {
			t.Fatal(err)
		}
		if a.Status != runtime.Solved || w.Status != runtime.Solved {
			t.Fatalf("%s: %s; %s: %s", a.Status, a.Reason, w.Status, w.Reason)
		}
		// The lower solver leaves 1e-8 or better.
		near(t, "y", a.Lower.Variables, w.Lower.Variables, 1e-8)
		near(t, "lambda", a.Lower.Multipliers, w.Lower.Multipliers, 1e-7)
		near(t, oracle, a.Upper.Hypergradient, w.Upper.Hypergradient, 1e-6)
		if !slices.Equal(a.Lower.Active, w.Lower.Active) {
			t.Errorf("active rows %v in parts, %v as a whole", a.Lower.Active, w.Lower.Active)
		}
		for what, pair := range map[string][2]runtime.Number{
			"F": {a.Upper.Objective, w.Upper.Objective}, "g": {a.Lower.Objective, w.Lower.Objective},
			"min_multiplier": {a.Lower.MinMultiplier, w.Lower.MinMultiplier}, "min_slack": {a.Lower.MinSlack, w.Lower.MinSlack},
		} {
			if !(math.Abs(float64(pair[0]-pair[1])) <= 1e-8*(1+math.Abs(float64(pair[1])))) {
				t.Errorf("%s = %v in parts and %v as a whole", what, pair[0], pair[1])
			}
		}
		if !(float64(a.Lower.ErrorBound) < 1e-6) || !(float64(a.Residuals.Stationarity) < 1e-8) {
			t.Errorf("error bound %v, stationarity %v", a.Lower.ErrorBound, a.Residuals.Stationarity)
		}
		if oracle != "penalty" && !(float64(a.Check.Relative) < 1e-5) {
			t.Errorf("%s: the hypergradient differs from finite differences of F by %v", oracle, a.Check.Relative)
		}
	}
}

// TestFollowersDoNotDependOnThreads compares whole result documents.
func TestFollowersDoNotDependOnThreads(t *testing.T) {
	t.Parallel()
	p := bindText(t, unequal)
	var first string
	for _, threads := range []int{1, 2, 7} {
		r, err := p.Solve(context.Background(), runtime.Options{Seed: 1, Threads: threads, MaxIter: 30})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "independent followers") }) {
			t.Errorf("the notes do not tell of the followers: %q", r.Notes)
		}
		r.Time, r.Phases = 0, runtime.Phases{}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = string(text)
		} else if string(text) != first {
			t.Fatalf("%d threads change the result\n%s\n%s", threads, first, text)
		}
	}
}

// TestFollowersSolvedWhole solves the outer problem both ways.
func TestFollowersSolvedWhole(t *testing.T) {
	t.Parallel()
	p := bindText(t, unequal)
	var results []*runtime.Result
	for _, solver := range []string{"sparse", "alm"} {
		r, err := p.Solve(context.Background(), runtime.Options{Seed: 1, Solver: solver})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != runtime.Solved {
			t.Fatalf("%s: %s", r.Status, r.Reason)
		}
		report, err := p.Verify(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, failure := range report.Failures() {
			t.Errorf("verification: %s", failure)
		}
		results = append(results, r)
	}
	f, g := float64(results[0].Upper.Objective), float64(results[1].Upper.Objective)
	if !(math.Abs(f-g) <= 1e-8*(1+math.Abs(g))) {
		t.Errorf("F = %.12g in parts and %.12g as a whole", f, g)
	}
}

// TestFollowersFailures keeps witnesses and places of failures.
func TestFollowersFailures(t *testing.T) {
	model := func(objective, rows string) string {
		return fmt.Sprintf(`model broken
upper {
  var x: real in box(1, 2)
  minimize x^2
}
lower {
  var a: vector[20]
  var b: vector[20]
  minimize 0.5 * sumsq(a) + 0.5 * (sum(a))^2 + 0.5 * sum(b)^2 + %s
  subject to
    total: sum(a) >= 1
%s}
`, objective, rows)
	}
	for _, c := range []struct {
		name, text, says string
		status           runtime.Status
	}{
		{"infeasible", model("0.5 * sumsq(b)", "    most: sum(b) <= 1\n    least: sum(b) >= 2 * x\n"), "least", runtime.Infeasible},
		{"a NaN", model("0.5 * sumsq(b) + sum(exp(b - x))", "    over: forall i in 1..20: b[i] >= 800\n"), "exp", runtime.NumericalFailure},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := bindText(t, c.text)
			r, err := p.Eval(context.Background(), runtime.Values{{Name: "x", Data: []float64{1}}}, runtime.Options{})
			if err != nil {
				t.Fatal(err)
			}
			said := r.Reason
			for _, d := range r.Diagnostics {
				said += "\n" + d.Error()
			}
			if r.Status != c.status || !strings.Contains(said, c.says) {
				t.Errorf("%s: %s", r.Status, said)
			}
		})
	}
}

// TestLetsOfFollowers: a let of a block with indices is an array over them elsewhere.
// A seller who keeps the share s of sales v pays v^2/(2 k), sells s k, and earns
// s^2 k/2, which is to be at least what he has elsewhere, r: the leader takes
// s = max(1/2, sqrt(2 r/k)), by hand.
func TestLetsOfFollowers(t *testing.T) {
	m, err := runtime.Compile("shares.blv", `model shares
set seller = {"ann", "bob", "cid"}
data skill: [seller] = [3, 2, 1.5]
data reserve: [seller] = [0.4, 0.2, 0.3]
upper {
  var share: [seller] in box(0, 1)
  maximize sum(s in seller: (1 - share[s]) * sales[s])
  subject to
    participate: forall s in seller: income[s] >= reserve[s]
}
lower agent[s in seller] {
  var sales: real in nonneg
  let cost = sales^2 / (2 * skill[s])
  let income = share[s] * sales - cost
  maximize income
}
report { earned = sum(income) }
`)
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Bind(nil, runtime.BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Solve(context.Background(), runtime.Options{Seed: 1})
	if err != nil || r.Status != runtime.Solved {
		t.Fatalf("%v %+v", err, r)
	}
	want, earned := 0.0, 0.0
	for i, k := range []float64{3, 2, 1.5} {
		s := math.Max(0.5, math.Sqrt(2*[]float64{0.4, 0.2, 0.3}[i]/k))
		want += (1 - s) * s * k
		earned += s * s * k / 2
	}
	sum, _ := r.Report.Get("earned")
	if math.Abs(float64(r.Upper.Objective)-want) > 1e-7 || math.Abs(sum.Data[0]-earned) > 1e-6 {
		t.Errorf("F = %v, earned %v; want %v and %v", r.Upper.Objective, sum.Data[0], want, earned)
	}
}
