package lang

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// Format prints a file in its one canonical form:
//
//   - one statement a line, two spaces of indentation inside a block;
//   - one space around infix operators but `^`, none inside brackets;
//   - line breaks inside an expression stay where the author put them, and the
//     lines that follow are aligned with the start of the expression or with
//     the innermost open bracket;
//   - comments stay; those behind code on neighbouring lines are aligned;
//   - blank lines between statements stay, no more than one in a row.
//
// Format is idempotent, and parsing its result gives the same tree. The file
// must have been parsed without errors; a tree that was built by hand (zero
// spans) is printed as well, with brackets where it needs them.
func Format(f *File) string {
	p := &printer{comments: f.Comments}
	if f.Source != nil {
		p.text = f.Source.Text
	}
	if f.Model != nil {
		start := f.Model.Place.Start
		if i := strings.LastIndex(p.text[:min(start, len(p.text))], "model"); i >= 0 {
			start = i
		}
		p.lead(start)
		p.word("model " + f.Model.Name)
		p.end(f.Model.Place.End)
	}
	for _, d := range f.Decls {
		p.decl(d)
	}
	p.lead(len(p.text) + 1)
	return p.render()
}

// FormatExpr prints one expression on one line.
func FormatExpr(x Expr) string {
	p := &printer{}
	p.expr(x, OrLevel)
	p.flush()
	return strings.TrimSpace(p.render())
}

// outLine is one line of output, with the comment behind its code.
type outLine struct{ code, comment string }

// align is where continued lines start: inside a bracket or expression, and
// for the bracket that closes it.
type align struct{ inside, closing int }

// printer writes statements token by token. It follows the source along: at
// each gap between tokens where a newline may stand it looks at what the
// author had there, and keeps newlines and comments.
type printer struct {
	text     string    // the source, "" for a tree without one
	comments []Comment // that are not yet printed
	lines    []outLine
	code     strings.Builder // the current line
	column   int             // its width in code points
	indent   int             // of statements
	lineIn   int             // indentation of the current line
	aligns   []align         // what continued lines are aligned with, innermost last
	brackets int             // open brackets in the current statement
	last     string          // the last word or operator written
	done     int             // source offset up to which everything is printed
	began    bool            // something has been printed in this block
}

// render joins the lines, with comments behind code aligned in groups of
// neighbouring lines.
func (p *printer) render() string {
	var b strings.Builder
	for i := 0; i < len(p.lines); {
		j, width := i, 0
		for ; j < len(p.lines) && p.lines[j].comment != ""; j++ {
			width = max(width, utf8.RuneCountInString(p.lines[j].code))
		}
		for ; i < j; i++ {
			l := p.lines[i]
			pad := width - utf8.RuneCountInString(l.code) + 2
			b.WriteString(l.code + strings.Repeat(" ", pad) + l.comment + "\n")
		}
		if i < len(p.lines) {
			b.WriteString(p.lines[i].code + "\n")
			i++
		}
	}
	return b.String()
}

// flush ends the current line.
func (p *printer) flush() {
	if p.code.Len() > 0 {
		p.lines = append(p.lines, outLine{code: strings.TrimRight(p.code.String(), " ")})
		p.code.Reset()
	}
	p.column = 0
}

// newline ends the current line and starts one with the given indentation.
func (p *printer) newline(indent int) {
	p.flush()
	p.lineIn = indent
	p.code.WriteString(strings.Repeat(" ", indent))
	p.column = indent
}

// word writes text as it is.
func (p *printer) word(text string) {
	if p.code.Len() == 0 {
		p.newline(p.indent)
	}
	p.code.WriteString(text)
	p.column += utf8.RuneCountInString(text)
	p.last = text
}

// operator writes an infix operator or a separating word, after one space.
func (p *printer) operator(text string) {
	p.word(" " + text)
	p.last = text
}

// open and shut write brackets and keep account of them.
func (p *printer) open(bracket string) {
	p.word(bracket)
	p.brackets++
	p.align()
}

// align makes this column the one that continued lines start at.
func (p *printer) align() {
	p.aligns = append(p.aligns, align{p.column, p.column - 1})
}

func (p *printer) shut(bracket string) {
	p.word(bracket)
	p.brackets--
	p.aligns = p.aligns[:len(p.aligns)-1]
}

// Continues holds the tokens that cannot end a statement: a newline behind one of them is white space. The
// parser and the printer share this one table.
var Continues = map[string]bool{
	"+": true, "-": true, "*": true, "/": true, "^": true, ".*": true, "./": true, ".^": true,
	"<=": true, ">=": true, "==": true, "!=": true, "<": true, ">": true,
	"=": true, "~": true, ",": true, ":": true, "..": true, "and": true, "or": true, "not": true,
	"in": true, "if": true, "then": true, "else": true, "forall": true, "minimize": true, "maximize": true,
}

// gap comes before the token at offset `at`: it writes the space, or the
// newline and the comments that the author has there.
func (p *printer) gap(at int, space string) {
	if p.breaks(at) {
		p.newline(p.continuation())
	} else {
		p.word(space)
	}
}

// closingGap is gap before the bracket that ends at offset `end`.
func (p *printer) closingGap(end int) {
	if p.breaks(end - 1) {
		p.newline(p.aligns[len(p.aligns)-1].closing)
	}
}

// breaks reports whether the author has a newline or a comment before the
// token at offset `at` and one may stand there; it writes the comments.
func (p *printer) breaks(at int) bool {
	legal := p.brackets > 0 || Continues[p.last]
	if at <= p.done || at > len(p.text) || !legal {
		return false
	}
	broken := strings.IndexByte(p.text[p.done:at], '\n') >= 0
	for len(p.comments) > 0 && p.comments[0].Place.Start < at {
		p.insideComment(p.comments[0])
		p.comments = p.comments[1:]
		broken = true
	}
	p.reach(at)
	return broken
}

// continuation is the column of a continued line: that of the innermost
// bracket or expression, or two more than the line's own where nothing stands
// behind that bracket (or the statement's word) yet.
func (p *printer) continuation() int {
	n := len(p.aligns)
	if n == 0 {
		return p.indent + 2
	}
	if p.last == "(" || p.last == "[" || p.last == "{" {
		p.aligns[n-1] = align{p.lineIn + 2, p.lineIn}
	}
	return p.aligns[n-1].inside
}

// insideComment writes a comment that stands inside a statement.
func (p *printer) insideComment(c Comment) {
	if strings.TrimSpace(p.code.String()) == "" {
		p.code.Reset()
	}
	behind := p.code.Len() > 0 && !c.Own
	p.flush()
	if behind {
		p.lines[len(p.lines)-1].comment = c.Text
	} else {
		p.lines = append(p.lines, outLine{code: strings.Repeat(" ", p.continuation()) + c.Text})
	}
	p.done = c.Place.End
}

// reach says that the source is printed up to offset `end`.
func (p *printer) reach(end int) { p.done = max(p.done, min(end, len(p.text))) }

// lead comes before the statement at offset `at`: comments that stand before
// it, and blank lines.
func (p *printer) lead(at int) {
	for len(p.comments) > 0 && p.comments[0].Place.Start < at {
		c := p.comments[0]
		p.comments = p.comments[1:]
		if n := len(p.lines); !c.Own && n > 0 && p.lines[n-1].comment == "" && p.lines[n-1].code != "" {
			p.lines[n-1].comment = c.Text
		} else {
			p.blankLine(c.Place.Start)
			p.lines = append(p.lines, outLine{code: strings.Repeat(" ", p.indent) + c.Text})
		}
		p.began = true
		p.reach(c.Place.End)
	}
	if at <= len(p.text) {
		p.blankLine(at)
		p.reach(at)
	}
	p.began = true
}

// blankLine keeps a blank line that stands before offset `at`.
func (p *printer) blankLine(at int) {
	if !p.began || at <= p.done {
		return
	}
	between := p.text[p.done:at]
	lines := strings.Split(between, "\n")
	for _, l := range lines[1:max(1, len(lines)-1)] {
		if strings.TrimSpace(l) == "" {
			p.lines = append(p.lines, outLine{})
			return
		}
	}
}

// end ends a statement whose source ends at offset `end`. Comments that stand
// inside it but had no place there follow.
func (p *printer) end(end int) {
	p.flush()
	p.aligns, p.brackets = p.aligns[:0], 0
	p.reach(end)
}

// block prints `word {`, with a head between the two, the items through body, and `}`.
func (p *printer) block(word string, at At, head, body func()) {
	p.lead(at.Place.Start)
	p.word(word)
	if head != nil {
		head()
	}
	p.word(" {")
	p.flush()
	if i := strings.IndexByte(at.Place.Text(), '{'); i >= 0 {
		// Comments between the word and its brace go behind the brace.
		p.reach(at.Place.Start + i + 1)
	}
	p.indent += 2
	p.began = false
	body()
	before := max(at.Place.End-1, 0)
	i := sort.Search(len(p.comments), func(i int) bool { return p.comments[i].Place.Start >= before })
	if i > 0 {
		p.lead(min(before, p.comments[i-1].Place.End))
	}
	p.indent -= 2
	p.began = true
	p.word("}")
	p.end(at.Place.End)
}
