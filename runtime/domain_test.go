package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
)

// Where the lower objective alone says what y may be, by a logarithm of something linear in y, that is where the follower's solve begins and where proofs look: with g = |y|^2/2 + x'y - w log(a'y - b) and a of
// ones and minus ones, y = -x + a w/s, where s = a'y - b is the positive root of s^2 + (a'x + b) s - n w = 0. y = 0 is outside as b > 0. What is returned is that answer, and no x near by or far away is better than the
// best of the starts says; the row that the logarithm lays has no multiplier.
func TestFollowersInsideTheirDomain(t *testing.T) {
	t.Parallel()
	for trial := range members.SeedsOf(t, 8, 16) {
		rng := rand.New(rand.NewPCG(trial, 915))
		n := 1 + rng.IntN(4)
		a, goal, terms := make([]float64, n), make([]float64, n), ""
		for j := range a {
			a[j], goal[j] = float64(1-2*rng.IntN(2)), math.Round(20*rng.NormFloat64())/10
			terms += fmt.Sprintf(" + %g * y[%d]", a[j], j+1)
		}
		w, b, other := 0.5+rng.Float64(), 0.5+2*rng.Float64(), ""
		if trial%2 == 1 { // the domain reads x, too
			other = " + 0 * y[1] - 0.5 * x[1]"
		}
		text := fmt.Sprintf("model inside\ndata goal: vector[%d] = %s\nupper {\n  var x: vector[%[1]d] in box(-2, 2)\n  minimize sumsq(y - goal) + 0.1 * sumsq(x)\n}\nlower {\n  var y: vector[%[1]d]\n  minimize 0.5 * sumsq(y) + x' * y - %[3]g * log(0%[4]s - %[5]g%[6]s)\n}\n",
			n, list(goal), w, terms, b, other)
		answer := func(x []float64) (y []float64, f float64) {
			c, y := b, make([]float64, n)
			if other != "" {
				c += 0.5 * x[0]
			}
			for j := range x {
				c += a[j] * x[j]
			}
			s := (-c + math.Sqrt(c*c+4*float64(n)*w)) / 2
			for j := range x {
				y[j] = -x[j] + a[j]*w/s
				f += (y[j]-goal[j])*(y[j]-goal[j]) + 0.1*x[j]*x[j]
			}
			return y, f
		}
		p := bindText(t, text)
		r, err := p.Solve(t.Context(), runtime.Options{Seed: trial})
		if err != nil || r.Status != runtime.Solved {
			t.Fatalf("trial %d: %v (%s), %v\n%s", trial, r.Status, r.Reason, err, text)
		}
		at, _ := r.Upper.Variables.Get("x")
		y, _ := r.Lower.Variables.Get("y")
		truth, least := answer(at.Data)
		for j := range truth {
			if math.Abs(y.Data[j]-truth[j]) > 1e-7*(1+math.Abs(truth[j])) {
				t.Errorf("trial %d: y = %v, truly %v\n%s", trial, y.Data, truth, text)
			}
		}
		x := make([]float64, n)
		for k := range 4000 {
			for j := range x {
				if x[j] = at.Data[j] + 1e-2*rng.NormFloat64(); k%2 == 0 {
					x[j] = 4*rng.Float64() - 2
				}
				x[j] = math.Max(-2, math.Min(2, x[j]))
			}
			if _, f := answer(x); f < least-1e-7*(1+least) {
				t.Fatalf("trial %d: F = %v at %v, and %v at %v\n%s", trial, least, at.Data, f, x, text)
			}
		}
		for _, m := range r.Lower.Multipliers {
			for _, v := range m.Data {
				if v != 0 {
					t.Errorf("trial %d: a row of the domain presses: %v", trial, m)
				}
			}
		}
		if report, err := p.Verify(r); err != nil || !report.OK() {
			t.Errorf("trial %d: %v %v", trial, report, err)
		}
	}
}

// A system linearized beside the edge of a logarithm may let f fall without end, which says nothing of f itself, a sum of squares: another start goes on.
func TestNoEndOfALinearizedSystem(t *testing.T) {
	t.Parallel()
	text := "model inside\ndata goal: vector[3] = [-1.6, -0.3, 1.2]\nupper {\n  var x: vector[3] in box(-2, 2)\n  minimize sumsq(y - goal) + 0.1 * sumsq(x)\n}\n" +
		"lower {\n  var y: vector[3]\n  minimize 0.5 * sumsq(y) + x' * y - 0.8935846358136559 * log(-y[1] + y[2] + y[3] - 2.4067059580165635 - 0.5 * x[1])\n}\n"
	for seed := range uint64(12) {
		if r := solveText(t, text, runtime.Options{Seed: 824123080 + seed}); r.Status != runtime.Solved {
			t.Errorf("seed %d: %s (%s)", 824123080+seed, r.Status, r.Reason)
		}
	}
}

// A follower whose best answer is the kink of a norm is not solved, and the result says where: y = 0 is best where |x| <= 1, as 0.5 |y|^2 - x'y + |y| rises along every ray from there.
func TestKinksOfNormsAreNamed(t *testing.T) {
	t.Parallel()
	p := bindText(t, "model kink\nupper {\n  var x: vector[2] in box(0.1, 0.5)\n  minimize sumsq(y - [1, 1]) + 0.01 * sumsq(x)\n}\nlower {\n  var y: vector[2]\n  minimize 0.5 * sumsq(y) - x' * y + norm2(y)\n}\n")
	r, err := p.Solve(t.Context(), runtime.Options{Starts: 2})
	if err != nil || r.Status != runtime.NumericalFailure {
		t.Fatalf("%v, %v", r.Status, err)
	}
	for _, d := range r.Diagnostics {
		if d.Code == diag.RunNotFinite && d.Subject.Text() == "norm2(y)" && strings.HasPrefix(d.Fix, "add a small number under the root") {
			return
		}
	}
	t.Errorf("no place: %v", r.Diagnostics)
}

// A logarithm of a quotient, or of a product, is defined where the factor is positive that is not known to be: to w in a simplex of total 2 the follower answers with y = w + c, c > 0, and the leader wants (1, c, 1): w = (1 - c, 0, 1 - c) has 2c less than the total, which each entry has a third of.
func TestFollowersInsideQuotients(t *testing.T) {
	t.Parallel()
	for trial := range members.SeedsOf(t, 4, 16) {
		rng := rand.New(rand.NewPCG(trial, 916))
		c := 0.05 + rng.Float64()
		g := []string{"kl(y, w + c)", "sum(y .* log((-2 * y) ./ (-2 * w - 2 * c)))", "sum(y .* log(y)) - sum(y .* log(w + c))", "-sum(y .* log((w + c) ./ y))"}[trial%4]
		text := fmt.Sprintf("model inside\nparam c: real = %g\nupper {\n  var w: vector[3] in simplex(2)\n  minimize sumsq(y - [1, c, 1])\n}\nlower {\n  var y: vector[3]\n  minimize %s - sum(y)\n}\n", c, g)
		r := solveText(t, text, runtime.Options{Seed: trial})
		if F := float64(r.Upper.Objective); r.Status != runtime.Solved || math.Abs(F-4*c*c/3) > 1e-7*(1+c*c) {
			t.Errorf("trial %d: %v (%s), F = %v, truly %v\n%s", trial, r.Status, r.Reason, F, 4*c*c/3, text)
		}
	}
}
