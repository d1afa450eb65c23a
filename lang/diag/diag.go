// Package diag holds what every stage of the compiler reports with: sources,
// spans in them, and diagnostics with a stable code. It imports nothing of
// this project; rendering (text and JSON) lives beside the types, apart from
// the stages that make the diagnostics.
package diag

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"bilevelc/internal/each"
)

// Source is one named text: a model file, a piece of the standard library, a
// line typed in the REPL, or a data file.
type Source struct {
	Name  string // as the user gave it; "-" for standard input
	Text  string
	lines []int // byte offset of the start of each line
	runes []int // byte offset of every runeStep-th code point
}

// runeStep is how many code points are counted for one place at most.
const runeStep = 1024

// NewSource indexes text by line.
func NewSource(name, text string) *Source {
	s := &Source{Name: name, Text: text, lines: make([]int, 1, 1+strings.Count(text, "\n"))}
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	count := 0
	for i := range text {
		if count%runeStep == 0 {
			s.runes = append(s.runes, i)
		}
		count++
	}
	return s
}

// Pos is a place in a source: byte offset from 0, line and column from 1
// (columns count Unicode code points).
type Pos struct{ Offset, Line, Column int }

// Pos returns the place of a byte offset, clamped to the text.
func (s *Source) Pos(offset int) Pos {
	offset = min(max(offset, 0), len(s.Text))
	line := sort.SearchInts(s.lines, offset+1) - 1
	return Pos{Offset: offset, Line: line + 1, Column: s.codePoints(offset) - s.codePoints(s.lines[line]) + 1}
}

// codePoints is the number of code points before a byte offset.
func (s *Source) codePoints(offset int) int {
	k := sort.SearchInts(s.runes, offset+1) - 1
	if k < 0 {
		return 0 // an empty text
	}
	return k*runeStep + utf8.RuneCountInString(s.Text[s.runes[k]:offset])
}

// Line returns the text of line n (from 1) without its end of line.
func (s *Source) Line(n int) string {
	if n < 1 || n > len(s.lines) {
		return ""
	}
	end := len(s.Text)
	if n < len(s.lines) {
		end = s.lines[n] - 1
	}
	return strings.TrimSuffix(s.Text[s.lines[n-1]:end], "\r")
}

// Span is the half-open byte range [Start, End) of a source. The zero Span is
// "nowhere".
type Span struct {
	Source     *Source
	Start, End int
}

// IsZero reports whether the span points nowhere.
func (s Span) IsZero() bool { return s.Source == nil }

// Text is the part of the source that the span covers.
func (s Span) Text() string {
	if s.Source == nil || s.Start > s.End || s.End > len(s.Source.Text) {
		return ""
	}
	return s.Source.Text[s.Start:s.End]
}

// To returns the span from the start of s to the end of t.
func (s Span) To(t Span) Span {
	if s.IsZero() {
		return t
	}
	if t.IsZero() {
		return s
	}
	return Span{Source: s.Source, Start: min(s.Start, t.Start), End: max(s.End, t.End)}
}

// String is "file:line:column".
func (s Span) String() string {
	if s.Source == nil {
		return "?"
	}
	p := s.Source.Pos(s.Start)
	return fmt.Sprintf("%s:%d:%d", s.Source.Name, p.Line, p.Column)
}

// Severity orders diagnostics: an error stops the compilation, a warning is
// an error under --strict, a note explains.
type Severity uint8

// The severities.
const (
	Error Severity = iota
	Warning
	Note
)

func (s Severity) String() string {
	return [...]string{"error", "warning", "note"}[s]
}

// Related is a second place that helps to understand a diagnostic.
type Related struct {
	Span    Span
	Message string
}

// Diagnostic is one finding. Subject is the tight part that is at fault,
// Context (optional) a wider part to show around it.
type Diagnostic struct {
	Severity Severity
	Code     Code
	Summary  string // one line, in the user's own names
	Detail   string // expected and found, why; may be several lines
	Fix      string // "did you mean ...?", or what to write instead; may be empty
	Subject  Span
	Context  Span
	Related  []Related
}

func (d *Diagnostic) Error() string {
	return Shown(fmt.Sprintf("%s: %s[%s]: %s", d.Subject, d.Severity, d.Code, d.Summary))
}

// Is reports that target is the diagnostic's code.
func (d *Diagnostic) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == d.Code
}

// List collects the diagnostics of a run. It is an error when it holds one.
type List []*Diagnostic

// Add appends a diagnostic.
func (l *List) Add(d *Diagnostic) { *l = append(*l, d) }

// Errorf appends an error with a summary and returns it, so that the caller
// can add detail, fix or related places.
func (l *List) Errorf(code Code, at Span, format string, args ...any) *Diagnostic {
	d := New(code, at, format, args...)
	l.Add(d)
	return d
}

// New is an error with a summary, which is in no list yet.
func New(code Code, at Span, format string, args ...any) *Diagnostic {
	return &Diagnostic{Severity: Error, Code: code, Subject: at, Summary: fmt.Sprintf(format, args...)}
}

// Warnf is Errorf for a warning.
func (l *List) Warnf(code Code, at Span, format string, args ...any) *Diagnostic {
	d := l.Errorf(code, at, format, args...)
	d.Severity = Warning
	return d
}

// Has reports whether one of the diagnostics has a code.
func (l List) Has(code Code) bool {
	return slices.ContainsFunc(l, func(d *Diagnostic) bool { return d.Code == code })
}

// HasErrors reports whether any diagnostic is an error.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d *Diagnostic) bool { return d.Severity == Error })
}

// Err returns the list as an error where it holds one, and nil otherwise.
func (l List) Err() error {
	if l.HasErrors() {
		return l
	}
	return nil
}

// Unwrap are the errors of the list, for errors.As and errors.Is.
func (l List) Unwrap() []error {
	errors := each.Where(l, func(d *Diagnostic) bool { return d.Severity == Error })
	return each.Of(errors, func(d *Diagnostic) error { return d })
}

// Error lists the diagnostics, one a line, without source lines.
func (l List) Error() string {
	return Join(l, "\n", (*Diagnostic).Error)
}

// Sort orders by source and place, errors of one place before warnings.
func (l List) Sort() {
	slices.SortStableFunc(l, func(a, b *Diagnostic) int {
		if a.Subject.Source != b.Subject.Source {
			return cmp.Compare(name(a.Subject.Source), name(b.Subject.Source))
		}
		return cmp.Or(cmp.Compare(a.Subject.Start, b.Subject.Start), cmp.Compare(a.Severity, b.Severity))
	})
}

func name(s *Source) string {
	if s == nil {
		return ""
	}
	return s.Name
}

// First is the list with at most n errors, n warnings and n notes, in their order,
// and after each kind's last a note of how many more there are.
func (l List) First(n int) List {
	var out List
	seen := map[Severity]int{}
	for _, d := range l {
		if seen[d.Severity]++; seen[d.Severity] <= n {
			out = append(out, d)
		}
	}
	for _, s := range []Severity{Error, Warning, Note} {
		if more := seen[s] - n; more > 0 {
			out = append(out, &Diagnostic{Severity: Note, Summary: fmt.Sprintf("%d more of the kind %s are not shown", more, s)})
		}
	}
	return out
}

// Plural is what ends a word that counts n things.
func Plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// Count is n things in words: "1 entry", "3 entries".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Join is the words of a list, with a separator between them.
func Join[T any](list []T, separator string, word func(T) string) string {
	return strings.Join(each.Of(list, word), separator)
}
