package check_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bilevelc/lang/diag"
)

// want is a comment of a bad model: the line has an error of that code whose
// message (summary and detail) matches the pattern.
//
//	let a = b // want E0201 "`b` is not declared"
var want = regexp.MustCompile(`want (E\d{4}) "([^"]*)"`)

type expectation struct {
	line    int
	code    diag.Code
	pattern *regexp.Regexp
	met     bool
}

// Each bad model of testdata gives exactly the errors that its comments say.
func TestBadModels(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.blv")
	if err != nil || len(paths) == 0 {
		t.Fatal("no bad models")
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			expected := expectations(t, string(text))
			_, diags := checkFile(t, path)
			for _, d := range diags {
				if !meet(expected, d) {
					t.Errorf("not expected: %v\n\t%s", d, d.Detail)
				}
			}
			for _, e := range expected {
				if !e.met {
					t.Errorf("%s:%d: %s %q is missing", path, e.line, e.code, e.pattern)
				}
			}
		})
	}
}

func expectations(t *testing.T, text string) []*expectation {
	var out []*expectation
	for i, line := range strings.Split(text, "\n") {
		for _, m := range want.FindAllStringSubmatch(line, -1) {
			p, err := regexp.Compile(m[2])
			if err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
			out = append(out, &expectation{line: i + 1, code: diag.Code(m[1]), pattern: p})
		}
	}
	return out
}

func meet(expected []*expectation, d *diag.Diagnostic) bool {
	line := d.Subject.Source.Pos(d.Subject.Start).Line
	for _, e := range expected {
		if !e.met && e.line == line && e.code == d.Code && e.pattern.MatchString(d.Summary+"\n"+d.Detail) {
			e.met = true
			return true
		}
	}
	return false
}
