package parser

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// maxErrors bounds what one source can report; more helps nobody.
const maxErrors = 50

// session is the state of one parse: the tokens that remain, and what was
// found.
type session struct {
	src      *diag.Source
	tokens   []lexer.Token
	next     int // index of the next token
	comments []lang.Comment
	errs     diag.List
	marked   []int // offsets of the scanner's errors, ascending
	unclosed bool  // the text ended inside a bracket or brace
	grammar  *participle.Parser[grammar]
}

func newSession(src *diag.Source) *session {
	sc := scan(src)
	s := &session{src: src, tokens: sc.tokens, comments: sc.comments, errs: sc.errs, unclosed: sc.unclosed}
	for _, d := range sc.errs {
		s.marked = append(s.marked, d.Subject.Start)
	}
	sort.Ints(s.marked)
	s.grammar = buildGrammar(s)
	return s
}

// done returns what was found, in order of place.
func (s *session) done() diag.List {
	s.errs.Sort()
	if len(s.errs) > maxErrors {
		rest := len(s.errs) - maxErrors
		s.errs = s.errs[:maxErrors]
		s.errs.Add(&diag.Diagnostic{
			Severity: diag.Error, Code: codeTooMany, Subject: s.errs[maxErrors-1].Subject,
			Summary: fmt.Sprintf("too many syntax errors; %d more are not shown", rest),
		})
	}
	return s.errs
}

func (s *session) span(start, end int) diag.Span {
	return diag.Span{Source: s.src, Start: start, End: end}
}

func (s *session) at(start, end int) lang.At { return lang.At{Place: s.span(start, end)} }

// tokenSpan is the place of a token; the end of a statement is shown as the
// empty place right behind the text.
func (s *session) tokenSpan(t lexer.Token) diag.Span {
	if t.EOF() || t.Type == tokenEnd {
		end := t.Pos.Offset
		for end > 0 && strings.IndexByte(" \t\r\n", s.src.Text[end-1]) >= 0 {
			end--
		}
		return s.span(end, end)
	}
	return s.span(t.Pos.Offset, tokenEndOffset(t))
}

func (s *session) eof() bool { return s.next >= len(s.tokens) }

// peek returns the next token; at the end of the text an EOF token.
func (s *session) peek() lexer.Token {
	if s.eof() {
		return lexer.EOFToken(lexer.Position{Offset: len(s.src.Text)})
	}
	return s.tokens[s.next]
}

// skipEnds passes the ends of statements.
func (s *session) skipEnds() {
	for !s.eof() && s.tokens[s.next].Type == tokenEnd {
		s.next++
	}
}

// cut is one statement: its tokens, the offset behind it, and the token that
// ended it.
type cut struct {
	tokens []lexer.Token
	stop   lexer.Token
}

func (c cut) empty() bool { return len(c.tokens) == 0 }

// word is the statement's first word.
func (c cut) word() string {
	if c.empty() {
		return ""
	}
	return c.tokens[0].Value
}

func (s *session) cutSpan(c cut) diag.Span {
	if c.empty() {
		return s.tokenSpan(c.stop)
	}
	return s.span(c.tokens[0].Pos.Offset, tokenEndOffset(c.tokens[len(c.tokens)-1]))
}

// statement takes the tokens up to the end of the statement, a brace, or the
// end of the text. A following line that starts with an operator is reported,
// and read as part of the statement that it was meant to continue.
func (s *session) statement() cut {
	first := s.next
	var joined []lexer.Token
	for {
		from := s.next
		for !s.eof() && s.tokens[s.next].Type != tokenEnd && s.tokens[s.next].Value != "{" && s.tokens[s.next].Value != "}" {
			s.next++
		}
		c := cut{tokens: s.tokens[from:s.next:s.next], stop: s.peek()}
		if joined != nil {
			c.tokens = append(joined, c.tokens...)
		}
		if c.stop.Type != tokenEnd || s.next == first {
			return c
		}
		after := s.next
		for after < len(s.tokens) && s.tokens[after].Type == tokenEnd {
			after++
		}
		if after == len(s.tokens) || !infixStarts[s.tokens[after].Value] || c.stop.Value == ";" {
			return c
		}
		s.reportLineStart(s.tokens[after])
		joined = c.tokens
		s.next = after
	}
}

func (s *session) reportLineStart(op lexer.Token) {
	at := s.tokenSpan(op)
	if s.scanned(at.Start, at.End) {
		return
	}
	d := s.errs.Errorf(codeLineStart, at, "a line starts with `%s`", op.Value)
	d.Detail = "A newline ends a statement unless a bracket is open or the line ends in an operator."
	d.Fix = fmt.Sprintf("put `%s` at the end of the line above, or put the expression in ( )", op.Value)
	s.marked = append(s.marked, at.Start)
	sort.Ints(s.marked)
}

// scanned reports whether the scanner has already reported an error in
// [start, end].
func (s *session) scanned(start, end int) bool {
	i := sort.SearchInts(s.marked, start)
	return i < len(s.marked) && s.marked[i] <= end
}

// parseCut parses one statement with production P of the grammar. An error is
// reported unless the scanner already found one in the statement; the partial
// tree is returned with ok false.
func parseCut[P any](s *session, c cut) (tree *P, ok bool) {
	production, err := participle.ParserForProduction[P](s.grammar)
	if err != nil {
		panic("parser: " + err.Error()) // a production that the grammar lacks is a bug of this package
	}
	peeking, err := lexer.Upgrade(&tokenList{tokens: c.tokens, end: c.stop.Pos.Offset})
	if err != nil {
		panic("parser: " + err.Error()) // tokenList has no errors
	}
	tree, err = production.ParseFromLexer(peeking)
	if err == nil {
		return tree, true
	}
	if at := s.cutSpan(c); !s.scanned(at.Start, max(at.End, s.tokenSpan(c.stop).End)) {
		s.errs.Add(s.explain(err, c))
	}
	return tree, false
}

// syntaxError carries a diagnostic through participle.
type syntaxError struct{ d *diag.Diagnostic }

func (e *syntaxError) Error() string   { return e.d.Error() }
func (e *syntaxError) Message() string { return e.d.Summary }
func (e *syntaxError) Position() lexer.Position {
	return lexer.Position{Offset: e.d.Subject.Start}
}

func (s *session) fail(code diag.Code, at diag.Span, format string, args ...any) *syntaxError {
	return &syntaxError{&diag.Diagnostic{
		Severity: diag.Error, Code: code, Subject: at, Summary: fmt.Sprintf(format, args...),
	}}
}

// explain turns an error of the grammar into one in the user's terms.
func (s *session) explain(err error, c cut) *diag.Diagnostic {
	var own *syntaxError
	if errors.As(err, &own) {
		return own.d
	}
	form := statementForms[c.word()]
	var unexpected *participle.UnexpectedTokenError
	if !errors.As(err, &unexpected) {
		return s.fail(codeUnexpected, s.cutSpan(c), "this statement cannot be read: %s", err).d
	}
	token := unexpected.Unexpected
	at := s.tokenSpan(token)
	want := expected(unexpected.Message())
	if want == "a name" && token.Type == tokenKeyword {
		d := s.fail(codeReserved, at, "`%s` is a word of the language and cannot be a name", token.Value).d
		d.Fix = fmt.Sprintf("choose another name, such as `%s_`", token.Value)
		return d
	}
	if want == "" {
		want = "the end of the statement"
	}
	d := s.fail(codeUnexpected, at, "expected %s, found %s", want, s.describe(token)).d
	if form != "" {
		d.Detail = "The form is: " + form
	}
	return d
}

// describe names a token in a message.
func (s *session) describe(t lexer.Token) string {
	switch {
	case t.EOF():
		if t.Pos.Offset >= len(s.src.Text) {
			return "the end of the text"
		}
		switch s.src.Text[t.Pos.Offset] {
		case '{', '}', ';':
			return "`" + s.src.Text[t.Pos.Offset:t.Pos.Offset+1] + "`"
		}
		return "the end of the line"
	case len(t.Value) > 40:
		return "`" + strings.ToValidUTF8(t.Value[:40], "") + "...`"
	}
	return "`" + t.Value + "`"
}

// expected reads what participle waited for out of its message, whose tail is
// "(expected X Y ...)" in EBNF, and names X in the user's terms.
func expected(message string) string {
	_, list, ok := strings.Cut(message, " (expected ")
	if !ok {
		return ""
	}
	list = strings.TrimLeft(strings.TrimSuffix(list, ")"), "(")
	if quoted, ok := strings.CutPrefix(list, `"`); ok {
		word, _, _ := strings.Cut(quoted, `"`)
		return "`" + word + "`"
	}
	production := list
	if i := strings.IndexAny(list, " ?*+!)"); i >= 0 {
		production = list[:i]
	}
	if name, ok := productionNames[production]; ok {
		return name
	}
	return ""
}

// productionNames says what a production of the grammar is to the user.
var productionNames = map[string]string{
	"<ident>":     "a name",
	"Name":        "a name",
	"Expr":        "an expression",
	"WrittenType": "a type (`real`, `int`, `vector[n]` or `matrix[m, n]`)",
	"VarSet":      "a set (`box(lo, hi)`, `nonneg`, `simplex(s)`, `ball(r)` or `free`)",
	"Source":      "a generator (`normal(mean, sd)` or `uniform(lo, hi)`)",
	"Parameter":   "a parameter",
	"Relation":    "a relation such as `a <= b`",
	"Indices":     "indices such as `i in 1..n`",
}

// statementForms shows the form of each statement, by its first word.
var statementForms = map[string]string{
	"model":    "model NAME",
	"param":    "param NAME: int = VALUE",
	"data":     "data NAME: TYPE   (or `= VALUE`, or `~ normal(0, 1)`)",
	"let":      "let NAME = EXPRESSION",
	"fn":       "fn NAME(z: vector, ...) = EXPRESSION",
	"var":      "var NAME: TYPE in SET",
	"minimize": "minimize EXPRESSION",
	"maximize": "maximize EXPRESSION",
}
