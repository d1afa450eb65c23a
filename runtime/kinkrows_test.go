package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestKinksInRows compares random followers under rows with kinks with the same ones
// under all of the affine rows that these stand for: a sum of maxima is at most c where
// each choice of one argument from each of them is. The multiplier of a row with kinks
// is the sum of those of its affine rows.
func TestKinksInRows(t *testing.T) {
	bound, gradients := 0, 0
	for trial := range members.Seeds(t, 60) {
		r := rand.New(rand.NewPCG(trial, 8))
		const n = 2
		number := func() float64 { return math.Round(r.NormFloat64()*64) / 64 }
		affine := func() string {
			return fmt.Sprintf("(%v) * y[1] + (%v) * y[2] + (%v) * x[1] + (%v) * x[2] + (%v)", number(), number(), number(), number(), number())
		}
		// Each kink as it is written, and the affine functions of which it is the largest.
		type kink struct {
			text  string
			sides []string
		}
		kinks := []func() kink{
			func() kink {
				a, b := affine(), affine()
				return kink{"max(" + a + ", " + b + ")", []string{a, b}}
			},
			func() kink {
				a := affine()
				return kink{"2 * abs(" + a + ")", []string{"2 * (" + a + ")", "-2 * (" + a + ")"}}
			},
			func() kink {
				a, b := affine(), affine()
				return kink{"-min(" + a + ", " + b + ")", []string{"-(" + a + ")", "-(" + b + ")"}}
			},
			func() kink {
				return kink{"norm1(y - x)", []string{"y[1] - x[1] + y[2] - x[2]", "x[1] - y[1] + y[2] - x[2]", "y[1] - x[1] + x[2] - y[2]", "x[1] - y[1] + x[2] - y[2]"}}
			},
			func() kink {
				a := affine()
				return kink{"max(" + a + ", abs(y[1] - 0.25))", []string{a, "y[1] - 0.25", "0.25 - y[1]"}}
			},
			func() kink { a := affine(); return kink{a, []string{a}} },
		}
		var texts []string
		sums := []string{"0"}
		for k := range 1 + r.IntN(2) {
			one := kinks[(int(trial%6)+k*r.IntN(6))%6]()
			texts = append(texts, one.text)
			var longer []string
			for _, s := range sums {
				for _, side := range one.sides {
					longer = append(longer, s+" + "+side)
				}
			}
			sums = longer
		}
		relation := strings.Join(texts, " + ")
		limit := math.Abs(number()) + 0.5
		var rows, duals []string
		for k, s := range sums {
			rows = append(rows, fmt.Sprintf("    side%d: %s <= %v", k, s, limit))
			duals = append(duals, fmt.Sprintf("dual(side%d)", k))
		}
		row := fmt.Sprintf("    cap: %s <= %v", relation, limit)
		if trial%3 == 0 { // the same the other way around
			row = fmt.Sprintf("    cap: %v >= %s", limit, relation)
		}
		model := fmt.Sprintf(`model m
upper {
  var x: vector[2] in box(-1, 1)
  minimize sumsq(y - [%v, %v]) + 0.1 * sumsq(x) + 0.2 * DUAL
}
lower {
  var y: vector[2]
  minimize sumsq(y - x) - %v * y[1] + %v * y[2]
  subject to
ROWS
}
`, number(), number(), 3*number(), 3*number())
		x := []float64{2*r.Float64() - 1, 2*r.Float64() - 1}
		var res [2]*runtime.Result
		feasible := true
		for k, with := range [][2]string{{"dual(cap)", row}, {strings.Join(duals, " + 0.2 * "), strings.Join(rows, "\n")}} {
			text := strings.Replace(strings.Replace(model, "DUAL", with[0], 1), "ROWS", with[1], 1)
			p := bindText(t, text)
			var err error
			res[k], err = p.Eval(context.Background(), runtime.Values{{Name: "x", Shape: []int{n}, Data: x}}, runtime.Options{})
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if res[k].Status == runtime.Infeasible {
				feasible = false
				continue
			}
			if res[k].Status != runtime.Solved {
				t.Errorf("trial %d: %s: %s\n%s", trial, res[k].Status, res[k].Reason, text)
				feasible = false
				continue
			}
			if report, err := p.Verify(res[k]); err != nil || !report.OK() {
				t.Errorf("trial %d: verification: %v %v\n%s", trial, err, report.Failures(), text)
			}
		}
		if res[0].Status != res[1].Status {
			t.Errorf("trial %d: %s with kinks, %s without\n%s\n%s", trial, res[0].Status, res[1].Status, model, row)
		}
		if !feasible {
			continue
		}
		near := func(what string, got, want float64) {
			t.Helper()
			if !(math.Abs(got-want) <= 1e-6*(1+math.Abs(want))) { // of order 1 all
				t.Errorf("trial %d at %v: %s is %v, not %v\n%s\n%s", trial, x, what, got, want, model, row)
			}
		}
		near("F", float64(res[0].Upper.Objective), float64(res[1].Upper.Objective))
		near("g", float64(res[0].Lower.Objective), float64(res[1].Lower.Objective))
		y, _ := res[0].Lower.Variables.Get("y")
		want, _ := res[1].Lower.Variables.Get("y")
		for j := range y.Data {
			near("y", y.Data[j], want.Data[j])
		}
		if len(res[0].Residuals.Constraints) != 1 || len(y.Data) != n {
			t.Fatalf("hidden rows are shown: %+v", res[0].Residuals)
		}
		if price, ok := res[0].Lower.Multipliers.Get("cap"); ok && price.Data[0] > 1e-6 {
			bound++
		}
		if !res[0].Stationarity.Strict || !res[1].Stationarity.Strict {
			continue
		}
		gradients++
		g0, _ := res[0].Upper.Hypergradient.Get("x")
		g1, _ := res[1].Upper.Hypergradient.Get("x")
		for j := range g0.Data {
			near("dF", g0.Data[j], g1.Data[j])
		}
	}
	if bound < members.Part(20, 60) || gradients < members.Part(30, 60) {
		t.Errorf("%d rows bound, %d hypergradients: too few to say much", bound, gradients)
	}
}

// TestKinksInRowsRefused: rows whose points are not convex are refused, with the reason.
func TestKinksInRowsRefused(t *testing.T) {
	for row, want := range map[string]string{
		"max(y[1], y[2]) >= 1":                 "has the wrong curvature there",
		"abs(y) >= x":                          "has the wrong curvature there",
		"0.5 <= abs(y[1]) <= 1":                "has the wrong curvature there",
		"norm1(y) == 1":                        "equality with a kink",
		"x[1] * abs(y[1]) <= 1":                "both factors depend on variables",
		"abs(y[1] * x[1]) <= 1":                "both factors depend on variables",
		"max(y[1], -abs(y[2])) <= 1":           "has the wrong curvature",
		"abs(y[1]) <= 1\n    abs(y[1]) >= 1":   "are not convex",
		"y[1] <= min(x[1], y[2]) + max(y) - 3": "has the wrong curvature there",
	} {
		model := "model m\nupper {\n  var x: vector[2] in box(-1, 1)\n  minimize sum(y) + sumsq(x)\n}\nlower {\n  var y: vector[2]\n  minimize sumsq(y - x)\n" +
			"  subject to\n    " + row + "\n}\n"
		m, err := runtime.Compile("m.blv", model)
		list, said, other := refusal(m, err)
		if other != nil || len(list) != 1 || !strings.Contains(said, want) {
			t.Errorf("%s: %v, not %q", row, err, want)
		}
	}
}

// TestConditionsOnXAlone: rows of the lower level that read x only may hold by little or
// by much, and are no part of the margins of y's rows, which here are infinite.
func TestConditionsOnXAlone(t *testing.T) {
	for _, room := range []float64{0, 1e-12, 1e-8, 1e-5, 1e-3, 1} {
		for _, kink := range []string{"", " + abs(y[1])"} {
			source := fmt.Sprintf(`model alone
upper {
  var x: vector[2] in box(0.5, 1)
  minimize sumsq(y - 2) - sumsq(x)
}
lower {
  var y: vector[2]
  minimize sumsq(y - [3, x[2]])%s
  subject to
    cap: x[1] <= %v
    both: x[1] + x[2] <= %v
}
`, kink, 1+room, 2+room)
			m, err := runtime.Compile("alone.blv", source)
			if err != nil {
				t.Fatal(err)
			}
			p, err := m.Bind(nil, runtime.BindOptions{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := p.Solve(context.Background(), runtime.Options{})
			if err != nil || r.Status != runtime.Solved || !math.IsInf(float64(r.Lower.MinSlack), 1) {
				t.Errorf("room %v: %v %v: %s, least slack %v\n%s", room, err, r.Status, r.Reason, r.Lower.MinSlack, source)
			}
		}
	}
}

// TestKinksInConstraintsOfTheLeader: constraints of the leader with kinks that read the follower are rows of the KKT system once the kinks are restated, whichever way they curve, so that
// the search has a bound. The truth is the least of the values that a grid of x, with the follower's answer in closed form, has where they hold, which is no less than the optimum and near it.
func TestKinksInConstraintsOfTheLeader(t *testing.T) {
	for trial := range members.Seeds(t, 12) {
		r := rand.New(rand.NewPCG(trial, 21))
		number := func() float64 { return math.Round(r.NormFloat64()*16) / 16 }
		a, b, c, d, e := number(), number(), number(), number(), number()
		rows := []struct {
			text  string
			holds func(x, y []float64) bool
		}{
			{"norm1(y) <= 0.75", func(_, y []float64) bool { return math.Abs(y[0])+math.Abs(y[1]) <= 0.75 }},
			{"max(y) - x[1] <= 0.5", func(x, y []float64) bool { return max(y[0], y[1])-x[0] <= 0.5 }},
			{"abs(x[1]) + y[1] <= 0.25", func(x, y []float64) bool { return math.Abs(x[0])+y[0] <= 0.25 }},
			{"abs(y[1]) + x[2] >= 0.25", func(x, y []float64) bool { return math.Abs(y[0])+x[1] >= 0.25 }},
		}
		row, other := rows[trial%4], rows[(trial+1+trial/4%3)%4]
		p := bindText(t, fmt.Sprintf(`model leader
upper {
  var x: vector[2] in box(-1, 1)
  minimize sumsq(x) - (%v) * x[1] - (%v) * y[1] + (%v) * y[2]
  subject to
    first: %s
    second: %s
}
lower {
  var y: vector[2] in box(-1, 1)
  minimize 0.5 * sumsq(y) - ((%v) * x[1] + x[2]) * y[1] - (x[1] - (%v) * x[2]) * y[2]
}
`, a, b, c, row.text, other.text, d, e))
		res, err := p.Solve(context.Background(), runtime.Options{Search: runtime.SearchFully})
		if err != nil {
			t.Fatal(err)
		}
		const steps = 1000
		least := math.Inf(1)
		clip := func(v float64) float64 { return max(-1, min(1, v)) }
		for i := range steps + 1 {
			for j := range steps + 1 {
				x := []float64{2*float64(i)/steps - 1, 2*float64(j)/steps - 1}
				y := []float64{clip(d*x[0] + x[1]), clip(x[0] - e*x[1])}
				if row.holds(x, y) && other.holds(x, y) {
					least = min(least, x[0]*x[0]+x[1]*x[1]-a*x[0]-b*y[0]+c*y[1])
				}
			}
		}
		f := float64(res.Upper.Objective)
		if res.Status != runtime.Solved || res.Global == nil || !res.Global.Proved || !(f <= least+1e-6 && f >= least-0.05) {
			t.Errorf("%d: %s, %s: %s %s: F is %v, the best of a grid %v", trial, row.text, other.text, res.Status, res.Reason, f, least)
		}
		if report, err := p.Verify(res); err != nil || !report.OK() {
			t.Errorf("%d: verification: %v %v", trial, err, report.Failures())
		}
	}
}
