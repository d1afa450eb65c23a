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

var (
	declared = regexp.MustCompile(`(?m)^\t(\w+)\s+= code\("(E\d{4})"`)
	raised   = regexp.MustCompile(`\bdiag\.([A-Z]\w*)`)
	literal  = regexp.MustCompile(`"E0\d{3}"`)
)

// TestTable: every code is in order and explained, with an example; every text
// belongs to a code.
func TestTable(t *testing.T) {
	all := diag.Codes()
	for i, e := range all {
		if i > 0 && all[i-1].Code >= e.Code {
			t.Errorf("%s is out of order", e.Code)
		}
		if !literal.MatchString(`"` + string(e.Code) + `"`) {
			t.Errorf("%q is not like the other codes", e.Code)
		}
		if e.Title == "" || e.Explanation == "" || e.Example == "" {
			t.Errorf("%s has no title, explanation or example", e.Code)
		}
	}
	texts, err := filepath.Glob("codes/*")
	if err != nil || len(texts) != len(all) {
		t.Errorf("%d codes, but %d texts (%v)", len(all), len(texts), err)
	}
	if _, ok := diag.Lookup("E9999"); ok {
		t.Error("an unknown code is found")
	}
}

// TestCodesAreRaised: the sources name codes by the table's names, never by
// their numbers, and there is no code that nothing raises.
func TestCodesAreRaised(t *testing.T) {
	table, err := os.ReadFile("codes.go")
	if err != nil {
		t.Fatal(err)
	}
	unused := map[string]string{}
	for _, m := range declared.FindAllStringSubmatch(string(table), -1) {
		unused[m[1]] = m[2]
	}
	if len(unused) != len(diag.Codes()) {
		t.Fatalf("%d of %d codes found in the table", len(unused), len(diag.Codes()))
	}
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			filepath.Dir(path) == "../../lang/diag" || strings.Contains(path, "/bench/") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if m := literal.Find(text); m != nil {
			t.Errorf("%s writes the code %s out: its name is in lang/diag/codes.go", path, m)
		}
		for _, m := range raised.FindAllStringSubmatch(string(text), -1) {
			delete(unused, m[1])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, code := range unused {
		t.Errorf("nothing raises %s (%s)", code, name)
	}
}

// TestClass: of several faults the model's count first, then the data's;
// warnings do not count.
func TestClass(t *testing.T) {
	for _, c := range []struct {
		codes []diag.Code
		warn  diag.Code
		want  diag.Class
		ok    bool
	}{
		{warn: diag.UnknownName},
		{codes: []diag.Code{diag.BindEmptySet}, want: diag.InfeasibleClass, ok: true},
		{codes: []diag.Code{diag.BindEmptySet, diag.BindNoData}, warn: diag.Unused, want: diag.DataClass, ok: true},
		{codes: []diag.Code{diag.BindNoData, diag.UnknownName, diag.RunUnbounded}, want: diag.ModelClass, ok: true},
		{codes: []diag.Code{diag.RunNotFinite}, want: diag.NumericalClass, ok: true},
	} {
		var list diag.List
		for _, code := range c.codes {
			list.Errorf(code, diag.Span{}, "s")
		}
		if c.warn != "" {
			list.Warnf(c.warn, diag.Span{}, "s")
		}
		if got, ok := list.Class(); got != c.want || ok != c.ok {
			t.Errorf("%v: %v, %v; want %v, %v", c.codes, got, ok, c.want, c.ok)
		}
	}
}
