package parser_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"bilevelc/lang"
	"bilevelc/lang/diag"
	"bilevelc/parser"
)

// wantMark is an expected error on its line: a code, a pattern for the summary
// and optionally one for the fix.
var wantMark = regexp.MustCompile(`// want (E\d+) "((?:[^"\\]|\\.)*)"(?: fix "((?:[^"\\]|\\.)*)")?`)

// TestErrors checks the models in testdata/bad against the errors that their
// comments announce: each must be reported on its line, and nothing else.
func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.blv")
	if err != nil || len(files) == 0 {
		t.Fatal("no bad models", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { checkErrors(t, file) })
	}
}

func checkErrors(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	src := diag.NewSource(file, string(text))
	_, errs := parser.ParseFile(src)
	byLine := map[int][]*diag.Diagnostic{}
	for _, d := range errs {
		line := src.Pos(d.Subject.Start).Line
		byLine[line] = append(byLine[line], d)
	}
	for i, line := range strings.Split(string(text), "\n") {
		for _, m := range wantMark.FindAllStringSubmatch(line, -1) {
			if !takeMatch(byLine, i+1, m) {
				t.Errorf("%s:%d: no error %s %q (fix %q)", file, i+1, m[1], m[2], m[3])
			}
		}
	}
	for _, rest := range byLine {
		for _, d := range rest {
			t.Errorf("unexpected: %v (fix %q)", d, d.Fix)
		}
	}
}

func takeMatch(byLine map[int][]*diag.Diagnostic, line int, m []string) bool {
	unquote := strings.NewReplacer(`\"`, `"`)
	for i, d := range byLine[line] {
		if string(d.Code) == m[1] && regexp.MustCompile(unquote.Replace(m[2])).MatchString(d.Summary) &&
			regexp.MustCompile(unquote.Replace(m[3])).MatchString(d.Fix) {
			byLine[line] = append(byLine[line][:i:i], byLine[line][i+1:]...)
			return true
		}
	}
	return false
}

// TestRecovery checks that a statement with an error keeps its name, so that
// its uses are not reported as unknown, and that its neighbours are whole.
func TestRecovery(t *testing.T) {
	file, errs := parser.ParseFile(diag.NewSource("t", `model m
let a = 1 +* 2
param n: int = ]
data c: vector[n = [1, 2]
fn f(x, y) = x ** * y
let b = 3
upper {
  var x: vector[] in box(0, 1)
  minimize ,
  subject to
    one: x >= 0
    two: x >=
    three: x <= 3
}
`))
	if len(errs) != 7 {
		t.Errorf("%d errors, want 7:\n%v", len(errs), errs)
	}
	var got []string
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *lang.Let:
			got = append(got, "let "+d.Name.Name)
		case *lang.Param:
			got = append(got, "param "+d.Name.Name)
		case *lang.Data:
			got = append(got, "data "+d.Name.Name)
		case *lang.Fn:
			got = append(got, "fn "+d.Name.Name+" "+strconv.Itoa(len(d.Params)))
		case *lang.Level:
			for _, item := range d.Items {
				switch item := item.(type) {
				case *lang.Var:
					got = append(got, "var "+item.Name.Name+" "+item.Type.Kind.String())
				case *lang.Objective:
					if _, bad := item.Value.(*lang.Bad); bad {
						got = append(got, "objective bad")
					}
				case *lang.SubjectTo:
					for _, c := range item.Constraints {
						got = append(got, "constraint "+c.Name.Name)
					}
				}
			}
		}
	}
	want := "let a, param n, data c, fn f 2, let b, var x ?, objective bad, constraint one, constraint three"
	if strings.Join(got, ", ") != want {
		t.Errorf("kept  %s\nwant  %s", strings.Join(got, ", "), want)
	}
}
