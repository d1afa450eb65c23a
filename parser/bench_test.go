package parser_test

import (
	"strings"
	"testing"

	"bilevelc/lang/diag"
	"bilevelc/parser"
)

// BenchmarkParse measures a short model and one with a long sum.
func BenchmarkParse(b *testing.B) {
	long := "model m\nupper {\n  var x: real\n  minimize x" + strings.Repeat(" + 2*x", 10_000) + "\n}\n"
	for name, src := range map[string]*diag.Source{
		"toy":         read(b, "../testdata/models/toy.blv"),
		"10000 terms": diag.NewSource("long", long),
		"name only":   diag.NewSource("name", "model m\n"),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(src.Text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, errs := parser.ParseFile(src); len(errs) > 0 {
					b.Fatal(errs)
				}
			}
		})
	}
}
