package diag_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"bilevelc/lang/diag"
)

// at is the span of the n-th occurrence (from 0) of part in the source.
func at(src *diag.Source, part string, n int) diag.Span {
	start := 0
	for ; n > 0; n-- {
		start += strings.Index(src.Text[start:], part) + 1
	}
	start += strings.Index(src.Text[start:], part)
	return diag.Span{Source: src, Start: start, End: start + len(part)}
}

func TestRender(t *testing.T) {
	src := diag.NewSource("m.blv", "model m\nlet\tä = 世界 + x\nlet b = (1 +\n  2 +\n\n  3)\r\nlet c = 4\n")
	long := diag.NewSource("long.blv", strings.Repeat("[1, 2], ", 100)+"oops"+strings.Repeat(", [3, 4]", 100))
	for _, c := range []struct {
		name string
		d    *diag.Diagnostic
		want string
	}{
		{"tabs and wide characters", &diag.Diagnostic{Code: "E0201", Summary: "`x` is not declared", Subject: at(src, "x", 0), Fix: "did you mean `b`?"}, `
error[E0201]: ` + "`x`" + ` is not declared
 --> m.blv:2:14
  |
2 | let ä = 世界 + x
  |                ^
  = fix: did you mean ` + "`b`" + `?
`},
		{"several lines", &diag.Diagnostic{Severity: diag.Warning, Code: "E0700", Summary: "s", Subject: at(src, "(1 +\n  2 +\n\n  3)", 0), Detail: "one\ntwo"}, `
warning[E0700]: s
 --> m.blv:3:9
  |
3 | let b = (1 +
  |         ^^^^
4 |   2 +
  |   ^^^
5 |
6 |   3)
  |   ^^
  = one
    two
`},
		{"related and context", &diag.Diagnostic{Code: "E1", Summary: "s", Subject: at(src, "c", 0), Context: diag.Span{Source: src, Start: 8, End: len(src.Text)},
			Related: []diag.Related{{Span: at(src, "ä", 0), Message: "here"}, {Message: "nowhere"}}}, `
error[E1]: s
 --> m.blv:7:5
  |
2 | let ä = 世界 + x
  | ...
7 | let c = 4
  |     ^
 --> m.blv:2:5
  |
2 | let ä = 世界 + x
  |     - here
  = note: nowhere
`},
		{"no place", &diag.Diagnostic{Code: "E2", Summary: "s"}, "\nerror[E2]: s\n"},
		{"end of text", &diag.Diagnostic{Code: "E3", Summary: "s", Subject: diag.Span{Source: src, Start: len(src.Text), End: len(src.Text)}}, `
error[E3]: s
 --> m.blv:8:1
  |
8 |
  | ^
`},
		{"long line", &diag.Diagnostic{Code: "E4", Summary: "s", Subject: at(long, "oops", 0)}, `
error[E4]: s
 --> long.blv:1:801
  |
1 | ... [1, 2], [1, 2], [1, 2], [1, 2], oops, [3, 4], [3, 4], [3, 4], [3, 4], [3, 4], [3, 4], [3, 4], [3, 4...
  |                                     ^^^^
`},
	} {
		if got := c.d.Text(diag.Style{}); got != strings.TrimPrefix(c.want, "\n") {
			t.Errorf("%s:\n%s\nwant%s", c.name, got, c.want)
		}
	}
}

// TestRenderColor checks that colors change nothing but escapes, and that
// without color none are written.
func TestRenderColor(t *testing.T) {
	src := diag.NewSource("m", "let a = \x1b[31mb\u202e")
	d := &diag.Diagnostic{Code: "E1", Summary: "bad \x1b[2J", Subject: diag.Span{Source: src, Start: 8, End: 10}, Detail: "\x07", Fix: "f"}
	plain := d.Text(diag.Style{})
	if strings.ContainsAny(plain, "\x1b\x07\u202e") {
		t.Errorf("a control character of the source is shown: %q", plain)
	}
	colored := d.Text(diag.Style{Color: true})
	if !strings.Contains(colored, "\x1b[1;31merror[E1]\x1b[0m") {
		t.Errorf("no color: %q", colored)
	}
	var b strings.Builder
	for rest := colored; rest != ""; {
		if i := strings.Index(rest, "\x1b["); i >= 0 {
			b.WriteString(rest[:i])
			rest = rest[i+strings.Index(rest[i:], "m")+1:]
		} else {
			b.WriteString(rest)
			rest = ""
		}
	}
	if b.String() != plain {
		t.Errorf("colors change the text:\n%q\n%q", b.String(), plain)
	}
}

// TestRenderAnything renders random spans over random text: carets never
// exceed the line, and the output is valid text.
func TestRenderAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab \t\n\r世\u0301\x00é+")), 0, 400, -1).Draw(t, "text")
		src := diag.NewSource("s", text)
		start := rapid.IntRange(0, len(text)).Draw(t, "start")
		end := rapid.IntRange(start, len(text)).Draw(t, "end")
		span := diag.Span{Source: src, Start: start, End: end}
		d := &diag.Diagnostic{Code: "E1", Summary: "s", Subject: span, Context: diag.Span{Source: src, End: len(text)},
			Related: []diag.Related{{Span: span, Message: "r"}}}
		out := d.Text(diag.Style{})
		if !utf8.ValidString(out) || strings.Count(out, "-->") != 2 || strings.Count(out, "\n") > 30 {
			t.Fatalf("%q", out)
		}
	})
}

func TestRenderJSON(t *testing.T) {
	src := diag.NewSource("m.blv", "model m\nlet ä = x\n")
	var list diag.List
	d := list.Errorf("E0201", at(src, "x", 0), "`x` is not declared")
	d.Related = []diag.Related{{Span: at(src, "m", 1), Message: "r"}}
	var doc struct {
		Schema      int
		Diagnostics []struct {
			Severity, Code, Summary string
			Place                   struct {
				File       string
				Start, End struct{ Line, Column, Offset int }
			}
			Related []struct{ Message string }
		}
	}
	if err := json.Unmarshal(diag.RenderJSON(list), &doc); err != nil {
		t.Fatal(err)
	}
	got := doc.Diagnostics[0]
	if doc.Schema != 1 || got.Severity != "error" || got.Code != "E0201" || got.Place.File != "m.blv" ||
		got.Place.Start.Line != 2 || got.Place.Start.Column != 9 || got.Place.Start.Offset != 17 ||
		got.Place.End.Column != 10 || got.Related[0].Message != "r" {
		t.Errorf("%s", diag.RenderJSON(list))
	}
	if string(diag.RenderJSON(nil)) != "{\n  \"schema\": 1,\n  \"diagnostics\": []\n}\n" {
		t.Errorf("%s", diag.RenderJSON(nil))
	}
}

func TestSuggest(t *testing.T) {
	for _, c := range []struct {
		name, want string
		from       []string
	}{
		{"minmize", "minimize", []string{"maximize", "minimize"}},
		{"sumqs", "sumsq", []string{"sum", "sumsq"}},
		{"Weight", "weight", []string{"goal", "weight"}},
		{"vec", "vector", []string{"real", "vector"}},
		{"ab", "", []string{"xy", "abcd"}},
		{"x", "", []string{"y", "z"}},
		{"zzz", "", []string{"weight"}},
		{"größe", "grösse", []string{"grösse"}},
		{"a", "", nil},
	} {
		if got := diag.Suggest(c.name, c.from); got != c.want {
			t.Errorf("Suggest(%q, %v) = %q, want %q", c.name, c.from, got, c.want)
		}
	}
}
