package parser

import (
	"fmt"
	"sort"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"bilevelc/internal/await"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// session is the state of one parse: the tokens that remain, and what was
// found.
type session struct {
	src      *diag.Source
	tokens   []lexer.Token
	next     int // index of the next token
	comments []lang.Comment
	errs     collector
	unclosed bool // the text ended inside a bracket or brace
	beyond   bool // the text is beyond a limit: nothing of it is parsed
	grammar  *statementParser
	meter    *await.Meter // of tokens
}

func newSession(src *diag.Source, meter *await.Meter) *session {
	sc := scan(src, meter)
	s := &session{src: src, meter: meter, tokens: sc.tokens, comments: sc.comments, errs: sc.errs, unclosed: sc.unclosed}
	if sc.beyond != nil {
		s.tokens, s.comments, s.errs, s.unclosed, s.beyond = nil, nil, collector{}, false, true
		s.errs.add(sc.beyond)
	}
	s.grammar = takeStatementParser()
	s.grammar.session = s
	return s
}

// finish gives the parser back and returns what was found, in order of place.
func (s *session) finish() diag.List {
	s.grammar.giveBack()
	s.grammar = nil
	return s.errs.diagnostics()
}

func (s *session) span(start, end int) diag.Span {
	return diag.Span{Source: s.src, Start: start, End: end}
}

func (s *session) at(start, end int) lang.At { return lang.At{Place: s.span(start, end)} }

// tokenSpan is the place of a token; the end of a statement is shown as the
// empty place right behind its last token.
func (s *session) tokenSpan(t lexer.Token) diag.Span {
	if t.EOF() || t.Type == tokenEnd {
		end := s.behindLast(t.Pos.Offset)
		return s.span(end, end)
	}
	return s.span(t.Pos.Offset, tokenEndOffset(t))
}

// behindLast is the offset behind the last token that stands before offset at.
func (s *session) behindLast(at int) int {
	i := sort.Search(len(s.tokens), func(i int) bool { return s.tokens[i].Pos.Offset >= at })
	for i > 0 && s.tokens[i-1].Type == tokenEnd {
		i--
	}
	if i == 0 {
		return min(at, len(s.src.Text))
	}
	return tokenEndOffset(s.tokens[i-1])
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
			s.meter.Step()
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
		if comment := s.reportLineStart(after); comment > 0 {
			s.next = comment
			return c
		}
		joined = c.tokens
		s.next = after
	}
}

// reportLineStart reports the operator that token i is, which starts a line. What goes on with a row has no two words
// side by side: a `*` before those starts a comment of GAMS, and the token behind that is returned, 0 for others.
func (s *session) reportLineStart(i int) (comment int) {
	op := s.tokens[i]
	at := s.tokenSpan(op)
	if s.errs.reported(at.Start, at.End) {
		return 0
	}
	d := s.errs.Errorf(diag.OperatorAtStart, at, "a line starts with `%s`", op.Value)
	d.Detail = "A newline ends a statement unless a bracket is open or the line ends in an operator."
	d.Fix = fmt.Sprintf("put `%s` at the end of the line above, or put the expression in ( )", op.Value)
	s.errs.mark(at.Start)
	if op.Value != "*" {
		return 0
	}
	d.Detail += " A comment starts with `//`."
	word := func(t lexer.Token) bool {
		return t.Type == tokenIdent || t.Type == tokenNumber || t.Type == tokenKeyword && statementWords[t.Value]
	}
	k := i + 1
	prose := false
	for ; k < len(s.tokens) && s.tokens[k].Type != tokenEnd; k++ {
		prose = prose || word(s.tokens[k]) && word(s.tokens[k-1])
	}
	if !prose {
		return 0
	}
	d.Fix = "start a comment with `//`"
	return k
}

// parseCut parses one statement with production P of the grammar. An error is
// reported unless the scanner already found one in the statement; the partial
// tree is returned with ok false.
func parseCut[P any](s *session, c cut) (tree *P, ok bool) {
	s.meter.Step()
	production, err := participle.ParserForProduction[P](s.grammar.Parser)
	if err != nil {
		panic("parser: " + err.Error()) // a production that the grammar lacks is a bug of this package
	}
	peeking, err := lexer.Upgrade(&tokenList{tokens: c.tokens, end: c.stop.Pos.Offset, meter: s.meter})
	if err != nil {
		panic("parser: " + err.Error()) // tokenList has no errors
	}
	tree, err = production.ParseFromLexer(peeking)
	if err == nil {
		return tree, true
	}
	if at := s.cutSpan(c); !s.errs.reported(at.Start, max(at.End, c.stop.Pos.Offset-1)) {
		s.errs.add(s.explain(err, c, statementForm[P](c)))
		s.errs.mark(c.stop.Pos.Offset) // a brace that stopped it needs no other
	}
	return tree, false
}
