package runtime_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"bilevelc/runtime"
)

// A follower that data leave without variables has one answer, the empty one, to each x that its rows admit: F is f(x), of which the least is known here in closed form.
func TestFollowersWithoutVariables(t *testing.T) {
	for _, c := range []struct {
		name, upper, lower, end string
		least                   float64 // NaN: there is no x
	}{
		{"a quadratic f", "var x: vector[2] in box(-1, 3)\n minimize sumsq(x - [1, 5]) + sum(y)\n subject to c: sum(y) + x[1] <= 0.5", "var y: vector[n] in nonneg\n minimize sumsq(y - x[1])", "", 4.25},
		{"a smooth f and a row of x", "var x: real in box(0, 3)\n minimize exp(x) - 2 * x + sum(y)", "var y: vector[n] in nonneg\n minimize sum(y .^ 4) + sumsq(y)\n subject to r: sum(y) + x >= 1", "", math.E - 2},
		{"whole numbers and ties", "var x: vector[2] binary\n maximize 3 * x[1] - 2 * x[2] + sum(y)\n subject to c: sum(x) >= 1", "var y: vector[n] in nonneg\n minimize sum(y)", "solve { ties = optimistic }", 3},
		{"no follower of many", "var x: real in box(0, 3)\n minimize (x - 1)^2 + sum(i in 1..n: y[i])", "var y: real\n minimize (y - x)^2", "", 0},
		{"no x", "var x: real in box(0, 3)\n minimize x + sum(y)", "var y: vector[n] in nonneg\n minimize sumsq(y)\n subject to r: sum(y) + x >= 4", "", math.NaN()},
	} {
		lower := "lower {\n"
		if strings.HasPrefix(c.name, "no follower") {
			lower = "lower firm[i in 1..n] {\n"
		}
		p := bindText(t, "model empty\nparam n: int = 0\nupper {\n"+c.upper+"\n}\n"+lower+c.lower+"\n}\n"+c.end+"\n")
		r, err := p.Solve(context.Background(), runtime.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if f := float64(r.Upper.Objective); math.IsNaN(c.least) != (r.Status == runtime.Infeasible) || !math.IsNaN(c.least) && (r.Status != runtime.Solved || !(math.Abs(f-c.least) <= 1e-9*(1+math.Abs(c.least)))) {
			t.Errorf("%s: %s, %s: F is %v, not %v", c.name, r.Status, r.Reason, f, c.least)
		}
		if report, err := p.Verify(r); err != nil || !report.OK() {
			t.Errorf("%s: verification: %v %v", c.name, err, report.Failures())
		}
	}
}
