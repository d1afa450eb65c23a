package stdlib_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/autodiff"
	"bilevelc/codegen"
	"bilevelc/ir/check"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
	"bilevelc/parser"
	"bilevelc/stdlib"
)

// The gradient of every function in every argument agrees with central
// differences of the reference evaluator, over every shape that the parameters
// admit: a parameter without a type is tried as a scalar, a vector and a
// matrix. A function that is not smooth is refused in an objective instead, and one
// with kinks restated; both say so in their docs.
func TestGradients(t *testing.T) {
	for _, f := range stdlib.Functions() {
		accepted := 0
		for _, model := range models(f) {
			file, diags := parser.ParseFile(diag.NewSource("test.blv", model))
			if len(diags) > 0 {
				t.Fatalf("%v\n%s", diags, model)
			}
			switch _, diags := check.Check(file); {
			case diags.HasErrors() && diags[0].Code == "E0601":
				if !strings.Contains(f.Doc, "Not smooth") {
					t.Errorf("%s is refused in an objective, but its doc does not say `Not smooth`", f.Name)
				}
				accepted++
			case diags.HasErrors():
				// Shapes that the body does not take: others must remain.
			case strings.Contains(f.Doc, "Not smooth"):
				t.Errorf("%s is said not to be smooth, but is accepted", f.Name)
			case strings.Contains(f.Doc, "Kinks"):
				accepted++
				if p := bound(t, model); p.Restated == nil || !p.Upper.Objective.Smooth() {
					t.Errorf("%s is said to be restated, but is not", f.Name)
				}
			default:
				accepted++
				t.Run(f.Name, func(t *testing.T) { gradient(t, model) })
			}
		}
		if accepted == 0 {
			t.Errorf("%s: no shape of arguments is accepted", f.Name)
		}
	}
}

// models writes a model for each choice of the arguments' types. Every
// argument is a variable of the upper level, but for ints.
func models(f stdlib.Function) []string {
	choices := [][]string{nil}
	for _, p := range f.Decl.Params {
		var next [][]string
		for _, c := range choices {
			for _, word := range types(p) {
				next = append(next, append(c[:len(c):len(c)], word))
			}
		}
		choices = next
	}
	var out []string
	for _, c := range choices {
		var vars, args []string
		for i, word := range c {
			if word == "int" {
				args = append(args, "3")
				continue
			}
			vars = append(vars, fmt.Sprintf("  var a%d: %s\n", i, word))
			args = append(args, fmt.Sprintf("a%d", i))
		}
		call := f.Name + "(" + strings.Join(args, ", ") + ")"
		// The square makes one number of results of any shape, and gives
		// every entry a weight of its own.
		out = append(out, fmt.Sprintf("model gradient\nupper {\n%s  minimize sum(%s .* %s)\n}\n"+
			"lower {\n  var y: real\n  minimize y^2\n}\n", strings.Join(vars, ""), call, call))
	}
	return out
}

// types lists what a parameter may be, with small sizes that differ: a name
// of a size is its own.
func types(p lang.FnParam) []string {
	if p.Type == nil {
		return []string{"real", "vector[3]", "matrix[2, 3]"}
	}
	size := map[string]string{"n": "3", "m": "2"}
	dim := func(i int, missing string) string {
		if i < len(p.Type.Dims) {
			return size[p.Type.Dims[i].Span().Text()]
		}
		return missing
	}
	switch p.Type.Kind {
	case lang.KindVector:
		return []string{"vector[" + dim(0, "3") + "]"}
	case lang.KindMatrix:
		return []string{"matrix[" + dim(0, "2") + ", " + dim(1, "3") + "]"}
	}
	return []string{p.Type.Kind.String()}
}

func gradient(t *testing.T, model string) {
	p := bound(t, model)
	root, n := p.Upper.Objective, p.Upper.Dim
	graph, err := autodiff.Differentiate(p.Graph, root, n, p.Lower.Dim)
	if err != nil {
		t.Fatalf("%v\n%s", err, model)
	}
	program, err := codegen.Compile(graph, codegen.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, model)
	}
	// Arguments in (0.5, 1.5) lie inside every domain of the library.
	rng := rand.New(rand.NewPCG(1, 2))
	x, y := make([]float64, n), []float64{0.5}
	for i := range x {
		x[i] = 0.5 + rng.Float64()
	}
	g := make([]float64, n)
	program.NewEvaluator().GradX(g, x, y)
	value := func(i int, h float64) float64 {
		z := append([]float64(nil), x...)
		z[i] += h
		v, err := expr.Scalar(root, z, y)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for i := range x {
		// Central differences with h = 1e-5: the truncation is of order h^2,
		// the rounding eps/h, both near 1e-10.
		const h = 1e-5
		want := (value(i, h) - value(i, -h)) / (2 * h)
		if math.Abs(g[i]-want) > 1e-8*(1+math.Abs(want)) {
			t.Errorf("entry %d: %v, by differences %v\n%s", i, g[i], want, model)
		}
	}
}
