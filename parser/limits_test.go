package parser_test

import (
	"strings"
	"testing"

	"bilevelc/lang/diag"
	"bilevelc/parser"
)

// TestHostile checks that no text panics, hangs, or passes without an error
// where it is no model.
func TestHostile(t *testing.T) {
	long := func(s string) string { return strings.Repeat(s, 60_000) }
	for name, text := range map[string]string{
		"parens":        "let a = " + long("("),
		"closed parens": "let a = " + long("(") + "1" + long(")"),
		"lists":         "let a = " + long("["),
		"braces":        long("{"),
		"closing":       long("}") + long(")"),
		"minus":         "let a = " + long("-") + "1",
		"not":           "let a = " + long("not "),
		"powers":        "let a = 1" + long("^1"),
		"ifs":           "let a = " + long("if 1 then 1 else "),
		"calls":         "let a = " + long("f("),
		"indices":       "let a = x" + long("[1"),
		"transposes":    "let a = x" + long("'"),
		"sum":           "let a = 1" + long(" + 1"),
		"nuls":          long("\x00"),
		"invalid":       long("\xff"),
		"mixed":         long("\xff1"),
		"quotes":        long("\"\n"),
		"plus lines":    long("+\n"),
		"name colon":    "upper {\nsubject to\n" + long("a: x +\n"),
		"blocks":        long("upper {"),
		"subject":       long("subject to\n"),
		"words":         long("minmize x\n"),
		"comment":       "/*" + long("*"),
		"number":        "let a = " + long("9"),
		"strange":       long("‖€"),
		"dots":          long("."),
		"forall":        "upper {\nsubject to forall\n" + long("a:\n"),
	} {
		file, errs := parser.ParseFile(diag.NewSource(name, text))
		if file == nil || !errs.HasErrors() {
			t.Errorf("%s: no error", name)
		}
		if len(errs) > 51 {
			t.Errorf("%s: %d errors", name, len(errs))
		}
		// Each text has at most 1 MB, which takes well under a second; with a
		// quadratic algorithm the test would not end.
	}
}

// TestLarge checks that what is large but legal passes.
func TestLarge(t *testing.T) {
	for name, text := range map[string]string{
		"10000 terms":    "let a = 1" + strings.Repeat(" + x[1]*2", 10_000),
		"data literal":   "data a: vector[200000] = [" + strings.Repeat("1.25, ", 199_999) + "1]",
		"nested":         "let a = " + strings.Repeat("(", 400) + "1" + strings.Repeat(")", 400),
		"10000 lets":     strings.Repeat("let a = 1\n", 10_000),
		"byte order":     "\ufeffmodel m\r\nlet a = 1\r\n",
		"end of file":    "model m\x1a",
		"no newline":     "model m",
		"only a comment": "// nothing",
		"deep unary":     "let a = " + strings.Repeat("-", 400) + "1",
	} {
		if _, errs := parser.ParseFile(diag.NewSource(name, text)); len(errs) > 0 {
			t.Errorf("%s: %v", name, errs[0])
		}
	}
}
