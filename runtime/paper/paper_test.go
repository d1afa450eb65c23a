package paper

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/method"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/oracle/oracletest"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/status"
)

func hyper(t testing.TB, p *problem.Problem) *oracle.Hyper {
	t.Helper()
	spec, err := oracle.Lookup(oracle.Default)
	if err != nil {
		t.Fatal(err)
	}
	o, err := spec.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return oracle.New(p.Clone(), &oracletest.Exact{}, o)
}

func solve(t testing.TB, p *problem.Problem, name string, values method.Values, opts outer.Options) *outer.Result {
	t.Helper()
	if opts.Start == nil {
		opts.Start = p.Start
	}
	r, err := outer.Solve(context.Background(), hyper(t, p), name, made(t, name, values), opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// accuracy that each method reaches on a problem of one global minimum, relative
// to 1 + |optimum|, within a budget that suits tests, and how it ends: a method
// whose theorem speaks of a random iterate never says that it solved anything.
var accuracy = map[string]struct {
	smooth, kinked float64
	ends           status.Status
	values         method.Values
}{
	"bfgs":      {1e-12, math.Inf(1), status.Solved, nil},
	"goldstein": {1e-7, 2e-5, status.Solved, nil}, // within a radius of 1e-5 of a kink, F is within as much times its slope
	"pgd":       {1e-12, math.Inf(1), status.Solved, nil},
	"pigd":      {1e-3, 1e-2, status.BudgetSpent, nil},
	"oigrm":     {2e-2, 2e-2, status.BudgetSpent, method.Values{"delta": 0.3, "epsilon": 0.3, "blocks": 20, "block": 100, "clip": 0.3, "rate": 0.01}},
	"izo":       {5e-2, 5e-2, status.BudgetSpent, method.Values{"delta": 0.2, "epsilon": 0.3, "blocks": 20, "block": 200, "clip": 0.3, "rate": 0.003}},
}

// Every method on problems with known optima, from the registry, so that a new
// method must state what it reaches.
func TestConformance(t *testing.T) {
	for _, spec := range outer.All() {
		want, ok := accuracy[spec.Name]
		if !ok {
			t.Errorf("no accuracy is stated for %s", spec.Name)
			continue
		}
		for _, c := range []struct {
			oracletest.Case
			tolerance float64
		}{
			{oracletest.Quota(), want.smooth},
			{oracletest.Toll(), want.kinked},
			{oracletest.Kink(), want.kinked},
		} {
			if math.IsInf(c.tolerance, 1) {
				continue
			}
			r := solve(t, c.Problem, spec.Name, want.values, outer.Options{Seed: 3})
			if r.Best == nil || r.Status != want.ends || want.ends == status.BudgetSpent && !strings.Contains(r.Reason, "measured at the best point") {
				t.Errorf("%s on %s: %v: %s", spec.Name, c.Name, r.Status, r.Reason)
				continue
			}
			gap := (r.Best.F - c.Optimum) / (1 + math.Abs(c.Optimum))
			t.Logf("%s on %s: gap %.1e, %d iterations, %d evaluations; %s", spec.Name, c.Name, gap, r.Iterations, r.Evaluations, r.Reason)
			if gap > c.tolerance || gap < -1e-8 {
				t.Errorf("%s on %s: F = %.12g, known %.12g", spec.Name, c.Name, r.Best.F, c.Optimum)
			}
			if spec.Name == "pgd" && r.Measure.Value > defaultPGD().Epsilon {
				t.Errorf("pgd on %s: measure %+v at the returned point", c.Name, r.Measure)
			}
			if !(r.Measure.Value >= 0) || r.Measure.Name == "" {
				t.Errorf("%s on %s: measure %+v", spec.Name, c.Name, r.Measure)
			}
			checkCertificate(t, spec.Name+" on "+c.Name, r.Certificate)
		}
	}
}

// checkCertificate re-derives what a certificate claims of itself.
func checkCertificate(t *testing.T, what string, c *outer.Certificate) {
	t.Helper()
	if c == nil {
		return
	}
	sum, total := 0.0, linalg.Clone(c.Normal)
	for i, w := range c.Weights {
		sum += w
		if w < 0 || linalg.Distance(c.Points[i], c.X) > c.Delta*(1+1e-12) {
			t.Errorf("%s: weight %g at distance %g of %g", what, w, linalg.Distance(c.Points[i], c.X), c.Delta)
		}
		total = linalg.Plus(total, w, c.Gradients[i])
	}
	if math.Abs(sum-1) > 1e-12 || math.Abs(linalg.Norm(total)-c.Norm) > 1e-9*(1+linalg.Norm(c.Gradients[0])) {
		t.Errorf("%s: weights sum to %v, norm %g is stated as %g", what, sum, linalg.Norm(total), c.Norm)
	}
}

// stopper ends a context after some iterations.
type stopper struct {
	at     int
	cancel context.CancelFunc
	seen   []outer.Progress
}

func (s *stopper) observe(p outer.Progress) {
	p.X = linalg.Clone(p.X)
	s.seen = append(s.seen, p)
	if p.Iteration == s.at {
		s.cancel()
	}
}

// A run that is interrupted, encoded, decoded and resumed in a new process (a
// new hyperobjective, a new method) equals the uninterrupted one bit for bit.
func TestResumeIsExact(t *testing.T) {
	for _, spec := range outer.All() {
		for _, c := range []oracletest.Case{oracletest.Toll(), oracletest.Bard1988(), oracletest.Bolib()[0]} {
			run := func(ctx context.Context, o *stopper, resume *outer.Checkpoint) *outer.Result {
				m, err := spec.New(nil)
				if err != nil {
					t.Fatal(err)
				}
				r, err := outer.Solve(ctx, hyper(t, c.Problem), spec.Name, m, outer.Options{Start: c.Start, Seed: 5, Observer: o.observe, Resume: resume,
					Limits: outer.Limits{Iterations: 25}})
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			whole := &stopper{at: -1}
			want := run(context.Background(), whole, nil)
			for _, at := range []int{1, 3, 9} {
				ctx, cancel := context.WithCancel(context.Background())
				part := &stopper{at: at, cancel: cancel}
				r := run(ctx, part, nil)
				if len(whole.seen) <= at {
					continue
				}
				if r.Status != status.Interrupted || state(t, r) == nil || r.Best == nil {
					t.Fatalf("%s on %s: %v (%s)", spec.Name, c.Name, r.Status, r.Reason)
				}
				text, err := json.Marshal(state(t, r))
				if err != nil {
					t.Fatal(err)
				}
				var back outer.Checkpoint
				if err := json.Unmarshal(text, &back); err != nil {
					t.Fatal(err)
				}
				rest := &stopper{at: -1}
				got := run(context.Background(), rest, &back)
				if got.Status != want.Status || got.Best.F != want.Best.F || !reflect.DeepEqual(got.Best.X, want.Best.X) ||
					got.Iterations != want.Iterations || got.Evaluations != want.Evaluations {
					t.Fatalf("%s on %s, resumed at %d: %v F %v after %d, whole %v F %v after %d", spec.Name, c.Name, at,
						got.Status, got.Best.F, got.Evaluations, want.Status, want.Best.F, want.Evaluations)
				}
				for k, p := range rest.seen {
					q := whole.seen[at+k]
					if p.F != q.F || !reflect.DeepEqual(p.X, q.X) {
						t.Fatalf("%s on %s, resumed at %d: iteration %d is %v, was %v", spec.Name, c.Name, at, p.Iteration, p.X, q.X)
					}
				}
			}
		}
	}
}

// Statuses of problems that have no solution.
func TestStatuses(t *testing.T) {
	falling := *oracletest.Kink().Problem
	falling.X = oracletest.Free(1)
	falling.F = oracletest.FromFormula(1, 1, func(x, _ []float64) float64 { return x[0] })
	empty := *oracletest.Bard1988().Problem
	empty.X = oracletest.Box(1, 8, 9)
	lowerFalls := *oracletest.Kink().Problem
	lowerFalls.G = oracletest.FromFormula(1, 1, func(_, y []float64) float64 { return -y[0] })
	broken := *oracletest.Kink().Problem
	broken.F = oracletest.FromFormula(1, 1, func(_, _ []float64) float64 { return math.NaN() })
	for _, c := range []struct {
		name string
		p    *problem.Problem
		want status.Status
	}{{"F falls", &falling, status.Unbounded}, {"X outside D", &empty, status.Infeasible}, {"g falls", &lowerFalls, status.NumericalFailure}, {"f is NaN", &broken, status.NumericalFailure}} {
		for _, spec := range outer.All() {
			if c.want == status.Unbounded && spec.Name != "goldstein" && spec.Name != "pgd" && c.name == "F falls" {
				continue // the others take steps of a fixed length
			}
			if r := solve(t, c.p, spec.Name, nil, outer.Options{Seed: 1, Limits: outer.Limits{Iterations: 500}}); r.Status != c.want {
				t.Errorf("%s, %s: %v (%s), want %v", c.name, spec.Name, r.Status, r.Reason, c.want)
			}
		}
	}
}

func TestSettingsAreChecked(t *testing.T) {
	for _, spec := range outer.All() {
		if _, err := spec.New(method.Values{"no_such_setting": 1.0}); err == nil {
			t.Errorf("%s accepts an unknown setting", spec.Name)
		}
		for _, s := range spec.Settings {
			if s.Doc == "" {
				t.Errorf("%s: setting %s has no documentation", spec.Name, s.Name)
			}
			if s.Type == "real" && !math.IsInf(s.Min, -1) {
				_, err := spec.New(method.Values{s.Name: s.Min - 1})
				var e *method.Error
				if !errors.As(err, &e) {
					t.Errorf("%s: %s = %v is accepted", spec.Name, s.Name, s.Min-1)
				}
			}
		}
	}
}

// state is the state of a run before its last iteration.
func state(t *testing.T, r *outer.Result) *outer.Checkpoint {
	t.Helper()
	c, err := r.State()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Values of any size are no fall without bound where X is bounded.
func TestLargeIsNotUnbounded(t *testing.T) {
	large := *oracletest.Kink().Problem
	large.X = oracletest.Box(1, 1, 2)
	large.F = oracletest.FromFormula(1, 1, func(x, _ []float64) float64 { return -1e25 * x[0] })
	for _, name := range []string{"goldstein", "pgd"} {
		r := solve(t, &large, name, nil, outer.Options{Seed: 1, Limits: outer.Limits{Iterations: 200}})
		if r.Status != status.Solved || r.Best.X[0] != 2 {
			t.Errorf("%s: %v (%s) at %v", name, r.Status, r.Reason, r.Best)
		}
	}
}
