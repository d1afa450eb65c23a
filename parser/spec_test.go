package parser_test

import (
	"os"
	"regexp"
	"testing"

	"bilevelc/lang"
	"bilevelc/lang/diag"
	"bilevelc/parser"
)

var fence = regexp.MustCompile("(?ms)^```(blv[a-z-]*)(?: (E\\d+))?\n(.*?)^```$")

// TestSpecExamples parses every example of the language reference; those that
// are models are in canonical form, but for one-line blocks.
func TestSpecExamples(t *testing.T) {
	text, err := os.ReadFile("../lang/spec.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
		kind, code, example := m[1], m[2], m[3]
		found[kind]++
		src := diag.NewSource("spec.md", example)
		switch kind {
		case "blv":
			file := mustParse(t, src)
			if file.Model == nil {
				t.Errorf("an example has no model line:\n%s", example)
			}
			checkFormat(t, src)
		case "blv-fragment":
			if _, errs := parser.ParseREPL(src); len(errs) > 0 {
				t.Errorf("%v\n%s", errs, example)
			}
		case "blv-error":
			_, errs := parser.ParseFile(src)
			syntax := false
			for _, d := range errs {
				syntax = syntax || string(d.Code) == code
			}
			e, known := diag.Lookup(diag.Code(code))
			if !known || (e.Stage == diag.SyntaxStage) != syntax {
				t.Errorf("%s: %v\n%s", code, errs, example)
			}
		default:
			t.Errorf("unknown kind of example %q", kind)
		}
	}
	if found["blv"] < 9 || found["blv-fragment"] < 3 || found["blv-error"] < 3 {
		t.Errorf("examples found: %v", found)
	}
}

// TestSpecCanonical checks that the reference keeps its word on its own form.
func TestSpecCanonical(t *testing.T) {
	text, err := os.ReadFile("../lang/spec.md")
	if err != nil {
		t.Fatal(err)
	}
	oneLine := regexp.MustCompile(`(?m)^\w+ \{.*\}$`)
	for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
		if m[1] != "blv" || oneLine.MatchString(m[3]) {
			continue
		}
		if got := lang.Format(mustParse(t, diag.NewSource("spec.md", m[3]))); got != m[3] {
			t.Errorf("not canonical:\n%s\nwant\n%s", m[3], got)
		}
	}
}

// TestSpecNamesWords checks that the reference lists the reserved words.
func TestSpecNamesWords(t *testing.T) {
	text, err := os.ReadFile("../lang/spec.md")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^    model .*\n.*$`).FindString(string(text))
	words := regexp.MustCompile(`\w+`).FindAllString(list, -1)
	want := map[string]bool{}
	for _, w := range parser.Keywords() {
		want[w] = true
	}
	for _, w := range words {
		if !want[w] {
			t.Errorf("%q is not reserved", w)
		}
		delete(want, w)
	}
	for w := range want {
		t.Errorf("%q is missing from the list", w)
	}
}
