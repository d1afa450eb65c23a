package stdlib_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"bilevelc/ir"
	"bilevelc/ir/bind"
	"bilevelc/ir/check"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
	"bilevelc/parser"
	"bilevelc/stdlib"
)

func TestDocumented(t *testing.T) {
	for _, f := range stdlib.Functions() {
		if f.Doc == "" || !strings.HasSuffix(f.Doc, ".") {
			t.Errorf("%s has no doc, or none that ends as a sentence: %q", f.Name, f.Doc)
		}
		if f.Example == "" {
			t.Errorf("%s has no example", f.Name)
		}
		if !strings.HasPrefix(f.Signature, f.Name+"(") || !strings.HasPrefix(f.Source, "fn "+f.Name+"(") {
			t.Errorf("%s: signature %q, source %q", f.Name, f.Signature, f.Source)
		}
	}
}

// bound makes a problem of a model without data.
func bound(t *testing.T, text string) *ir.Problem {
	t.Helper()
	file, diags := parser.ParseFile(diag.NewSource("test.blv", text))
	if len(diags) > 0 {
		t.Fatalf("%v\n%s", diags, text)
	}
	program, diags := check.Check(file)
	if len(diags) > 0 {
		t.Fatalf("%v\n%s", diags, text)
	}
	problem, diags := bind.Bind(program, nil, bind.Options{Seed: 1})
	if diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, text)
	}
	return problem
}

// Both sides of every example have the same shape and value.
func TestExamples(t *testing.T) {
	for _, f := range stdlib.Functions() {
		for _, example := range strings.Split(f.Example, "\n") {
			t.Run(f.Name, func(t *testing.T) {
				left, right, ok := strings.Cut(example, " == ")
				if !ok || !strings.HasPrefix(left, f.Name+"(") {
					t.Fatalf("not an example `%s(...) == value`: %s", f.Name, example)
				}
				p := bound(t, fmt.Sprintf("model example\nupper {\n var x: real\n minimize x^2\n}\n"+
					"lower {\n var y: real\n minimize (y - x)^2\n}\nreport {\n left = %s\n right = %s\n}\n", left, right))
				a, b := p.Report[0].Node, p.Report[1].Node
				if a.Shape != b.Shape {
					t.Fatalf("%s: shapes %v and %v", example, a.Shape, b.Shape)
				}
				u, err := expr.Eval(a, []float64{0}, []float64{0})
				if err != nil {
					t.Fatal(err)
				}
				v, err := expr.Eval(b, []float64{0}, []float64{0})
				if err != nil {
					t.Fatal(err)
				}
				for i, want := range v.Values() {
					// A few roundings of numbers near 1: 1e-14 is some 50 units
					// in the last place.
					if got := u.Values()[i]; math.Abs(got-want) > 1e-14*(1+math.Abs(want)) {
						t.Errorf("%s: entry %d is %v, not %v", example, i+1, got, want)
					}
				}
			})
		}
	}
}
