package diag_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bilevelc/lang/diag"
)

// TestEveryCodeIsExplained looks for codes in the sources of the project:
// each must have an entry, so that `bilevelc explain` knows it.
func TestEveryCodeIsExplained(t *testing.T) {
	quoted := regexp.MustCompile(`"(E0\d{3})"`)
	used := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range quoted.FindAllStringSubmatch(string(text), -1) {
			used++
			if _, ok := diag.Lookup(diag.Code(m[1])); !ok {
				t.Errorf("%s uses %s, which has no entry", path, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if used < 50 {
		t.Errorf("only %d codes found", used)
	}
}
