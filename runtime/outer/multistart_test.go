package outer

import (
	"context"
	"math"
	"testing"

	"bilevelc/runtime/oracle"
	"bilevelc/runtime/oracle/oracletest"
	"bilevelc/runtime/status"
)

// Of values that tie to rounding a certified one is preferred; of others the least.
func TestBestOfStarts(t *testing.T) {
	at := func(s status.Status, f float64) StartResult {
		return StartResult{Result: &Result{Status: s, Best: &oracle.Point{F: f}}}
	}
	none := StartResult{Result: &Result{Status: status.Infeasible}}
	for _, c := range []struct {
		results []StartResult
		want    int
	}{
		{[]StartResult{none, {}}, -1},
		{[]StartResult{at(status.Solved, 2), at(status.Solved, 1), at(status.Solved, 1)}, 1},
		{[]StartResult{none, at(status.NumericalFailure, 1), at(status.Solved, 1+1e-14), at(status.Solved, 2)}, 2},
		{[]StartResult{at(status.Solved, 1.001), at(status.NumericalFailure, 1)}, 1},
		{[]StartResult{at(status.Interrupted, 3), at(status.Interrupted, 2), {}}, 1},
	} {
		if got := bestOf(c.results); got != c.want {
			t.Errorf("best of %v is %d, want %d", c.results, got, c.want)
		}
	}
}

// A context that ends during the first start leaves its best point.
func TestMultiStartInterrupted(t *testing.T) {
	c := oracletest.Toll()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ms := &MultiStart{Starts: 5, Threads: 1, Seed: 1, Set: c.Problem.X, Name: "bundle",
		Options:  Options{Start: c.Problem.Start},
		Observer: func(int) Observer { return &stopper{at: 2, cancel: cancel} },
		New: func() (oracle.Hyperobjective, Method, error) {
			return hyper(t, c.Problem.Clone()), &bundle{Settings: *defaultBundle()}, nil
		}}
	results, best, err := ms.Solve(ctx)
	if err != nil || best != 0 {
		t.Fatalf("best is start %d (%v)", best, err)
	}
	r := results[0].Result
	if r.Status != status.Interrupted || state(t, r) == nil || math.IsNaN(r.Best.F) || results[4].Result != nil {
		t.Errorf("start 0: %v, checkpoint %v, F %v; start 4: %v", r.Status, state(t, r) != nil, r.Best.F, results[4].Result)
	}
}
