package runtime_test

import (
	"context"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"bilevelc/runtime"
	"bilevelc/runtime/method"
)

// A result that says of itself that its lower level is not solved may say nothing of F
// that would follow from one, and is never solved; without that it passes whatever y it
// was left at, as long as its numbers are those of that point.
func TestRoughResults(t *testing.T) {
	p := bindText(t, "model rough\nupper {\nvar x: real in box(0, 2)\nminimize (y - 1)^2\n}\nlower {\nvar y: real\nminimize 0.5 * (y - x)^2\n}\n")
	r, err := p.Solve(t.Context(), runtime.OffSystem(runtime.Options{}))
	if err != nil || r.Status != runtime.Solved {
		t.Fatal(r.Status, r.Reason, err)
	}
	ok := func(r runtime.Result) bool {
		report, err := p.Verify(&r)
		if err != nil {
			t.Fatal(err)
		}
		return report.OK()
	}
	r.Lower.Status = "inaccurate"
	if ok(*r) {
		t.Error("solved over a lower level that is not passes")
	}
	r.Status = runtime.LimitReached
	if ok(*r) {
		t.Error("a gradient of F passes where the lower level is not solved")
	}
	certificate := *r.Certificate
	certificate.Goldstein, certificate.GradientMapping = nil, nil
	r.Certificate, r.Upper.Hypergradient = &certificate, nil
	r.Stationarity.Strict, r.Stationarity.Measure, r.Stationarity.Value, r.Stationarity.Delta = false, "none", runtime.Number(math.NaN()), 0
	if !ok(*r) {
		t.Error("a result that claims nothing of F does not pass")
	}
	r.Lower.Objective++
	if ok(*r) {
		t.Error("another value of g passes")
	}
}

// A solver that was given too few iterations leaves no point of F: the run says so, and which solver.
func TestTooFewLowerIterations(t *testing.T) {
	t.Parallel()
	p := bindText(t, "model few\nupper {\nvar x: vector[2]\nminimize sumsq(x - 2) + 0.000001 * sum(y)\n}\n"+
		"lower {\nvar y: vector[2]\nminimize sum(exp(y)) + 0.001 * y' * y + 1000 * y[1]^2 - 30 * sum(y) + x' * y\nsubject to y <= 10\n}\n")
	r, err := p.Solve(t.Context(), runtime.Options{Solver: "agd", Settings: method.Values{"max_iterations": 10}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != runtime.NumericalFailure || !strings.Contains(r.Reason, "agd stopped short") || r.Upper.Hypergradient != nil {
		t.Errorf("%v: %s, hypergradient %v", r.Status, r.Reason, r.Upper.Hypergradient)
	}
	if r, err = p.Solve(t.Context(), runtime.Options{Solver: "agd"}); err != nil || r.Status != runtime.Solved {
		t.Fatal(r.Status, r.Reason, err)
	}
	// exp(y2) + 0.002 y2 = 30 - x2, at x2 = 2 to the millionths that y costs.
	y := bisectY(func(v float64) float64 { return math.Exp(v) + 0.002*v - 28 })
	got, _ := r.Lower.Variables.Get("y")
	if y2 := got.Data[1]; math.Abs(y2-y) > 1e-6*y {
		t.Errorf("y2 = %v, want %v", y2, y)
	}
}

func bisectY(f func(float64) float64) float64 {
	lo, hi := -10.0, 10.0
	for range 100 {
		if mid := (lo + hi) / 2; f(mid) < 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// A run over a linear follower that ends between its stages says of the point of the stage before
// what passes its verification, also where a slow solver has not solved the lower level there.
func TestEndBetweenStages(t *testing.T) {
	p := bindText(t, "model ends\nupper {\nvar x: real in box(2, 4)\nminimize x + y[2]\n}\nlower {\nvar y: vector[2] in nonneg\n"+
		"minimize 2 * y[1] + x * y[2]\nsubject to\nr: y[1] - x + y[2] - 4 >= 0\n}\nsolve {\nties = optimistic\n}\n")
	for _, solver := range []string{"alm", "pdg"} {
		rough := 0
		for asked := int32(1); asked < 4000; asked = asked*3/2 + 1 {
			ctx := &expiring{patience: asked}
			ctx.Context, ctx.cancel = context.WithCancelCause(context.Background())
			opts := runtime.Options{Solver: solver, Seed: 1, Starts: 1, Threads: 1}
			if solver == "pdg" {
				opts.Settings = method.Values{"max_iterations": 50}
			}
			r, err := p.Solve(ctx, opts)
			if err != nil {
				t.Fatal(err)
			}
			if !r.HasPoint() {
				continue
			}
			if r.Lower.Status == "inaccurate" {
				rough++
			}
			report, err := p.Verify(r)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range report.Checks {
				if !c.OK && r.Status != runtime.NumericalFailure {
					t.Errorf("%s, %d: %s (%s): %s: %s", solver, asked, r.Status, r.Reason, c.Claim, c.Detail)
				}
			}
		}
		t.Logf("%s: %d rough", solver, rough)
	}
}

// expiring is a context that reaches a time limit when it has been asked a number of times.
type expiring struct {
	context.Context
	cancel   context.CancelCauseFunc
	patience int32
	asked    atomic.Int32
}

func (e *expiring) Err() error {
	if e.asked.Add(1) == e.patience {
		e.cancel(runtime.ErrTimeLimit)
	}
	return e.Context.Err()
}
