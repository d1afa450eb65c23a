package runtime_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
)

// An infeasible run points to what contradicts: a constraint of the leader and the box of x, one that reads y and a row of the follower, or one that no answer of the follower meets. Numbers
// are drawn so that there is no other contradiction.
func TestInfeasibleNamesWhatContradicts(t *testing.T) {
	for trial := range members.Seeds(t, 30) {
		rng := rand.New(rand.NewPCG(trial, 909))
		n, top, cap := 2+rng.IntN(4), 1+4*rng.Float64(), 1+4*rng.Float64()
		want, names, without := fmt.Sprintf("want: sum(x) >= %g", float64(n)*top*1.5), "want, the bounds of x", "cap"
		switch trial % 3 {
		case 1: // y = 9 + x > cap without the follower's row
			want, names, without = fmt.Sprintf("want: sum(y) >= %g", cap*1.5), "want, cap contradict each other", "bounds"
		case 2: // y <= top + 9, and further up where the follower did not choose
			want, names, without = fmt.Sprintf("want: y[1] >= %g", top+10), "", "cap"
			cap = 1e3
		}
		text := fmt.Sprintf("model none\nupper {\n  var x: vector[%[1]d] in box(0, %[2]g)\n  minimize sum(x) + sum(y)\n  subject to\n    %[4]s\n}\nlower {\n  var y: vector[%[1]d] in nonneg\n"+
			"  minimize sumsq(y - x - 9)\n  subject to\n    cap: sum(y) <= %[3]g\n}\n", n, top, cap, want)
		r := solveText(t, text, runtime.Options{Seed: trial})
		if r.Status != runtime.Infeasible || len(r.Diagnostics) != 1 || r.Diagnostics[0].Code != diag.RunInfeasible {
			t.Fatalf("trial %d: %s (%s), %v\n%s", trial, r.Status, r.Reason, r.Diagnostics, text)
		}
		d := r.Diagnostics[0]
		if at := text[d.Subject.Start:d.Subject.End]; at != want || !strings.Contains(r.Reason, names) || strings.Contains(r.Reason+d.Detail, without) {
			t.Errorf("trial %d: %s, at `%s`, %s\n%s", trial, r.Reason, at, d.Detail, text)
		}
	}
}

// Where no rows contradict each other a message blames none: a follower without bound is said to have none, an upper level that no whole numbers satisfy is the place of its own error, and nobody who has
// bounded x is told to bound it.
func TestFailuresThatAreNoContradiction(t *testing.T) {
	for trial := range members.Seeds(t, 12) {
		rng := rand.New(rand.NewPCG(trial, 910))
		n, slope := 2+rng.IntN(3), 0.1+rng.Float64()
		bounded := fmt.Sprintf("var x: vector[%d] in box(0, %g)", n, 1+4*rng.Float64())
		for _, c := range []struct{ text, at, says, without string }{
			{fmt.Sprintf("model none\nsolve { ties = optimistic }\nupper {\n  %s\n  minimize sum(x)\n}\nlower {\n  var y: vector[%d] in nonneg\n  minimize x[1] - %g * sum(y)\n}\n", bounded, n, slope),
				fmt.Sprintf("x[1] - %g * sum(y)", slope), "its objective has no bound", "constraints of the upper level"},
			{fmt.Sprintf("model none\nupper {\n  var x: vector[%d] binary\n  minimize sum(x) + y\n  subject to\n    half: sum(x) == %g\n}\nlower {\n  var y: real in nonneg\n  minimize (y - sum(x))^2\n}\n", n, 0.5+float64(rng.IntN(n))),
				"half: sum(x) == ", "no whole numbers", "feasible y"},
			{fmt.Sprintf("model none\nsolve { ties = optimistic }\nupper {\n  %s\n  maximize dual(a) - x[1]\n}\nlower {\n  var y: real\n  minimize %g * y\n  subject to\n    a: y >= x[1]\n    b: y <= x[1]\n}\n", bounded, slope),
				"dual(a) - x[1]", "without bound", "bound the upper variables"},
			{fmt.Sprintf("model none\nsolve { ties = optimistic }\nupper {\n  var x: real in nonneg\n  maximize dual(a) - x\n}\nlower {\n  var y: real\n  minimize %g * y\n  subject to\n    a: y >= x\n    b: y <= x\n}\n", slope),
				"dual(a) - x", "without bound", "bound the upper variables"},
		} {
			r := solveText(t, c.text, runtime.Options{Seed: trial})
			if len(r.Diagnostics) != 1 {
				t.Fatalf("trial %d: %s (%s), %v\n%s", trial, r.Status, r.Reason, r.Diagnostics, c.text)
			}
			d := r.Diagnostics[0]
			if at := c.text[d.Subject.Start:d.Subject.End]; !strings.HasPrefix(at, c.at) || !strings.Contains(d.Summary, c.says) || strings.Contains(d.Summary+d.Detail+d.Fix, c.without) {
				t.Errorf("trial %d: %s, at `%s`, %s, %s\n%s", trial, d.Summary, at, d.Detail, d.Fix, c.text)
			}
		}
	}
}
