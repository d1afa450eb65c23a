package runtime_test

import (
	"context"
	"errors"
	"maps"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/lang/diag"
	"bilevelc/runtime"
)

const weighted = `
model weighted
param n: int
data P: matrix[n, n]
data c: vector[n]
param k: real
upper {
  var x: vector[n] in box(-1, 1)
  minimize sumsq(x)
}
lower {
  var y: vector[n]
  minimize 0.5 * k * sumsq(y) - (P * x + c)' * y
}
solve { start x = 1 }
`

// Every way to write the same numbers gives the same problem.
func TestDataForms(t *testing.T) {
	model, err := runtime.Compile("weighted.blv", weighted)
	if err != nil {
		t.Fatal(err)
	}
	dense := mat.NewDense(4, 4, []float64{9, 9, 9, 9, 9, 1, 2, 9, 9, 0, 4, 9, 9, 9, 9, 9})
	column := mat.NewDense(2, 3, []float64{0, 5, 0, 0, -6, 0})
	type row [2]float32
	for name, d := range map[string]runtime.Data{
		"plain":   {"n": 2, "P": [][]float64{{1, 2}, {0, 4}}, "c": []float64{5, -6}, "k": 2.0},
		"ints":    {"n": uint8(2), "P": [][]int{{1, 2}, {0, 4}}, "c": []int{5, -6}, "k": 2},
		"any":     {"n": 2.0, "P": []any{[]any{1, 2.0}, []int{0, 4}}, "c": []any{5, int8(-6)}, "k": any(float32(2))},
		"gonum":   {"n": 2, "P": dense.Slice(1, 3, 1, 3), "c": column.ColView(1), "k": 2},
		"sparse":  {"n": 2, "P": runtime.Sparse{Rows: 2, Cols: 2, I: []int{1, 0, 0, 0}, J: []int{1, 1, 0, 1}, V: []float64{4, 0.5, 1, 1.5}}, "c": mat.NewVecDense(2, []float64{5, -6}), "k": 2},
		"arrays":  {"n": 2, "P": []row{{1, 2}, {0, 4}}, "c": [2]float64{5, -6}, "k": 2},
		"records": {"n": 2, "P": mat.NewTriDense(2, mat.Upper, []float64{1, 2, 0, 4}), "c": []*float64{ptr(5), ptr(-6)}, "k": ptr(2)},
	} {
		p, err := model.Bind(d, runtime.BindOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r, err := p.Eval(context.Background(), runtime.Values{{Name: "x", Shape: []int{2}, Data: []float64{1, -1}}}, runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		y, _ := r.Lower.Variables.Get("y") // (P x + c) / k
		if math.Abs(y.Data[0]-2) > 1e-12 || math.Abs(y.Data[1]+5) > 1e-12 {
			t.Errorf("%s: y = %v, not (2, -5)", name, y.Data)
		}
	}
}

func ptr(v float64) *float64 { return &v }

// Labels, tuples and records mean what they mean in a file.
func TestDataByLabel(t *testing.T) {
	model, err := runtime.Compile("towns.blv", `
model towns
set town
data need: [town]
upper {
  var x: real in box(0, 1)
  minimize x
}
lower {
  var y: [town]
  minimize sum(i in town: 0.5 * y[i]^2 - need[i] * y[i])
}
`)
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]runtime.Data{
		"map":    {"town": []string{"Oslo", "Rome"}, "need": map[string]any{"Rome": 3, "Oslo": 2.5}},
		"floats": {"town": []any{"Oslo", "Rome"}, "need": map[string]float64{"Rome": 3, "Oslo": 2.5}},
	} {
		p, err := model.Bind(d, runtime.BindOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r, err := p.Eval(context.Background(), runtime.Values{{Name: "x", Data: []float64{0}}}, runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if y, _ := r.Lower.Variables.Get("y"); math.Abs(y.Data[0]-2.5) > 1e-12 || math.Abs(y.Data[1]-3) > 1e-12 {
			t.Errorf("%s: y = %v", name, y.Data)
		}
	}
}

// What is wrong with data is told all at once, with its code, and where.
func TestDataFaults(t *testing.T) {
	model, err := runtime.Compile("weighted.blv", weighted)
	if err != nil {
		t.Fatal(err)
	}
	loop := []any{nil}
	loop[0] = loop
	good := runtime.Data{"n": 2, "P": [][]float64{{1, 2}, {0, 4}}, "c": []float64{5, -6}, "k": 2}
	for _, c := range []struct {
		name  string
		value any
		code  diag.Code
		place string // in the error
	}{
		{"P", [][]float64{{1, 2}, {3}}, diag.DataRagged, `Data["P"]:1:16`},
		{"P", [][]float64{{1, 2}, {3, math.NaN()}}, diag.DataNotFinite, `Data["P"]:1:21`},
		{"c", []float64{1, math.Inf(-1)}, diag.DataNotFinite, `Data["c"]:1:12`},
		{"c", []any{1, "two"}, diag.DataNotNumber, `Data["c"]:1:11`},
		{"c", []any{1, true}, diag.DataNotNumber, `Data["c"]:1:11`},
		{"c", nil, diag.DataNotNumber, `Data["c"]:1:7`},
		{"c", []any{1, make(chan int)}, diag.DataNotNumber, `a chan int is not`},
		{"c", func() {}, diag.DataNotNumber, `a func() is not`},
		{"c", loop, diag.DataNotNumber, `nested 32 deep`},
		{"P", runtime.Sparse{Rows: 2, Cols: 2, I: []int{0, 2}, J: []int{0, 0}, V: []float64{1, 1}}, diag.DataSize, "entry 1"},
		{"P", runtime.Sparse{Rows: 2, Cols: 2, I: []int{0}, J: []int{-1}, V: []float64{1}}, diag.DataSize, "entry 0"},
		{"P", runtime.Sparse{Rows: 2, Cols: 2, I: []int{0}, V: []float64{1}}, diag.DataSize, "1, 0 and 1"},
		{"P", runtime.Sparse{Rows: -2, Cols: 2}, diag.DataSize, "-2 rows"},
		{"P", runtime.Sparse{Rows: 2, Cols: 2, I: []int{0}, J: []int{0}, V: []float64{math.NaN()}}, diag.DataNotFinite, "NaN"},
	} {
		d := runtime.Data{}
		maps.Copy(d, good)
		d[c.name] = c.value
		_, err := model.Bind(d, runtime.BindOptions{})
		var list diag.List
		var first *diag.Diagnostic
		if !errors.Is(err, c.code) || !errors.As(err, &list) || !errors.As(err, &first) || first.Subject.IsZero() {
			t.Errorf("%s = %v: %v, not a located %s", c.name, c.value, err, c.code)
			continue
		}
		if !strings.Contains(err.Error(), c.place) {
			t.Errorf("%s: %q does not say %s", c.name, err, c.place)
		}
	}
	_, err = model.Bind(runtime.Data{"n": 2, "P": [][]int{{1}, {2, 3}}, "c": []any{"a"}, "k": math.NaN()}, runtime.BindOptions{})
	for _, code := range []diag.Code{diag.DataRagged, diag.DataNotFinite} {
		if !errors.Is(err, code) {
			t.Errorf("not all faults are told: %v", err)
		}
	}
	if errors.Is(err, diag.DataSpec) {
		t.Error("a code that is not in the list")
	}
}
