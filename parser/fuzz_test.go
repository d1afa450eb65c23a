package parser_test

import (
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"bilevelc/lang"
	"bilevelc/lang/diag"
	"bilevelc/parser"
)

// seed adds the models, the bad models, the unformatted sources, the examples
// of the reference and of the codes, and what past runs found.
func seed(f *testing.F) {
	f.Helper()
	files := models(f)
	for _, pattern := range []string{"testdata/bad/*.blv", "testdata/format/*.blv", "../stdlib/*.blv"} {
		more, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		files = append(files, more...)
	}
	for _, file := range files {
		f.Add(read(f, file).Text)
	}
	spec, err := os.ReadFile("../lang/spec.md")
	if err != nil {
		f.Fatal(err)
	}
	for _, m := range fence.FindAllStringSubmatch(string(spec), -1) {
		f.Add(m[3])
	}
	for _, e := range diag.Codes() {
		f.Add(e.Example)
	}
}

// checkDiagnostics checks that errors are in order, have places inside the
// text, and can be rendered.
func checkDiagnostics(t *testing.T, src *diag.Source, errs diag.List) {
	last := 0
	for _, d := range errs {
		s := d.Subject
		if s.Source != src || s.Start < last || s.End < s.Start || s.End > len(src.Text) {
			t.Fatalf("%q: the place of %v is wrong: %d to %d", src.Text, d, s.Start, s.End)
		}
		last = s.Start
		if d.Code == "" || d.Summary == "" {
			t.Fatalf("an empty diagnostic: %v", d)
		}
		if out := d.Text(diag.Style{}); !utf8.ValidString(out) {
			t.Fatalf("%q", out)
		}
	}
	diag.RenderJSON(errs)
}

// FuzzParse checks that any text gives a tree and diagnostics with places in
// it, and that a text without errors obeys the laws of the printer.
func FuzzParse(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text string) {
		src := diag.NewSource("f", text)
		file, errs := parser.ParseFile(src)
		checkDiagnostics(t, src, errs)
		if len(errs) == 0 {
			checkFormat(t, src)
		} else {
			lang.Format(file) // must not panic either
		}
	})
}

// FuzzREPL checks the same of input at a prompt.
func FuzzREPL(f *testing.F) {
	seed(f)
	for _, text := range []string{"1 + 2", "x[1", "let a =", "upper {", "var x: real\nsubject to\nx >= 0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		src := diag.NewSource("f", text)
		in, errs := parser.ParseREPL(src)
		checkDiagnostics(t, src, errs)
		if in.Expr != nil && len(errs) == 0 {
			checkExpr(t, in.Expr)
		}
		if x, errs := parser.ParseExpr(src); len(errs) == 0 {
			checkExpr(t, x)
		} else {
			checkDiagnostics(t, src, errs)
		}
	})
}

// checkExpr checks that an expression survives printing on one line.
func checkExpr(t *testing.T, x lang.Expr) {
	text := lang.FormatExpr(x)
	back, errs := parser.ParseExpr(diag.NewSource("printed", text))
	if len(errs) > 0 || show(back) != show(x) {
		t.Fatalf("%q: %v\n%s\n%s", text, errs, show(back), show(x))
	}
}
