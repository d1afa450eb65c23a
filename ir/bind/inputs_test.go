package bind

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/ir/data"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

const inputsModel = `model inputs
param n: int
param half: int = n / 2
param rate: real = 0.5
data A: matrix[half, n]
data c: vector[n]
upper {
  var x: vector[half]
  minimize sumsq(x) + rate * sum(y)
}
lower {
  var y: vector[n]
  minimize sumsq(y - c) + sumsq(A * y - x)
}
`

func vec(v ...float64) *data.Array { return data.Vector(v) }

// supply makes a set of name, array pairs, all from "data.json".
func supply(pairs ...any) *data.Set {
	set := &data.Set{}
	for i := 0; i < len(pairs); i += 2 {
		set.Add(pairs[i].(string), pairs[i+1].(*data.Array), "data.json")
	}
	return set
}

// TestInputErrors: each message names the array, its origin and both numbers.
func TestInputErrors(t *testing.T) {
	a24 := data.Matrix(2, 4, make([]float64, 8))
	for _, c := range []struct {
		name string
		set  *data.Set
		code diag.Code
		want []string // in summary, detail and fix together
	}{
		{"nothing", supply(), diag.BindNoData, []string{"`A` was not supplied", "It also gives `n` its value", "--data"}},
		{"missing", supply("A", a24), diag.BindNoData, []string{"`c` was not supplied", "--data"}},
		{"extra", supply("A", a24, "c", vec(1, 2, 3, 4), "cc", vec(1)), diag.BindExtra, []string{"data.json supplies `cc`", "did you mean `c`?"}},
		{"conflict", supply("A", a24, "c", vec(1, 2, 3)), diag.BindConflict, []string{"`c` is a vector of 3 in data.json", "a vector of 4 is needed", "`n` is 4 (the size of `A` (data.json))"}},
		{"explicit", supply("n", data.Scalar(6), "A", a24, "c", vec(1, 2, 3, 4)), diag.BindShape, []string{"`A` is a 2 x 4 matrix", "a 3 x 6 matrix is needed", "`n` is 6 (data.json)", "`half` is 3 (default)"}},
		{"rank", supply("n", data.Scalar(4), "A", vec(1, 2), "c", vec(1, 2, 3, 4)), diag.BindShape, []string{"`A` is a vector of 2 in", "but a 2 x 4 matrix is needed", "declared matrix[half, n]", "give it as a list of 2 lists of 4 numbers"}},
		{"odd", supply("n", data.Scalar(3)), diag.BindNotInteger, []string{"`half` must be an integer, but is 1.5", "`n / 2` must divide", "`n` is 3 (data.json)"}},
		{"fraction", supply("n", data.Scalar(2.5)), diag.BindNotInteger, []string{"`n` must be an integer, but is 2.5", "data.json"}},
		{"vector param", supply("n", vec(2)), diag.BindShape, []string{"`n` is a scalar param", "a vector of 1"}},
		{"negative", supply("n", data.Scalar(-2)), diag.BindNegative, []string{"is negative: -1"}},
		{"huge", supply("n", data.Scalar(1e300)), diag.BindNotInteger, []string{"1e+300"}},
		{"nan", supply("A", a24, "c", vec(1, math.NaN(), 3, 4)), diag.BindNotFinite, []string{"`c[2]` is NaN (data.json)"}},
		{"inf", supply("A", data.Matrix(2, 4, []float64{0, 0, 0, 0, 0, 0, math.Inf(-1), 0}), "c", vec(1, 2, 3, 4)), diag.BindNotFinite, []string{"`A[2, 3]` is -Inf"}},
		{"nan param", supply("rate", data.Scalar(math.NaN()), "A", a24, "c", vec(1, 2, 3, 4)), diag.BindNotFinite, []string{"`rate` is NaN"}},
	} {
		prob, list := Bind(compile(t, "inputs.blv", inputsModel), c.set, Options{})
		if prob != nil || len(list) == 0 {
			t.Errorf("%s: no error", c.name)
			continue
		}
		found := false
		for _, d := range list {
			all := d.Summary + "\n" + d.Detail + "\n" + d.Fix
			good := d.Code == c.code && d.Subject.Source != nil
			for _, w := range c.want {
				good = good && strings.Contains(all, w)
			}
			found = found || good
		}
		if !found {
			t.Errorf("%s: %v, want %s with %q", c.name, list, c.code, c.want)
		}
	}
}

// Data that give no size where they are the ones to, as they have other dimensions, are the one error.
func TestSizeThatDataDoNotGive(t *testing.T) {
	const model = `model sizes
param n: int
data c: vector[n]
upper {
  var x: real in box(0, sum(c))
  minimize x + n + y
}
lower {
  var y: real
  minimize (y - x)^2
}
`
	for _, c := range []struct {
		entry data.Entry
		says  string
	}{
		{data.Entry{Array: data.Scalar(5)}, "gives a scalar"},
		{data.Entry{Array: data.Matrix(1, 3, []float64{1, 2, 3})}, "gives a 1 x 3 matrix"},
		{data.Entry{Array: data.Matrix(2, 2, []float64{1, 2, 3, 4})}, "gives a 2 x 2 matrix"},
		{data.Entry{Keyed: &data.Keyed{Keys: [][]string{{"a"}}, Values: []float64{1}}}, "gives numbers by label"},
		{data.Entry{Labels: [][]string{{"a"}}}, "gives texts"},
	} {
		c.entry.Name, c.entry.Origin = "c", "c.json"
		_, list := Bind(compile(t, "sizes", model), &data.Set{Entries: []data.Entry{c.entry}}, Options{})
		if len(list) != 1 || list[0].Code != diag.BindShape || list[0].Subject.String() != "sizes:3:6" || !strings.Contains(list[0].Summary, c.says) {
			t.Errorf("%v, want one error: %s", list, c.says)
		}
	}
	for _, kind := range []string{"real", "int"} { // a number by label ended binding in a panic
		scalar := strings.NewReplacer("n: int", "n: int = 1", "vector[n]", kind, "sum(c)", "c").Replace(model)
		keyed := data.Entry{Name: "c", Keyed: &data.Keyed{Keys: [][]string{{"a"}}, Values: []float64{1}}, Origin: "c.json"}
		_, list := Bind(compile(t, "sizes", scalar), &data.Set{Entries: []data.Entry{keyed}}, Options{})
		if len(list) != 1 || list[0].Code != diag.BindShape || list[0].Subject.String() != "sizes:3:6" || !strings.Contains(list[0].Summary, "gives its entries by label") {
			t.Errorf("%s: %v, want one error", kind, list)
		}
	}
}

// A default that the size of one array overrides is told; one that says the same, one that several arrays
// agree about, and a number that is given, are not.
func TestDefaultsThatDataOverride(t *testing.T) {
	const model = `model defaults
param n: int = 4
data c: vector[n]
data d: vector[n]
upper {
  var x: real
  minimize x^2
}
lower {
  var y: vector[n]
  minimize sumsq(y - x * c)
}
`
	for n := 2; n <= 6; n++ {
		for variant, text := range []string{model, strings.Replace(model, "data d: vector[n]\n", "", 1)} {
			for _, given := range []bool{false, true} {
				set := supply("c", vec(make([]float64, n)...))
				if variant == 0 {
					set.Add("d", vec(make([]float64, n)...), "data.json")
				}
				if given {
					set.Add("n", data.Scalar(float64(n)), "--set")
				}
				prob, list := Bind(compile(t, "defaults.blv", text), set, Options{})
				if prob == nil || prob.Lower.Dim != n {
					t.Fatalf("%d: %v", n, list)
				}
				told := len(list) == 1 && list[0].Code == diag.BindDefault && list[0].Severity == diag.Warning &&
					strings.Contains(list[0].Summary, "the size of `c` (data.json), not its default 4")
				if want := n != 4 && !given && variant == 1; told != want || len(list) > 1 {
					t.Errorf("%d entries, variant %d, given %v: %v", n, variant, given, list)
				}
			}
		}
	}
}

// TestColumnForVector: a file's column, an n x 1 matrix, serves as a vector;
// later entries of a name override earlier ones.
func TestColumnForVector(t *testing.T) {
	set := supply("A", data.Matrix(2, 4, make([]float64, 8)), "c", vec(9, 9, 9, 9))
	set.Add("c", data.Matrix(4, 1, []float64{1, 2, 3, 4}), "c.npy")
	prob := mustBind(t, compile(t, "inputs.blv", inputsModel), set)
	for _, d := range prob.Data {
		if d.Name == "c" && (d.Array.Rank() != 1 || d.Array.Dense[3] != 4 || d.Origin != "c.npy") {
			t.Errorf("c = %+v", d)
		}
		if d.Name == "half" && d.Array.Dense[0] != 2 {
			t.Errorf("half = %v", d.Array.Dense)
		}
	}
}

// TestNoRows: an array without entries is a matrix of no rows, which no JSON document can say the length of; a vector of some entries is none.
func TestNoRows(t *testing.T) {
	const model = `model norows
param m: int
param n: int
data A: matrix[m, n]
upper {
  var x: vector[n]
  minimize sumsq(x - y)
}
lower {
  var y: vector[n]
  minimize sumsq(y - x)
  subject to
    rows: A * y <= 1
}
`
	for _, c := range []struct {
		m, n, entries int
		fits          bool
	}{{0, 3, 0, true}, {0, 3, 3, false}, {1, 3, 0, false}, {3, 1, 0, false}} {
		set := supply("m", data.Scalar(float64(c.m)), "n", data.Scalar(float64(c.n)), "A", vec(make([]float64, c.entries)...))
		prob, list := Bind(compile(t, "norows.blv", model), set, Options{})
		if fits := prob != nil && !list.HasErrors(); fits != c.fits {
			t.Errorf("%+v: %v", c, list)
		} else if fits && prob.Lower.Dim != c.n {
			t.Errorf("%+v: %d variables", c, prob.Lower.Dim)
		}
	}
}

// TestAllErrorsOfARun: binding goes on after an error.
func TestAllErrorsOfARun(t *testing.T) {
	_, list := Bind(compile(t, "inputs.blv", inputsModel),
		supply("A", data.Matrix(2, 3, make([]float64, 6)), "c", vec(1, 2), "zz", vec(1), "n", data.Scalar(4)), Options{})
	if len(list) != 2 || !strings.Contains(list[0].Detail+list[1].Detail, "`c` is a vector of 2") {
		t.Errorf("%d errors, want those of zz, and of A with c, which have one cause: %v", len(list), list)
	}
}

// TestSizesBeforeAllocation: absurd sizes are refused, quickly, by each way
// to make an array up.
func TestSizesBeforeAllocation(t *testing.T) {
	for _, term := range []string{
		"sum(ones(1000000000))", "sum(ones(100000, 100000))", "sum(i in 1..n: i)", "sum(i in 1..k, j in 1..k: 1.0)",
		"sum(outer(ones(k), ones(k)))", "sum(zeros(n))", "sum(eye(n))", "sum(i in 1..k: sum(ones(k) * i))",
		"sum(i in 1..k: sum(ones(k) + i))", "sum(diag(ones(k)) .* outer(ones(k), ones(k)))",
	} {
		text := `model huge
param n: int = 1000000000
param k: int = 100000
upper {
  var x: real
  minimize x^2 + y
}
lower {
  var y: real
  minimize (y - x)^2 * ` + term + `
}
`
		_, list := Bind(compile(t, "huge.blv", text), nil, Options{})
		if len(list) != 1 || list[0].Code != diag.BindTooLarge {
			t.Errorf("%s: %v", term, list)
		}
	}
}

// TestSparseStaysSparse: a large sparse matrix goes through products, sums,
// slices and rows without being made dense.
func TestSparseStaysSparse(t *testing.T) {
	const n = 20000
	var entries []sparse.Entry
	for i := range n {
		entries = append(entries, sparse.Entry{Row: i, Col: i, Val: 2}, sparse.Entry{Row: i, Col: (i + 1) % n, Val: -1})
	}
	set := &data.Set{}
	set.Add("S", data.SparseMatrix(sparse.FromEntries(n, n, entries)), "S.mtx")
	prob := mustBind(t, compile(t, "sparse.blv", `model sparse
param n: int
data S: matrix[n, n]
let Q = 0.5 * S' * S + 2 * eye(n) - S'
upper {
  var x: vector[n]
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[n]
  minimize y' * Q * y
  subject to
    flow: S * y + (S' * S) * x <= 1
    one: forall i in 1..2: S[i, :] * y >= 0
}
`), set)
	if nnz := prob.B.NNZ(); nnz != 2*n+4 {
		t.Errorf("B has %d nonzeros", nnz)
	}
	if nnz := prob.A.NNZ(); nnz != 3*n {
		t.Errorf("A has %d nonzeros", nnz)
	}
	q := prob.Lower.Objective
	for _, m := range expr.Reachable(q) {
		if m.Shape.Rank == 2 && m.Deps == 0 {
			v, err := prob.Graph.Value(m)
			if err != nil || v.Sparse == nil {
				t.Errorf("%s became dense (%v)", m.Span.Text(), err)
			}
		}
	}
	// Row 1 of Q by hand: S'S has 5 on the diagonal and -2 beside it; half of
	// it, plus 2 I, less S'.
	y := make([]float64, n)
	y[0] = 1
	if v, err := expr.Scalar(q, make([]float64, n), y); err != nil || v != 0.5*5+2-2 {
		t.Errorf("Q[1, 1] = %v, %v", v, err)
	}
}

// TestSettingsAndStart: words, numbers, and a start for one of two variables.
func TestSettingsAndStart(t *testing.T) {
	prob := mustBind(t, compile(t, "solve.blv", `model solve_block
param k: int = 3
upper {
  var a: vector[2] in box(1, 4)
  var b: matrix[2, 2]
  maximize sum(a) - sumsq(b) - y
}
lower {
  var y: real
  let twice = 2 * y
  minimize (y - a[1])^2 + twice
}
solve {
  start b = [[1, 2], [3, k]]
  method = pigd
  step = 1 / k
  count = k
}
report {
  r = b'
  v = a'
}
`), nil)
	if want := []float64{1, 1, 1, 2, 3, 3}; !agree(prob.Start, want) {
		t.Errorf("start %v", prob.Start)
	}
	s := prob.Settings
	if len(s) != 3 || s[0].Word != "pigd" || !s[0].IsWord || s[1].Value != 1.0/3 || s[2].Value != 3 || s[2].IsWord {
		t.Errorf("settings %+v", s)
	}
	if !prob.Upper.Maximize || prob.Lower.Maximize || len(prob.Lower.Lets) != 1 || prob.Lower.Lets[0].Name != "twice" {
		t.Errorf("levels %+v %+v", prob.Upper, prob.Lower)
	}
	f, err := expr.Scalar(prob.Upper.Objective, []float64{1, 2, 0, 0, 0, 1}, []float64{5})
	if err != nil || f != -(3-1-5) { // negated: it is minimized
		t.Errorf("f = %v, %v", f, err)
	}
	if prob.Report[0].Row || !prob.Report[1].Row {
		t.Error("only a' is a row")
	}
}

// TestIntegerOverflow: an int param beyond the exact integers is one error,
// which speaks of overflow and not of division, and what waits for it is none.
func TestIntegerOverflow(t *testing.T) {
	for _, first := range []string{"9223372036854775807", "3000000000 * 3000000000", "9007199254740992",
		"9007199254740993 - 9007199254740992", "2^53 + 1 - 2^53"} {
		_, list := Bind(compile(t, "overflow.blv", `model overflow
param n: int = `+first+`
param m: int = n + 1
upper {
  var x: real
  minimize x^2 + y
}
lower {
  var y: real
  minimize (y - x - m)^2
}
`), nil, Options{})
		if len(list) != 1 || list[0].Code != diag.BindNotInteger || !strings.Contains(list[0].Summary, "overflows") ||
			strings.Contains(list[0].Detail, "remainder") {
			t.Errorf("%s: %v", first, list)
		}
	}
}

// Inputs are bound in the order in which they need each other, through lets, functions
// and the sizes of parameters, however they are declared.
func TestInputsInAnyOrder(t *testing.T) {
	lines := []string{
		"param first: real = scaled(2)", "fn scaled(u) = u * total(rates)", "fn total(v: vector[size]) = sum(v)",
		"data rates: vector[size] = [base, 2 * base]", "let base = unit + 1", "param unit: real = 3", "param size: int = half * 2", "param half: int = 1",
	}
	for range 20 {
		rand.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		text := "model order\n" + strings.Join(lines, "\n") + `
upper {
  var x: real in box(0, first)
  minimize x
}
lower {
  var y: real
  minimize (y - x)^2
}
`
		if prob := mustBind(t, compile(t, "order", text), nil); prob.X.Hi[0] != 24 {
			t.Errorf("first is %v, not 24, in\n%s", prob.X.Hi[0], text)
		}
	}
}
