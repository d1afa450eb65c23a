package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// Next to a tie a regularized follower answers with anything between its answers beside the tie, whatever the leader likes best: with y in [low, 1]^n and costs x' y the answer of least norm is low where x >= 0 and 1
// where x < 0, and the leader wants a y between, nearer to low. The F that is returned is attained: that of x = 0 with low, the least there is, and never the one of the regularized follower, near 0.
func TestLeastNormAttainsItsF(t *testing.T) {
	t.Parallel()
	for trial := range members.SeedsOf(t, 6, 16) {
		rng := rand.New(rand.NewPCG(trial, 912))
		n, low := 1+rng.IntN(4), 0.05+0.2*rng.Float64()
		want := low + (0.1+0.2*rng.Float64())*(1-low)
		weight, sense, sign := 0.1+rng.Float64(), "minimize", 1.0
		if trial%2 == 1 {
			sense, sign = "maximize", -1
		}
		text := fmt.Sprintf("model jump\nupper {\n  var x: vector[%d] in box(-1, 1)\n  %s %g * (sumsq(y - %g) + %g * sumsq(x))\n}\nlower {\n  var y: vector[%[1]d] in box(%[6]g, 1)\n  minimize x' * y\n}\nsolve { ties = least_norm }\n",
			n, sense, sign, want, weight, low)
		p := bindText(t, text)
		r, err := p.Solve(t.Context(), runtime.Options{Seed: trial})
		if err != nil {
			t.Fatal(err)
		}
		if truth := float64(n) * (low - want) * (low - want); math.Abs(sign*float64(r.Upper.Objective)-truth) > 1e-8 {
			t.Errorf("trial %d: F = %v, %v is attained (%s, %s)\n%s", trial, r.Upper.Objective, sign*truth, r.Status, r.Reason, text)
		}
		if r.Status == runtime.Solved || !strings.Contains(r.Reason, "F is exact") {
			t.Errorf("trial %d: %s (%s), and no certificate is of this F\n%s", trial, r.Status, r.Reason, text)
		}
		if report, err := p.Verify(r); err != nil || !report.OK() {
			t.Errorf("trial %d: %v %v\n%s", trial, err, report, text)
		}
		again, err := p.Eval(t.Context(), r.Upper.Variables, runtime.Options{})
		if err != nil || math.Abs(float64(again.Upper.Objective-r.Upper.Objective)) > 1e-10 {
			t.Errorf("trial %d: F is %v at the x returned, not %v (%v)\n%s", trial, again.Upper.Objective, r.Upper.Objective, err, text)
		}
	}
}

// The same with an f that is not quadratic and a row of the leader that reads the answer, which is affine whatever f is: with y in [low, 1] and costs x y the answer is low where x >= 0 and 1 where x < 0, so that
// exp(a x) + w y has its least value under x + y >= c at one of two x.
func TestLeastNormUnderARowOfTheLeader(t *testing.T) {
	t.Parallel()
	for trial := range members.SeedsOf(t, 8, 16) {
		rng := rand.New(rand.NewPCG(trial, 914))
		low, a, w := 0.05+0.4*rng.Float64(), 0.2+rng.Float64(), rng.NormFloat64()
		c := low + rng.Float64()*(1-low)
		text := fmt.Sprintf("model row\nupper {\n  var x: real in box(-1, 1)\n  minimize exp(%g * x) + %g * y\n  subject to\n    row: x + y >= %g\n}\nlower {\n  var y: real in box(%g, 1)\n  minimize x * y\n}\nsolve { ties = least_norm }\n", a, w, c, low)
		p := bindText(t, text)
		r, err := p.Solve(t.Context(), runtime.Options{Seed: trial})
		if err != nil {
			t.Errorf("trial %d: %v\n%s", trial, err, text)
			continue
		}
		truth := min(math.Exp(a*(c-low))+w*low, math.Exp(a*(c-1))+w)
		if f := float64(r.Upper.Objective); !(math.Abs(f-truth) <= 1e-4) {
			t.Errorf("trial %d: F = %v, the least is %v (%s, %s)\n%s", trial, f, truth, r.Status, r.Reason, text)
		}
		again, err := p.Eval(t.Context(), r.Upper.Variables, runtime.Options{})
		if err != nil || math.Abs(float64(again.Upper.Objective-r.Upper.Objective)) > 1e-4 {
			t.Errorf("trial %d: F is %v at the x returned, not %v (%v)\n%s", trial, again.Upper.Objective, r.Upper.Objective, err, text)
		}
	}
}

// A follower whose objective has no bound at any x has no answer of least norm, however small tau is.
func TestLeastNormWithoutABound(t *testing.T) {
	t.Parallel()
	for trial := range members.SeedsOf(t, 3, 6) {
		rng := rand.New(rand.NewPCG(trial, 913))
		a, b := 0.5+rng.Float64(), 0.5+rng.Float64()
		for _, g := range []string{fmt.Sprintf("-%g * y[1] - %g * y[2]", a, b), fmt.Sprintf("exp(y[1] - y[2] - %g) - %g * y[1]", a, b)} {
			text := fmt.Sprintf("model endless\nupper {\n  var x: real in box(0, 2)\n  minimize (x - 1)^2 + y[1]\n}\nlower {\n  var y: vector[2] in nonneg\n  minimize %s\n  subject to\n    y[1] - y[2] <= x\n}\nsolve { ties = least_norm }\n", g)
			if r := solveText(t, text, runtime.Options{Seed: trial}); r.Status != runtime.NumericalFailure {
				t.Errorf("trial %d: %s (%s)\n%s", trial, r.Status, r.Reason, text)
			}
		}
	}
}

// A weighted median is any point between two data where their weights are equal: the one of least norm is the point of that interval nearest to 0, which is found by enumeration of the data.
func TestLeastNormOfAMedian(t *testing.T) {
	for trial := range members.Seeds(t, 20) {
		rng := rand.New(rand.NewPCG(trial, 914))
		z, w, terms := make([]float64, 4), make([]float64, 4), ""
		for j := range z {
			z[j], w[j] = float64(rng.IntN(21)-10), float64(1+rng.IntN(2))
			terms += fmt.Sprintf(" + x[%d] * abs(m - %g)", j+1, z[j])
		}
		p := bindText(t, fmt.Sprintf("model median\nupper {\n  var x: vector[4] in box(0, 3)\n  minimize (m - 0.5)^2 + 0.1 * sumsq(x)\n}\nlower {\n  var m: real\n  minimize 0%s\n}\nsolve { ties = least_norm }\n", terms))
		r, err := p.Eval(t.Context(), runtime.Values{{Name: "x", Shape: []int{4}, Data: w}}, runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		at := func(m float64) (g float64) {
			for j := range z {
				g += w[j] * math.Abs(m-z[j])
			}
			return g
		}
		least, lo, hi := math.Inf(1), 0.0, 0.0
		for _, m := range z {
			switch g := at(m); {
			case g < least:
				least, lo, hi = g, m, m
			case g == least:
				lo, hi = math.Min(lo, m), math.Max(hi, m)
			}
		}
		m, _ := r.Lower.Variables.Get("m")
		if want := math.Max(lo, math.Min(hi, 0)); math.Abs(m.Data[0]-want) > 1e-8 {
			t.Errorf("trial %d: m = %v, not %v of [%v, %v]: z = %v, w = %v", trial, m.Data[0], want, lo, hi, z, w)
		}
		if report, err := p.Verify(r); err != nil || !report.OK() {
			t.Errorf("trial %d: %v %v", trial, err, report)
		}
	}
}
