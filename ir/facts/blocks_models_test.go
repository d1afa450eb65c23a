package facts_test

import (
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/ir"
	"bilevelc/ir/bind"
	"bilevelc/ir/check"
	"bilevelc/ir/data"
	"bilevelc/ir/facts"
	"bilevelc/lang/diag"
	"bilevelc/parser"
)

// compile binds a model of four lower entries with the given lower level.
func compile(t *testing.T, lower string, set *data.Set) *ir.Problem {
	t.Helper()
	text := `model followers
param n: int = 4
data Q: matrix[n, n] = [[2, 1, 0, 0], [1, 3, 0, 0], [0, 0, 2, 0.5], [0, 0, 0.5, 2]]
data S: matrix[2, 2] = [[2, 1], [1, 2]]
data c: vector[n] ~ uniform(1, 2)
upper {
  var x: vector[n] in box(-1, 1)
  minimize sumsq(x)
}
lower {
` + lower + "\n}\n"
	file, list := parser.ParseFile(diag.NewSource("followers.blv", text))
	stop(t, list)
	program, list := check.Check(file)
	stop(t, list)
	p, list := bind.Bind(program, set, bind.Options{Seed: 1})
	stop(t, list)
	return p
}

func stop(t *testing.T, list diag.List) {
	t.Helper()
	if list.HasErrors() {
		var s strings.Builder
		diag.Render(&s, list, diag.Style{})
		t.Fatal(s.String())
	}
}

// TestModels finds the followers that a reader of the model sees.
func TestModels(t *testing.T) {
	single := [][]int{{0}, {1}, {2}, {3}}
	pairs := [][]int{{0, 1}, {2, 3}}
	columns := [][]int{{0, 2}, {1, 3}}
	for name, c := range map[string]struct {
		lower string
		want  [][]int
	}{
		"squares":           {"var y: vector[n]\nminimize sumsq(y - x)", single},
		"weighted norm":     {"var y: vector[n]\nminimize 0.5 * y' * diag(c) * y - x' * y", single},
		"indexed squares":   {"var y: vector[n]\nminimize sum(i in 1..n: (y[i] - x[i])^2 * c[i])", single},
		"functions":         {"var y: vector[n]\nminimize sum(i in 1..n: exp(c[i] * y[i]) + log1pexp(y[i] - x[i]) + y[i]^2)", single},
		"linear in common":  {"var y: vector[n]\nminimize sumsq(y) + (x' * Q * x) * sum(y) + 3 * mean(y)", single},
		"cost of the sum":   {"var y: vector[n]\nminimize sumsq(y) + sum(y)^2", nil},
		"bounds":            {"var y: vector[n] in box(0, 1)\nminimize sumsq(y - x)", single},
		"row over pairs":    {"var y: vector[n]\nminimize sumsq(y - x)\nsubject to\nforall k in 1..2: y[2*k-1] + y[2*k] <= 1", pairs},
		"row over all":      {"var y: vector[n]\nminimize sumsq(y - x)\nsubject to\nsum(y) == 1", nil},
		"rows of data":      {"var y: vector[n]\nminimize sumsq(y - x)\nsubject to\nQ * y <= c", pairs},
		"block matrix":      {"var y: vector[n]\nminimize 0.5 * y' * Q * y - x' * y", pairs},
		"quad":              {"var y: vector[n]\nminimize 0.5 * quad(Q, y) - x' * y", pairs},
		"least squares":     {"var y: vector[n]\nminimize sumsq(Q * y - x)", pairs},
		"log-sum-exp":       {"var y: vector[n]\nminimize sumsq(y) + logsumexp(y[1..2]) + logsumexp(y[3..4])", pairs},
		"ranges":            {"var y: vector[n]\nminimize sum(k in 1..2: y[2*k-1..2*k]' * S * y[2*k-1..2*k]) - x' * y", pairs},
		"neighbours":        {"var y: vector[n]\nminimize sumsq(y) + sum(i in 1..n if i == 1 or i == 3: y[i] * y[i+1])", pairs},
		"two variables":     {"var a: vector[2]\nvar b: vector[2]\nminimize a' * S * a + b' * S * b - x[1] * a[1] - x[2] * b[2]", pairs},
		"rows of a matrix":  {"var Y: matrix[2, 2]\nminimize sumsq(Y * S) + sum(Y)", pairs},
		"columns of it":     {"var Y: matrix[2, 2]\nminimize sumsq(S * Y) + sum(Y)", columns},
		"rows by index":     {"var Y: matrix[2, 2]\nminimize sum(i in 1..2: Y[i, :] * S * Y[i, :]')", pairs},
		"columns by index":  {"var Y: matrix[2, 2]\nminimize sumsq(Y)\nsubject to\nforall j in 1..2: sum(Y[:, j]) == 1", columns},
		"maximize":          {"var y: vector[n]\nmaximize x' * y - 0.5 * sumsq(y)", single},
		"own quotient":      {"var y: vector[n]\nminimize sumsq(y ./ (2 + c)) + sumsq(y) / (1 + sumsq(x))", single},
		"shared quotient":   {"var y: vector[n]\nminimize sumsq(y) + y[1] / (2 + tanh(y[2]))", [][]int{{0, 1}, {2}, {3}}},
		"unused by g":       {"var y: vector[n]\nminimize y[1]^2 + y[2]^2", single},
		"upper factor only": {"var y: vector[n]\nminimize sum(i in 1..n, j in 1..n: Q[i, j] * x[i] * y[j]) + sumsq(y)", single},
	} {
		t.Run(name, func(t *testing.T) {
			p := compile(t, c.lower, nil)
			if got := facts.Blocks(p); !slices.EqualFunc(got, c.want, slices.Equal) {
				t.Errorf("blocks %v, want %v", got, c.want)
			}
		})
	}
}

// TestAbstract keeps matrices together whose zeros are not known yet.
func TestAbstract(t *testing.T) {
	text := "model m\nparam n: int = 3\ndata Q: matrix[n, n]\nupper {\n  var x: vector[n]\n  minimize sumsq(x)\n}\n" +
		"lower {\n  var y: vector[n]\n  var z: vector[n]\n  minimize y' * Q * y + sumsq(z - x)\n}\n"
	file, list := parser.ParseFile(diag.NewSource("m.blv", text))
	stop(t, list)
	program, list := check.Check(file)
	stop(t, list)
	p, list := bind.Bind(program, nil, bind.Options{Abstract: true})
	stop(t, list)
	want := [][]int{{0, 1, 2}, {3}, {4}, {5}}
	if got := facts.Blocks(p); !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("blocks %v, want %v", got, want)
	}
}

// TestLarge takes a large model apart, for which pairs of entries would be too many.
func TestLarge(t *testing.T) {
	const n = 100000
	var entries []sparse.Entry
	for i := range n {
		entries = append(entries, sparse.Entry{Row: i, Col: i, Val: 2})
		if i%2 == 1 {
			entries = append(entries, sparse.Entry{Row: i, Col: i - 1, Val: 1}, sparse.Entry{Row: i - 1, Col: i, Val: 1})
		}
	}
	set := &data.Set{}
	set.Add("n", data.Scalar(n), "test")
	set.Add("Q", data.SparseMatrix(sparse.FromEntries(n, n, entries)), "test")
	set.Add("c", data.Vector(make([]float64, n)), "test")
	p := compile(t, "var y: vector[n]\nminimize 0.5 * y' * Q * y - x' * y", set)
	blocks := facts.Blocks(p)
	if len(blocks) != n/2 {
		t.Fatalf("%d blocks", len(blocks))
	}
}
