package parser_test

import (
	"os"
	"path/filepath"
	"testing"

	"bilevelc/lang/diag"
	"bilevelc/parser"
)

func TestSmoke(t *testing.T) {
	files, _ := filepath.Glob("../testdata/models/*.blv")
	more, _ := filepath.Glob("../testdata/models/bolib/*.blv")
	for _, f := range append(files, more...) {
		text, _ := os.ReadFile(f)
		file, errs := parser.ParseFile(diag.NewSource(f, string(text)))
		for _, d := range errs {
			t.Errorf("%v\n   %s\n   %s", d, d.Detail, d.Fix)
		}
		t.Log(f, file.Model != nil && file.Model.Name != "", len(file.Decls))
	}
}
