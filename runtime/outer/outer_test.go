package outer

import (
	"context"
	"math"
	"testing"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/oracle/oracletest"
	"bilevelc/runtime/status"
)

// stopper ends a context after some iterations.
type stopper struct {
	at     int
	cancel context.CancelFunc
	seen   []Progress
}

func (s *stopper) observe(p Progress) {
	p.X = linalg.Clone(p.X)
	s.seen = append(s.seen, p)
	if p.Iteration == s.at {
		s.cancel()
	}
}

func TestLimitsAndInterrupts(t *testing.T) {
	c := oracletest.Toll()
	for _, l := range []Limits{{Iterations: 3}, {Evaluations: 7}, {Calls: 200}} {
		r := solve(t, c.Problem, "bfgs", nil, Options{Seed: 1, Limits: l})
		if r.Status != status.LimitReached || r.Reason == "" {
			t.Errorf("limits %+v: %v (%s)", l, r.Status, r.Reason)
		}
		if r.Best == nil || r.Best.Grad == nil || r.Measure.Name != MappingMeasure || state(t, r) == nil {
			t.Errorf("limits %+v: best %v, measure %v", l, r.Best, r.Measure)
		}
		if l.Evaluations > 0 && r.Evaluations > l.Evaluations {
			t.Errorf("%d evaluations, limit %d", r.Evaluations, l.Evaluations)
		}
	}
}

// The public test problems from 20 starts, with the project's own lower solver;
// results do not depend on the number of threads.
func TestMultiStart(t *testing.T) {
	spec, err := lower.Lookup(lower.Default)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range append(oracletest.Bolib(), oracletest.Bard1988(), oracletest.Toll()) {
		var first []StartResult
		for _, threads := range []int{1, 2} {
			p := c.Problem
			ms := &MultiStart{Starts: 20, Threads: threads, Seed: 1, Set: p.X, Name: "bfgs", Options: Options{Start: p.Start},
				New: func() (oracle.Hyperobjective, Method, error) {
					s, err := spec.New(nil)
					if err != nil {
						return nil, nil, err
					}
					return oracle.New(p.Clone(), s, &oracle.Face{Settings: *oracle.DefaultFace()}), made(t, "bfgs", nil), nil
				}}
			results, best, err := ms.Solve(context.Background())
			if err != nil || best < 0 {
				t.Fatalf("%s: %d (%v)", c.Name, best, err)
			}
			found := 0
			for k, r := range results {
				if r.Result.Best != nil && r.Result.Best.F <= c.Optimum+c.Tolerance*(1+math.Abs(c.Optimum)) {
					found++
				}
				if threads == 2 && (r.Result.Best == nil) != (first[k].Result.Best == nil) ||
					threads == 2 && r.Result.Best != nil && r.Result.Best.F != first[k].Result.Best.F {
					t.Errorf("%s, start %d: two threads give another result", c.Name, k)
				}
				if r.Result.Status != status.Solved {
					t.Logf("%s, start %d: %v (%s)", c.Name, k, r.Result.Status, r.Result.Reason)
				}
			}
			if threads == 1 {
				t.Logf("%s: best F %.10g, known %.10g, found from %d of %d starts", c.Name, results[best].Result.Best.F, c.Optimum, found, len(results))
				if found == 0 {
					t.Errorf("%s: best F %.10g, known %.10g", c.Name, results[best].Result.Best.F, c.Optimum)
				}
			}
			first = results
		}
	}
}

// state is the state of a run before its last iteration.
func state(t *testing.T, r *Result) *Checkpoint {
	t.Helper()
	c, err := r.State()
	if err != nil {
		t.Fatal(err)
	}
	return c
}
