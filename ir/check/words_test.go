package check_test

import (
	"testing"

	"bilevelc/ir/check"
	"bilevelc/lang/diag"
	"bilevelc/parser"
)

// What help and completion list is what the checker takes.
func TestWordsAreThoseOfTheChecker(t *testing.T) {
	for _, s := range check.Sets() {
		model := "model m\nparam r: real = 1\nparam s: real = 1\nparam lo: real = 0\nparam hi: real = 1\nupper {\n  var x: vector[2] in " + s.Signature +
			"\n  minimize sumsq(x - y)\n}\nlower {\n  var y: vector[2]\n  minimize sumsq(y - x)\n}\n"
		file, _ := parser.ParseFile(diag.NewSource("m", model))
		if _, diags := check.Check(file); diags.HasErrors() {
			t.Errorf("%s: %v", s.Signature, diags)
		}
	}
	for _, g := range check.Generators() {
		model := "model m\nparam mean: real = 0\nparam deviation: real = 1\nparam low: real = 0\nparam high: real = 1\ndata c: vector[2] ~ " + g.Signature + "\n"
		file, _ := parser.ParseFile(diag.NewSource("m", model))
		if _, diags := check.Partial(file); diags.HasErrors() {
			t.Errorf("%s: %v", g.Signature, diags)
		}
	}
}
