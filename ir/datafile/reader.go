package datafile

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"bilevelc/ir/data"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// maxErrors is how many errors of one file are shown one by one; the rest are
// counted. A file of words in place of numbers would fill the screen.
const maxErrors = 10

// reader is one file being read: its text, the arrays so far, and what was
// wrong.
type reader struct {
	file   string
	text   string
	set    *data.Set
	source *diag.Source // made at the first located error
	diags  diag.List
	errors int // all of them, shown or not
}

// errorAt reports an error at the bytes [start, end) of the text.
func (r *reader) errorAt(code diag.Code, start, end int, format string, args ...any) *diag.Diagnostic {
	return r.report(code, r.span(start, end), format, args...)
}

// errorIn reports an error of a file that has no lines; the summary starts
// with the file's name.
func (r *reader) errorIn(code diag.Code, format string, args ...any) *diag.Diagnostic {
	return r.report(code, diag.Span{}, "%s: %s", r.file, fmt.Sprintf(format, args...))
}

// has says what a file holds in place of what was looked for.
func has(names []string) string {
	if len(names) == 0 {
		return "it has none"
	}
	return "it has " + strings.Join(names, ", ")
}

func (r *reader) report(code diag.Code, at diag.Span, format string, args ...any) *diag.Diagnostic {
	r.errors++
	if r.errors > maxErrors {
		return &diag.Diagnostic{}
	}
	return r.diags.Errorf(code, at, format, args...)
}

func (r *reader) span(start, end int) diag.Span {
	if r.source == nil {
		r.source = diag.NewSource(r.file, r.text)
	}
	return diag.Span{Source: r.source, Start: start, End: end}
}

// isText reports a text that is not UTF-8: its labels would not come back from a result.
func (r *reader) isText(code diag.Code) bool {
	var d *diag.Diagnostic
	switch at := invalid(r.text); {
	case strings.HasPrefix(r.text, "\xff\xfe"), strings.HasPrefix(r.text, "\xfe\xff"), strings.Contains(r.text, "\x00"):
		d = r.errorIn(code, "the text is not UTF-8: it may be UTF-16")
	case at >= 0:
		d = r.errorAt(code, at, at+1, "the text is not UTF-8: here is the byte %#x", r.text[at])
		d.Detail = "the file may be in Latin-1 or another code page"
	default:
		return true
	}
	d.Fix = "save it as UTF-8"
	return false
}

// invalid is the first place of a text where it is not UTF-8; -1 for none.
func invalid(text string) int {
	if utf8.ValidString(text) {
		return -1
	}
	for i, c := range text {
		if c == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)) {
			return i
		}
	}
	return -1
}

// named reports whether a file's stem can name the array that it holds.
func (r *reader) named(stem string) bool {
	if !lang.IsName(stem) {
		r.errorIn(diag.DataNoName, "the file holds one array, and its name does not say which").Fix = fmt.Sprintf("write --data NAME=%s", r.file)
		return false
	}
	return true
}

// one binds a file of a single array under name, or under the file's stem.
func (r *reader) one(name string, read func(name string) *data.Array) {
	if name == "" {
		if name = stem(r.file); !r.named(name) {
			return
		}
	}
	if a := read(name); a != nil && r.errors == 0 {
		r.set.Add(name, a, r.file)
	}
}

func (r *reader) finish() (*data.Set, diag.List) {
	if rest := r.errors - maxErrors; rest > 0 {
		r.diags.Add(&diag.Diagnostic{Severity: diag.Note, Code: r.diags[len(r.diags)-1].Code,
			Summary: fmt.Sprintf("%s: %d more errors are not shown", r.file, rest)})
	}
	if r.errors > 0 {
		return &data.Set{}, r.diags
	}
	return r.set, r.diags
}

// entry is a place in an array, from 0; -1 where a dimension is absent.
type entry struct {
	name     string
	row, col int
}

// String is the place as a model would write it: "n", "c[3]", "P[2, 5]".
func (e entry) String() string {
	switch {
	case e.row < 0:
		return e.name
	case e.col < 0:
		return fmt.Sprintf("%s[%d]", e.name, e.row+1)
	}
	return fmt.Sprintf("%s[%d, %d]", e.name, e.row+1, e.col+1)
}
