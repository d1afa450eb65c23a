package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/runtime"
)

// bindText makes a problem of a model that holds its data.
func bindText(t testing.TB, text string) *runtime.Problem {
	t.Helper()
	return bindData(t, text, nil)
}

// bindData makes a problem of a model and its data.
func bindData(t testing.TB, text string, set runtime.Data) *runtime.Problem {
	t.Helper()
	model, err := runtime.Compile("test.blv", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	problem, err := model.Bind(set, runtime.BindOptions{Seed: 1})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return problem
}

// bindFile makes a problem of a model in a file that holds its data.
func bindFile(t testing.TB, path string) *runtime.Problem {
	t.Helper()
	model, err := runtime.CompileFile(path)
	if err != nil {
		t.Fatal(err)
	}
	problem, err := model.Bind(nil, runtime.BindOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return problem
}

// solveText compiles, binds and solves a model.
func solveText(t testing.TB, text string, opts runtime.Options) *runtime.Result {
	t.Helper()
	result, err := bindText(t, text).Solve(context.Background(), opts)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return result
}

// verified reports whether a result passes the check of its claims.
func verified(problem *runtime.Problem, r *runtime.Result) bool {
	report, err := problem.Verify(r)
	return err == nil && report.OK()
}

// draws are standard normal numbers, rounded to multiples of a grain where that is
// not 0, so that a model's text holds them in few digits.
type draws struct {
	*rand.Rand
	grain float64
}

func (d draws) vector(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		if v[i] = d.NormFloat64(); d.grain > 0 {
			v[i] = math.Round(v[i]/d.grain) * d.grain
		}
	}
	return v
}

func (d draws) matrix(m, n int) [][]float64 {
	a := make([][]float64, m)
	for i := range a {
		a[i] = d.vector(n)
	}
	return a
}

// definite is R'R + ridge I, for an n x n matrix R.
func (d draws) definite(n int, ridge float64) [][]float64 {
	root, q := d.matrix(n, n), make([][]float64, n)
	for i := range q {
		q[i] = make([]float64, n)
		for j := range q {
			for k := range root {
				q[i][j] += root[k][i] * root[k][j]
			}
		}
		q[i][i] += ridge
	}
	return q
}

// text is a vector or a matrix as a model writes it.
func text(v any) string {
	return strings.ReplaceAll(strings.ReplaceAll(fmt.Sprint(v), " ", ", "), "[, ", "[")
}
