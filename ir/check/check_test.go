package check_test

import (
	"os"
	"path/filepath"
	"testing"

	"bilevelc/ir"
	"bilevelc/ir/check"
	"bilevelc/lang/diag"
	"bilevelc/parser"
)

func checkFile(t *testing.T, path string) (*ir.Program, diag.List) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return checkText(t, path, string(text))
}

func checkText(t *testing.T, name, text string) (*ir.Program, diag.List) {
	t.Helper()
	file, diags := parser.ParseFile(diag.NewSource(name, text))
	if len(diags) > 0 {
		t.Fatalf("%s does not parse:\n%v", name, diags)
	}
	return check.Check(file)
}

// Every binding model checks without a word, but for the one whose upper
// constraints read y.
func TestModels(t *testing.T) {
	for _, pattern := range []string{"../../testdata/models/*.blv", "../../testdata/models/bolib/*.blv"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("no models at %s", pattern)
		}
		for _, path := range paths {
			t.Run(filepath.Base(path), func(t *testing.T) {
				_, diags := checkFile(t, path)
				if filepath.Base(path) == "GumusFloudas2001Ex4.blv" {
					return // TestCoupledModel
				}
				if len(diags) > 0 {
					t.Error(diags)
				}
			})
		}
	}
}
