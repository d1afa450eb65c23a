package diag

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Style says how diagnostics are shown as text.
type Style struct {
	Color bool // ANSI colors
}

// Render writes the diagnostics in the order of the list, each with its source
// lines and the faulty part underlined:
//
//	error[E0107]: a constraint says that two sides are equal with `==`, not `=`
//	  --> quota.blv:19:20
//	   |
//	19 |     budget: sum(y) = 10
//	   |                    ^
//	   = fix: write `==`
//
// Control characters of the source are shown as U+FFFD, so that no text can
// act on the terminal. It returns the first error of w.
func Render(w io.Writer, list List, style Style) error {
	_, err := io.WriteString(w, Join(list, "\n", func(d *Diagnostic) string { return d.Text(style) }))
	return err
}

// Text is one diagnostic as Render writes it, with its last newline.
func (d *Diagnostic) Text(style Style) string {
	p := &printer{style: style, gutter: d.gutter()}
	paint := p.severity(d.Severity)
	head := d.Severity.String()
	if d.Code != "" {
		head += "[" + string(d.Code) + "]"
	}
	p.line(paint(head) + p.bold(": "+Shown(d.Summary)))
	if !d.Subject.IsZero() {
		p.place(d.Subject)
		p.snippet(d.Subject, d.Context, '^', "", paint)
	}
	for _, r := range d.Related {
		if r.Span.IsZero() {
			p.note("note", r.Message)
			continue
		}
		p.place(r.Span)
		p.snippet(r.Span, Span{}, '-', r.Message, p.blue)
	}
	if d.Detail != "" {
		p.note("", d.Detail)
	}
	if d.Fix != "" {
		p.note("fix", d.Fix)
	}
	return p.out.String()
}

// gutter is the width of the largest line number that the diagnostic shows.
func (d *Diagnostic) gutter() int {
	last := 1
	for _, r := range append(d.Related[:len(d.Related):len(d.Related)], Related{Span: d.Subject}) {
		if s := r.Span; !s.IsZero() {
			last = max(last, s.Source.Pos(lastOffset(s)).Line)
		}
	}
	return len(strconv.Itoa(last))
}

// lastOffset is the offset of the span's last byte (its start where empty).
func lastOffset(s Span) int { return max(s.Start, s.End-1) }

// printer gathers the text of one diagnostic.
type printer struct {
	out    strings.Builder
	style  Style
	gutter int
}

func (p *printer) paint(code, text string) string {
	if !p.style.Color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p *printer) bold(text string) string { return p.paint("1", text) }
func (p *printer) blue(text string) string { return p.paint("1;34", text) }

func (p *printer) severity(s Severity) func(string) string {
	code := map[Severity]string{Error: "1;31", Warning: "1;33", Note: "1;36"}[s]
	return func(text string) string { return p.paint(code, text) }
}

func (p *printer) line(text string) {
	p.out.WriteString(strings.TrimRight(text, " "))
	p.out.WriteByte('\n')
}

func (p *printer) place(s Span) {
	p.line(strings.Repeat(" ", p.gutter) + p.blue("--> ") + Shown(s.String()))
}

// note writes `= label: text`, wrapped, further lines below its first.
func (p *printer) note(label, text string) {
	lead := strings.Repeat(" ", p.gutter+1) + p.blue("=") + " "
	indent := strings.Repeat(" ", p.gutter+3)
	if label != "" {
		lead += p.bold(label+":") + " "
		indent += strings.Repeat(" ", len(label)+2)
	}
	for _, l := range strings.Split(text, "\n") {
		for _, part := range wrap(Shown(l), maxColumns-len(indent)) {
			p.line(lead + part)
			lead = indent
		}
	}
}

// wrap breaks text at spaces into lines of at most width cells; a longer word
// stands alone. Leading spaces, of a table or of model text, are kept.
func wrap(text string, width int) []string {
	lines := []string{}
	line, used := "", 0
	for i, word := range strings.SplitAfter(text, " ") {
		if i > 0 && used+len(strings.TrimRight(word, " ")) > width && strings.TrimSpace(line) != "" {
			lines = append(lines, line)
			line, used = "", 0
		}
		line += word
		for _, r := range word {
			used += cells(r)
		}
	}
	return append(lines, line)
}

// maxSnippetLines is how many lines of a long subject are shown.
const maxSnippetLines = 6

// snippet shows the lines of s with its part underlined, below the first line
// of context where that starts above.
func (p *printer) snippet(s, context Span, mark byte, label string, paint func(string) string) {
	src := s.Source
	first, last := src.Pos(s.Start), src.Pos(lastOffset(s))
	p.bar("", "")
	if context.Source == src && !context.IsZero() {
		if top := src.Pos(context.Start).Line; top < first.Line {
			p.bar(strconv.Itoa(top), layoutLine(src.Line(top), 0, 0).text)
			if top+1 < first.Line {
				p.bar("", "...")
			}
		}
	}
	for n := first.Line; n <= last.Line; n++ {
		if skipped := last.Line - first.Line + 1 - maxSnippetLines; skipped > 1 && n == first.Line+maxSnippetLines-2 {
			p.bar("", fmt.Sprintf("... (%d more lines)", skipped+1))
			n = last.Line - 1
			continue
		}
		text := src.Line(n)
		start := src.lines[n-1]
		from, to := min(max(s.Start-start, 0), len(text)), min(s.End-start, len(text))
		if n > first.Line {
			from = len(text) - len(strings.TrimLeft(text, " \t"))
		}
		if n < last.Line {
			to = len(strings.TrimRight(text, " \t"))
		}
		l := layoutLine(text, from, to)
		p.bar(strconv.Itoa(n), l.text)
		if n > first.Line && to <= from {
			continue // a blank line inside the subject
		}
		under := strings.Repeat(" ", l.from) + paint(strings.Repeat(string(mark), max(1, l.to-l.from)))
		if n == last.Line && label != "" {
			under += " " + paint(Shown(label))
		}
		p.bar("", under)
	}
}

// bar writes a gutter with a line number (or none), a bar, and text.
func (p *printer) bar(number, text string) {
	pad := strings.Repeat(" ", p.gutter-len(number))
	if text != "" {
		text = " " + text
	}
	p.line(p.blue(pad+number+" |") + text)
}
