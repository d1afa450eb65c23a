package outer

import (
	"context"
	"testing"

	"bilevelc/runtime/method"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/oracle/oracletest"
	"bilevelc/runtime/problem"
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
