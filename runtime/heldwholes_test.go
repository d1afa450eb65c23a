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

// facilities are sites that customers choose the nearest open one of, each a follower, and what each set of at most so many sites costs, by its bits: infinite where it is none.
func facilities(t *testing.T, seed uint64, customers, sites, most int) (*runtime.Problem, func(open int) float64) {
	rng := rand.New(rand.NewPCG(seed, 31))
	near, cost, fixed := make([]float64, customers*sites), make([]float64, customers*sites), make([]float64, sites)
	for k := range near {
		near[k], cost[k] = 1+rng.Float64(), rng.Float64()
	}
	for j := range fixed {
		fixed[j] = 0.1 * float64(customers) * rng.Float64() / float64(most)
	}
	m, err := runtime.Compile("facilities.blv", fmt.Sprintf(`model facilities
param n: int = %d
param m: int = %d
data near: matrix[n, m]
data cost: matrix[n, m]
data fixed: vector[m]
upper {
  var open: vector[m] binary
  minimize fixed' * open + sum(i in 1..n, j in 1..m: cost[i, j] * x[i, j])
  subject to few: sum(open) <= %d
}
lower customer[i in 1..n] {
  var x: vector[m] in nonneg
  minimize sum(j in 1..m: near[i, j] * x[j])
  subject to
    one: sum(x) == 1
    at: forall j in 1..m: x[j] <= open[j]
}
solve { ties = optimistic }
`, customers, sites, most))
	if err != nil {
		t.Fatal(err)
	}
	rows := func(v []float64) (out [][]float64) {
		for i := range customers {
			out = append(out, v[i*sites:(i+1)*sites])
		}
		return out
	}
	p, err := m.Bind(runtime.Data{"near": rows(near), "cost": rows(cost), "fixed": fixed}, runtime.BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p, func(open int) float64 {
		f, many := 0.0, 0
		for j := range sites {
			if open>>j&1 == 1 {
				f, many = f+fixed[j], many+1
			}
		}
		if many == 0 || many > most {
			return math.Inf(1)
		}
		for i := range customers {
			to := -1
			for j := range sites {
				if open>>j&1 == 1 && (to < 0 || near[i*sites+j] < near[i*sites+to]) {
					to = j
				}
			}
			f += cost[i*sites+to]
		}
		return f
	}
}

// A system with a tableau of more numbers than are kept falls into one part for each follower where all of x is held: F is found at each x there. What was proved is so, too, where the run ends before the point has its multipliers.
func TestManyFollowersBesideFewWholes(t *testing.T) {
	for seed := range members.Seeds(t, 2) {
		p, cost := facilities(t, seed, 420, 4, 3)
		least := math.Inf(1)
		for open := range 1 << 4 {
			least = min(least, cost(open))
		}
		for _, ends := range []bool{false, true} {
			ctx, cancel := context.WithCancelCause(context.Background())
			r, err := p.Solve(ctx, runtime.Options{Observer: func(runtime.Progress) {
				if ends {
					cancel(runtime.ErrTimeLimit)
				}
			}})
			cancel(nil)
			if err != nil {
				t.Fatal(err)
			}
			done := r.Status == runtime.Solved || ends && strings.Contains(r.Reason, "while the result was verified")
			if f := float64(r.Upper.Objective); !done || !r.Global.Proved || r.Certificate.Strong == nil || !(math.Abs(f-least) <= 1e-9*least) {
				t.Errorf("%d, ended %v: %s, %s: F is %v, not %v", seed, ends, r.Status, r.Reason, f, least)
			}
			if report, err := p.Verify(r); err != nil || !report.OK() {
				t.Errorf("%d: verification: %v %v", seed, err, report.Failures())
			}
		}
	}
}

// Where the search has no relaxation and x more whole points than are looked at, a run has a point all the same: here x = 0, the first of them, leaves no follower an answer, and X takes few sites only.
func TestFirstPointOfManyWholes(t *testing.T) {
	for seed := range members.Seeds(t, 2) {
		const sites = 17
		p, cost := facilities(t, seed, 110, sites, 8)
		least := math.Inf(1)
		for open := range 1 << sites {
			least = min(least, cost(open))
		}
		r, err := p.Solve(context.Background(), runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if f := float64(r.Upper.Objective); r.Status != runtime.LimitReached || r.Global.Proved || !(f >= least-1e-9*least && f <= 1.15*least) {
			t.Errorf("%d: %s, %s: F is %v, the least %v", seed, r.Status, r.Reason, f, least)
		}
		open, _ := r.Upper.Variables.Get("open")
		bits := 0
		for j, v := range open.Data {
			bits |= int(v) << j
		}
		if f := float64(r.Upper.Objective); !(math.Abs(f-cost(bits)) <= 1e-9*least) {
			t.Errorf("%d: F is %v at %v, not %v", seed, f, open.Data, cost(bits))
		}
		if report, err := p.Verify(r); err != nil || !report.OK() {
			t.Errorf("%d: verification: %v %v", seed, err, report.Failures())
		}
	}
}

// A run whose objective was followed far, beside a constraint that a search takes, says that nothing is known of the global optimum.
func TestNothingIsKnownOfWhatWasFollowedFar(t *testing.T) {
	t.Parallel()
	r := solveText(t, "model h\nupper {\n  var x: vector[2]\n  minimize -x[1] - x[2]\n  subject to one: (x[1] - x[2])^2 - 3 * x[1] <= y\n}\nlower {\n  var y: real in nonneg\n  minimize 0.5 * y^2 - x[1] * y\n}\n", runtime.Options{})
	if g := r.Global; r.Status == runtime.Solved || g == nil || g.Proved || g.Why == "" {
		t.Errorf("%s, %+v", r.Status, g)
	}
}
