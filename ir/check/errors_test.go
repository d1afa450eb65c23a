package check_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bilevelc/ir/check"
	"bilevelc/lang/diag"
	"bilevelc/parser"
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

// What `end` means elsewhere is written as the size, wherever it stands.
func TestLastIndex(t *testing.T) {
	for text, want := range map[string]string{
		"x(end)": "did you mean `x[n]`?", "x[end]": "write `n`", "sum(x[1..end])": "write `n`", "A[1, end]": "write `(n + 1)`",
		"A(end - 1, 2 * end)": "did you mean `A[n - 1, 2 * (n + 1)]`?", "w(end)": "an entry is written in square brackets, with the number or the label of the last one",
	} {
		_, diags := checkText(t, "last.blv", fmt.Sprintf(`model last
set city = {"Rome", "Oslo"}
param n: int = 3
data A: matrix[n, n + 1]
data w: [city]
upper {
  var x: vector[n] in box(0, 5)
  minimize %s * sum(x) + A[1, 1] + w["Rome"] + y
}
lower {
  var y: real
  minimize (y - x[1])^2
}
`, text))
		if len(diags) != 1 || diags[0].Fix != want {
			t.Errorf("%s: %v, want the one fix %q", text, diags, want)
		}
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

// What a model lacks whose last block is never closed may be what is still to come.
func TestBlockThatIsNeverClosed(t *testing.T) {
	for _, text := range []string{"model a\nupper {\n", "model a\nupper {\n  var x: real\n", "model a\nupper { var x: real; minimize x + y }\nlower {\n  var y: real\n"} {
		file, _ := parser.ParseFile(diag.NewSource("open.blv", text))
		_, diags := check.Check(file)
		for _, d := range diags {
			if d.Code == diag.NoLevel || d.Code == diag.NoObjective || d.Code == diag.NoVariable {
				t.Errorf("%q: %v", text, d)
			}
		}
	}
}
