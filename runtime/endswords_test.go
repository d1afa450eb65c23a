package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
	"bilevelc/runtime/certify"
)

// The status, the measure, the diagnostics and what is said of the starts claim the same: that F has no bound, where a ray that verifies shows it, and nowhere else. Of the followers, which answer with
// y = x or y = log(1 + x), F is s h(y) - c x with a known optimum far out, or none with c = 0.
func TestNoBoundIsSaidWithARay(t *testing.T) {
	t.Parallel()
	claimed := 0
	for trial := range members.SeedsOf(t, 12, 24) {
		rng := rand.New(rand.NewPCG(trial, 907))
		s, c := 0.5+rng.Float64(), math.Pow(10, -2-11*rng.Float64())
		f, best, g := fmt.Sprintf("%g * sqrt(y) - %g * x", s, c), s*s/(4*c), "0.5 * y^2 - x * y"
		switch trial % 4 {
		case 1:
			f, best, g = fmt.Sprintf("%g * y - %g * x", s, c), s*math.Log(s/c)-s+c, "exp(y) - (1 + x) * y"
		case 2:
			f, best = fmt.Sprintf("%g * sqrt(y)", s), math.Inf(1)
		case 3:
			f, best, g = fmt.Sprintf("%g * y - 0.1 * log(1 + x)", s), math.Inf(1), "exp(y) - (1 + x) * y"
		}
		sense, sign := "maximize", 1.0
		if rng.IntN(2) == 0 {
			sense, sign, f = "minimize", -1, "-("+f+")"
		}
		text := fmt.Sprintf("model far\nupper {\n  var x: real in nonneg\n  %s %s\n}\nlower {\n  var y: real in nonneg\n  minimize %s\n}\n", sense, f, g)
		p := bindText(t, text)
		r := solveText(t, text, runtime.Options{Seed: trial})
		said := r.Reason + strings.Join(r.Notes, "\n")
		for _, d := range r.Diagnostics {
			said += "\n" + d.Summary
			if (d.Code == diag.RunUnbounded) != (r.Status == runtime.Unbounded) && d.Severity == diag.Error {
				t.Errorf("trial %d: %s, and error %s: %s\n%s", trial, r.Status, d.Code, d.Summary, text)
			}
		}
		for _, start := range r.Starts {
			if said += "\n" + start.Reason; start.Status == runtime.Unbounded && r.Status != runtime.Unbounded {
				t.Errorf("trial %d: a start is %s (%s)\n%s", trial, start.Status, start.Reason, text)
			}
		}
		if strings.Contains(said, "falls") && sense == "maximize" || strings.Contains(said, "without bound") && r.Status != runtime.Unbounded {
			t.Errorf("trial %d: %s, and it says: %s\n%s", trial, r.Status, said, text)
		}
		switch r.Status {
		case runtime.Solved:
			if F := sign * float64(r.Upper.Objective); math.Abs(F-best) > 1e-4*best {
				t.Errorf("trial %d: solved (%s) at %g, the optimum is %g\n%s", trial, r.Reason, F, best, text)
			}
			// The certificate's residual counts in the units of each entry: x is 1e13 where y is 30.
			if c := r.Certificate; c != nil && c.Strong != nil && !(r.Stationarity.Value < 1e-7) {
				t.Errorf("trial %d: solved (%s) beside a measure of %g\n%s", trial, r.Reason, r.Stationarity.Value, text)
			}
		case runtime.Unbounded:
			claimed++
			if report, err := p.Verify(r); err != nil || !report.OK() || r.Certificate.Ray == nil || !math.IsInf(best, 1) {
				t.Errorf("trial %d: unbounded (%s), the optimum is %g, ray %v, %v\n%s", trial, r.Reason, best, r.Certificate.Ray, err, text)
			}
		}
	}
	t.Logf("%d were shown to have no bound", claimed)
}

// Where the solve on the KKT system led nowhere, why there is no bound is how that ended, of problems without a point too: exp(a) + exp(b) is at least 2 where the leader wants it lower.
func TestWhyThereIsNoBound(t *testing.T) {
	for trial := range members.Seeds(t, 6) {
		rng := rand.New(rand.NewPCG(trial, 908))
		text := fmt.Sprintf("model none\nupper {\n  var x: vector[2] in box(0, 5)\n  minimize sum(y)\n  subject to\n    low: exp(x[1]) + exp(x[2]) <= %g\n}\nlower {\n  var y: vector[2]\n  minimize sumsq(y - x)\n}\n", 1.2+0.7*rng.Float64())
		r := solveText(t, text, runtime.Options{Seed: trial})
		if r.Status != runtime.NumericalFailure || !strings.Contains(r.Reason, "no x was found that satisfies the upper constraints") || r.Global == nil || !strings.Contains(r.Global.Why, "no point was found at which the constraints of the upper level hold") {
			t.Errorf("trial %d: %s (%s), %+v\n%s", trial, r.Status, r.Reason, r.Global, text)
		}
	}
}

// A run that has followed an F that only nears its least value, 0, comes with the point that it got to.
func TestEndlessHasAPoint(t *testing.T) {
	for trial := range members.Seeds(t, 6) {
		rng := rand.New(rand.NewPCG(trial, 910))
		s, b := 0.5+rng.Float64(), 0.5+rng.Float64()
		text := fmt.Sprintf("model far\nupper {\n  var x: real in nonneg\n  minimize %g / (%g + y)\n}\nlower {\n  var y: real in nonneg\n  minimize 0.5 * y^2 - %g * x * y\n}\n", s, b, 1+rng.Float64())
		r := solveText(t, text, runtime.Options{Seed: trial})
		if F := float64(r.Upper.Objective); r.Status == runtime.Unbounded || !r.HasPoint() || !(F > 0 && F < 1e-6) {
			t.Errorf("trial %d: %s (%s), F %g\n%s", trial, r.Status, r.Reason, F, text)
		}
	}
}

// Where F falls without end along answers on the edge of the follower's set, whose objective is not quadratic, it is said to, with a ray that verifies, and no point far out is called a solution: F is made of
// (ax) y, and the follower answers with y = 2 wherever bx, of another direction, is low. The ray is refused where g is not affine along it: with a force on y far out that is nothing where the ray begins.
func TestRaysOfCurvedFollowers(t *testing.T) {
	t.Parallel()
	unbounded, trials := 0, 0
	for trial := range members.Seeds(t, 200) {
		rng := rand.New(rand.NewPCG(trial, 911))
		a, b := [2]int{}, [2]int{}
		for a[0]*b[1] == a[1]*b[0] {
			for j := range 2 {
				a[j], b[j] = rng.IntN(7)-3, rng.IntN(7)-3
			}
		}
		bend := []string{"y * log(y)", "exp(y)", "exp(-y)", "y^4"}[rng.IntN(4)]
		text := fmt.Sprintf("model far\nupper {\n  var x: vector[2]\n  minimize (%d * x[1] + %d * x[2]) * y + %g * y^2 - y\n}\nlower {\n  var y: real in nonneg\n  minimize (%d * x[1] + %d * x[2]) * y + %g * y^2 + %s\n  subject to\n    y <= 2\n    0.3 * y <= %g\n}\n",
			a[0], a[1], rng.Float64(), b[0], b[1], 0.1+rng.Float64(), bend, 0.6+rng.Float64())
		r := solveText(t, text, runtime.Options{Seed: trial, Method: runtime.SystemMethod, Starts: 3})
		trials++
		switch F := float64(r.Upper.Objective); {
		case r.Status == runtime.Solved && !(math.Abs(F) < 1e6): // there are solutions near 0
			t.Errorf("trial %d: %s (%s) at F = %g, x = %v\n%s", trial, r.Status, r.Reason, F, r.Upper.Variables, text)
		case r.Status == runtime.Unbounded:
			unbounded++
			if report, err := bindText(t, text).Verify(r); err != nil || !report.OK() {
				t.Errorf("trial %d: unbounded, and verified: %v, %v\n%s", trial, report, err, text)
			}
			x, d := r.Upper.Variables[0].Data, r.Certificate.Ray.X
			other := strings.Replace(text, bend, fmt.Sprintf("%s + 1000 * (1 + tanh((%v) * (x[1] - (%v)) + (%v) * (x[2] - (%v)) - 40)) * y", bend, d[0], x[0], d[1], x[1]), 1)
			report, err := bindText(t, other).Verify(r)
			if err != nil || !slices.ContainsFunc(report.Failures(), func(c certify.Check) bool { return strings.Contains(c.Claim, "along a ray") }) {
				t.Errorf("trial %d: the ray verifies beside a force that is not affine along it: %v, %v\n%s", trial, report, err, other)
			}
		}
	}
	if float64(unbounded) < 0.6*float64(trials) { // 172 of 200
		t.Errorf("%d of %d were shown to have no bound", unbounded, trials)
	}
}

// Where the leader drives an answer to exp(-c x - 1) of an entropy, 1e-12 to 1e-60, derivatives of its follower are known on that length alone: the point is solved, and at the answer.
func TestSmallAnswersOfEntropies(t *testing.T) {
	t.Parallel()
	solved, all := 0, 0
	for trial := range members.Seeds(t, 100) {
		rng := rand.New(rand.NewPCG(trial, 912))
		a, b, q, end := 1+3*rng.Float64(), 4*rng.Float64()-2, 0.1+2*rng.Float64(), 9+6*rng.Float64()
		c := 3 + 6*rng.Float64()
		text := fmt.Sprintf("model edge\nupper {\n  var x: vector[1] in box(-%v, %v)\n  minimize %v * x[1] + %v * x[1] * y[1] - y[1]\n}\nlower {\n  var y: vector[1] in box(0, 2)\n  minimize %v * x[1] * y[1] + %v * y[1]^2 + y[1] * log(y[1])\n}\n", end, end, -a, b, c, q)
		r := solveText(t, text, runtime.Options{Seed: trial})
		if all++; r.Status != runtime.Solved {
			t.Logf("trial %d: %s (%s)\n%s", trial, r.Status, r.Reason, text)
			continue
		}
		x := r.Upper.Variables[0].Data[0]
		if x < 0 { // where y is 2 F may have a local minimum
			continue
		}
		solved++
		y := math.Exp(-c*end - 1)
		if got := r.Lower.Variables[0].Data[0]; x < end*(1-1e-9) || math.Abs(got-y) > 1e-6*y {
			t.Errorf("trial %d: solved at %v with the answer %v: F falls to x = %v, where it is %v\n%s", trial, x, got, end, y, text)
		}
	}
	if float64(solved) < 0.8*float64(all) {
		t.Errorf("%d of %d were solved at the edge", solved, all)
	}
}

// An equality row that repeats another has multipliers along a line, across which the others have their vertices all the same: at x = b a row and a bound hold y[3] at 0 together, and with the multiplier of the one
// x = b looks like a minimum, with that of the other F falls on.
func TestVerticesAcrossLines(t *testing.T) {
	solved := 0
	for trial := range members.Seeds(t, 100) {
		rng := rand.New(rand.NewPCG(trial, 913))
		b, s, by := 1.05+0.5*rng.Float64(), 0.5+4*rng.Float64(), 0.1+2*rng.Float64()
		text := fmt.Sprintf("model line\nupper {\n  var x: real in box(1, 2.5)\n  minimize -3 * x + 0.5 * y[1] + 3 * y[2] - 1.5 * y[3] + 0.15 * y[2]^2 + y[3]^2\n}\nlower {\n  var y: vector[3] in nonneg\n  minimize 2.5 * y[3] - 3 * x * y[2] + 2 * y[1]^2 + 1.5 * y[2]^2 + y[3]^2 + 2.5 * y[1] * log(y[1])\n  subject to\n    r1: %v * y[2] - %v * y[3] == %v\n    r2: x + 3 * y[3] >= %v\n    r3: %v * y[2] - %v * y[3] == %v\n}\n",
			s, 5*s, 1.5*s, b, by*s, 5*by*s, 1.5*by*s)
		r := solveText(t, text, runtime.Options{Seed: trial, Starts: 1, Start: runtime.Values{{Name: "x", Data: []float64{1}}}, Method: runtime.SystemMethod})
		x := r.Upper.Variables[0].Data[0]
		if r.Status == runtime.Solved {
			if solved++; math.Abs(x-5./3) > 1e-6 { // from there on y[3] rises, and F with it
				t.Errorf("trial %d: solved (%s) at %v, where F falls on\n%s", trial, r.Reason, x, text)
			}
		}
	}
	if solved < members.Least(members.Count(100), 0.8) {
		t.Errorf("%d were solved", solved)
	}
}
