package check_test

import (
	"strings"
	"testing"

	"bilevelc/ir/check"
	"bilevelc/lang/diag"
	"bilevelc/parser"
)

// The example of every code of this package fails with that code, and with
// that code alone, so that it explains one thing.
func TestExamples(t *testing.T) {
	n := 0
	for _, e := range diag.Codes() {
		if e.Stage != diag.CheckStage {
			continue
		}
		n++
		t.Run(string(e.Code), func(t *testing.T) {
			if e.Title == "" || e.Explanation == "" {
				t.Error("no title or explanation")
			}
			file, diags := parser.ParseFile(diag.NewSource("example.blv", e.Example))
			if len(diags) > 0 {
				t.Fatalf("does not parse: %v", diags)
			}
			_, diags = check.Check(file)
			if len(diags) == 0 {
				t.Fatal("nothing is reported")
			}
			for _, d := range diags {
				if d.Code != e.Code {
					t.Errorf("reports %v", d)
				}
				if d.Subject.IsZero() || strings.Contains(d.Summary, "%!") || strings.Contains(d.Detail, "%!") {
					t.Errorf("badly made: %+v", d)
				}
			}
		})
	}
	if n < 40 {
		t.Errorf("only %d codes", n)
	}
}
