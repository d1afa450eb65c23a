package outer

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"bilevelc/runtime/method"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/oracle/oracletest"
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
	return oracle.New(p.Clone(), &oracletest.Exact{}, o) // a run that is given up goes on with what it has
}

func solve(t testing.TB, p *problem.Problem, name string, values method.Values, opts Options) *Result {
	t.Helper()
	m := made(t, name, values)
	if opts.Start == nil {
		opts.Start = p.Start
	}
	r, err := Solve(context.Background(), hyper(t, p), name, m, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestBundleFindsKnownOptima(t *testing.T) {
	toy, ref, err := oracletest.Toy(filepath.Join("..", "..", "testdata", "models"), "toy_paper_s1")
	if err != nil {
		t.Fatal(err)
	}
	cases := append(oracletest.Bolib(), oracletest.Quota(), oracletest.Bard1988(), oracletest.Toll(), oracletest.Kink(),
		oracletest.Case{Problem: toy, Optimum: ref.Optimum, Starts: 1, Tolerance: 1e-8})
	for _, c := range cases {
		r := solve(t, c.Problem, "bundle", nil, Options{Seed: 1, Limits: Limits{Iterations: 2000}})
		if r.Best == nil {
			t.Errorf("%s: %v: %s", c.Name, r.Status, r.Reason)
			continue
		}
		t.Logf("%s: %v (%s) F %.12g known %.12g, gap %.1e; %d iterations, %d evaluations", c.Name, r.Status, r.Reason, r.Best.F, c.Optimum,
			r.Best.F-c.Optimum, r.Iterations, r.Evaluations)
		if gap := (r.Best.F - c.Optimum) / (1 + math.Abs(c.Optimum)); c.Starts == 1 && gap > c.Tolerance {
			t.Errorf("%s: F = %.12g, known %.12g", c.Name, r.Best.F, c.Optimum)
		}
	}
}

func made(t testing.TB, name string, values method.Values) Method {
	t.Helper()
	spec, err := Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := spec.New(values)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A run that a limit ends before it has made a certificate measures within the radius that was asked for.
func TestBundleCutShortMeasuresWithinItsRadius(t *testing.T) {
	for _, c := range []oracletest.Case{oracletest.Kink(), oracletest.Toll()} {
		r := solve(t, c.Problem, "bundle", method.Values{"delta": 1e-3}, Options{Seed: 1, Limits: Limits{Iterations: 1}})
		if r.Status != status.LimitReached || r.Certificate == nil || !(r.Measure.Delta >= 1e-3) {
			t.Errorf("%s: %v (%s), %+v", c.Name, r.Status, r.Reason, r.Measure)
		}
	}
}
