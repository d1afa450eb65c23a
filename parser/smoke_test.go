package parser_test

import (
	"os"
	"testing"

	"bilevelc/lang/diag"
	"bilevelc/parser"
)

func TestSmoke(t *testing.T) {
	for _, e := range diag.Codes() {
		if e.Stage != diag.SyntaxStage {
			continue
		}
		_, errs := parser.ParseFile(diag.NewSource(string(e.Code)+".blv", e.Example))
		if len(errs) > 5 {
			errs = errs[len(errs)-1:]
		}
		diag.Render(os.Stdout, errs, diag.Style{})
	}
	text, _ := os.ReadFile("/tmp/bad.blv")
	_, errs := parser.ParseFile(diag.NewSource("bad.blv", string(text)))
	diag.Render(os.Stdout, errs, diag.Style{})
}
