package parser

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2/lexer"

	"bilevelc/internal/await"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// scanner cuts a source into tokens and decides which newlines end a
// statement. Brackets are matched here, so that one that is never closed is
// reported at its opening and does not swallow the rest of the file.
type scanner struct {
	src      *diag.Source
	text     string
	pos      int
	tokens   []lexer.Token
	comments []lang.Comment
	errs     collector
	open     []lexer.Token    // the brackets ( [ and braces { that are open
	newline  int              // offset of the first newline since the last token, or -1
	first    int              // index of the first token of the current line
	forall   bool             // the current statement has a forall
	set      bool             // the current statement declares a set
	unclosed bool             // the text ended inside a bracket or brace
	prefixes int              // prefix operators at the end of the tokens
	beyond   *diag.Diagnostic // the limit that the text goes beyond, where scanning ended
}

// tokenLength is about how many bytes a token takes with the white space before
// it, in models and in data literals; more or less costs only time.
const tokenLength = 4

// maxPieces bounds the tokens, comments and errors of a text. A token takes 64 bytes,
// twice where it is parsed, and its node of the tree about 130, so that a text of the
// most pieces takes less than 150 MB.
const maxPieces = 1 << 19

// maxWord bounds the bytes of a name, which messages repeat.
const maxWord = 1000

// scan cuts all of src, in steps of a token.
func scan(src *diag.Source, meter *await.Meter) *scanner {
	s := &scanner{src: src, text: src.Text, newline: -1}
	s.text = strings.TrimSuffix(s.text, "\x1a") // an end-of-file mark of old editors
	if strings.HasPrefix(s.text, "\ufeff") {
		s.pos = len("\ufeff")
	}
	s.tokens = make([]lexer.Token, 0, min(len(s.text)/tokenLength, maxPieces))
	for s.pos < len(s.text) && s.beyond == nil {
		meter.Step()
		s.next()
		if len(s.tokens)+len(s.comments)+len(s.errs.scanner) > maxPieces {
			s.stop(s.pos-1, "numbers belong into data files", "this text has more than %d words, numbers and signs", maxPieces)
		}
	}
	if s.beyond != nil {
		return s
	}
	for _, t := range s.open {
		s.reportUnclosed(t)
		s.unclosed = true
	}
	sort.Ints(s.errs.scanner)
	return s
}

// stop ends the scan at a place behind which the text is beyond a limit.
func (s *scanner) stop(at int, fix, format string, args ...any) {
	s.beyond = diag.New(diag.TooDeep, s.span(at, at+1), format, args...)
	s.beyond.Fix = fix
}

// nested notes that brackets, or prefix operators behind each other, are depth deep
// at a place, which the parser would refuse as well, but for a memory of the text's
// own size.
func (s *scanner) nested(depth, at int) {
	if depth > maxNesting && s.beyond == nil {
		s.stop(at, "name the inner parts with `let`", "this text is nested more than %d deep", maxNesting)
	}
}

func (s *scanner) span(start, end int) diag.Span {
	return diag.Span{Source: s.src, Start: start, End: end}
}

// errorf reports an error of the scanner.
func (s *scanner) errorf(code diag.Code, at diag.Span, format string, args ...any) *diag.Diagnostic {
	s.errs.scanner = append(s.errs.scanner, at.Start)
	return s.errs.Errorf(code, at, format, args...)
}

// next scans one token, comment or piece of white space.
func (s *scanner) next() {
	c := s.text[s.pos]
	switch {
	case c == '\n':
		if s.newline < 0 {
			s.newline = s.pos
		}
		s.endStatement("\n")
		s.pos++
	case c == ';' && s.inList():
		s.emit(tokenPunct, ";", s.pos)
		s.pos++
	case c == ';':
		s.endStatement(";")
		s.pos++
	case c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v':
		s.pos++
	case c == '"':
		s.label()
	case strings.HasPrefix(s.text[s.pos:], "//"):
		s.comment()
	case strings.HasPrefix(s.text[s.pos:], "/*"):
		s.blockComment()
	case c >= '0' && c <= '9':
		s.number()
	case c == '.' && s.pos+1 < len(s.text) && isDigit(s.text[s.pos+1]) && !s.afterOperand(s.pos):
		s.number()
	case c == '_' || c < utf8.RuneSelf && unicode.IsLetter(rune(c)):
		s.word()
	case c >= utf8.RuneSelf || c < ' ' || c == 0x7f:
		s.unusual()
	default:
		s.punct()
	}
}

// afterOperand reports whether the last token ends an operand that touches
// a place, as in y.5.
func (s *scanner) afterOperand(at int) bool {
	if len(s.tokens) == 0 {
		return false
	}
	t := s.tokens[len(s.tokens)-1]
	return tokenEndOffset(t) == at && (t.Type == tokenIdent || t.Type == tokenNumber || t.Value == ")" || t.Value == "]")
}

// inList reports whether the semicolon that stands here is one of a list, [a; b]:
// a [ is open, and no word that starts a statement follows on the line.
func (s *scanner) inList() bool {
	if !s.inBracket() || s.open[len(s.open)-1].Value != "[" {
		return false
	}
	rest := strings.TrimLeft(s.text[s.pos+1:], " \t")
	behind := strings.TrimLeftFunc(rest, func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) })
	word := rest[:len(rest)-len(behind)]
	return !isKeyword(word) || otherWords[word]
}

// inBracket reports whether a ( or [ is open.
func (s *scanner) inBracket() bool {
	return len(s.open) > 0 && s.open[len(s.open)-1].Value != "{"
}

// endStatement adds a token that ends a statement, unless a bracket is open or
// the line ends in an operator (a semicolon always ends it).
func (s *scanner) endStatement(text string) {
	if s.ended() {
		return
	}
	last := s.tokens[len(s.tokens)-1]
	if text == ";" && s.inBracket() {
		s.closeBrackets()
	}
	if text == "\n" && (s.inBracket() || lang.Continues[last.Value]) {
		return
	}
	s.addEnd(text, s.pos)
}

func (s *scanner) addEnd(text string, at int) {
	s.tokens = append(s.tokens, lexer.Token{Type: tokenEnd, Value: text, Pos: lexer.Position{Offset: at}})
	s.forall, s.set = false, false
}

// ended reports whether the last token leaves no statement open.
func (s *scanner) ended() bool {
	n := len(s.tokens)
	return n == 0 || s.tokens[n-1].Type == tokenEnd || s.tokens[n-1].Value == "{"
}

// emit adds a token. A word that starts statements, first on its line, ends
// whatever stands open above it.
func (s *scanner) emit(kind lexer.TokenType, value string, at int) {
	if s.newline >= 0 {
		if kind == tokenKeyword && statementWords[value] {
			s.closeBrackets()
			if !s.ended() {
				s.addEnd("\n", s.newline)
			}
		}
		s.first = len(s.tokens)
		s.newline = -1
	}
	if kind == tokenKeyword && value == "forall" {
		s.forall = true
	}
	if kind == tokenKeyword && statementWords[value] {
		s.set = value == "set"
	}
	if value == ":" && !s.inBracket() && !s.forall {
		s.endBeforeName()
	}
	if s.prefixes++; kind == tokenIdent || value != "-" && value != "not" {
		s.prefixes = 0
	}
	s.nested(s.prefixes, at)
	s.tokens = append(s.tokens, lexer.Token{Type: kind, Value: value, Pos: lexer.Position{Offset: at}})
}

// emitAs is emit for a token whose text in the source is another, of the given
// length.
func (s *scanner) emitAs(kind lexer.TokenType, value string, at, length int) {
	s.emit(kind, value, at)
	s.tokens[len(s.tokens)-1].Pos.Column = length
}

// endBeforeName is called at a colon. A name and a colon that start a line
// start a constraint, even where the line above ends in an operator (which the
// parser then reports).
func (s *scanner) endBeforeName() {
	last := len(s.tokens) - 1
	if last < 1 || last != s.first || s.tokens[last].Type != tokenIdent {
		return
	}
	if above := s.tokens[last-1]; lang.Continues[above.Value] && above.Type != tokenIdent {
		name := s.tokens[last]
		s.tokens = s.tokens[:last]
		s.addEnd("\n", tokenEndOffset(above))
		s.tokens = append(s.tokens, name)
	}
}

// closeBrackets reports the open ( and [ and forgets them.
func (s *scanner) closeBrackets() {
	for s.inBracket() {
		s.reportUnclosed(s.pop())
	}
}

func (s *scanner) reportUnclosed(t lexer.Token) {
	at := s.span(t.Pos.Offset, tokenEndOffset(t))
	d := s.errorf(diag.Unclosed, at, "`%s` is never closed", spelling(t.Value))
	d.Fix = "add the matching `" + closer(t.Value) + "`"
}

func closer(open string) string {
	return map[string]string{"(": ")", "[": "]", "{": "}", setOpen: "}"}[open]
}

// spelling is a bracket as it stands in the text.
func spelling(bracket string) string {
	switch bracket {
	case setOpen:
		return "{"
	case setClose:
		return "}"
	}
	return bracket
}

func (s *scanner) comment() {
	end := s.lineEnd()
	text := strings.TrimRight(s.text[s.pos:end], " \t\r\f\v")
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		s.errorf(diag.BadText, s.span(s.pos, s.pos+len(text)), "this comment is not valid UTF-8 text")
		text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\ufffd"), "\ufffd")
	}
	lineStart := strings.LastIndexByte(s.text[:s.pos], '\n') + 1
	own := strings.TrimLeft(s.text[lineStart:s.pos], " \t\r\f\v\ufeff") == ""
	s.comments = append(s.comments, lang.Comment{
		At: lang.At{Place: s.span(s.pos, s.pos+len(text))}, Text: text, Own: own,
	})
	s.pos = end
}

// lineEnd is where the current line ends, before its newline.
func (s *scanner) lineEnd() int {
	line, _, _ := strings.Cut(s.text[s.pos:], "\n")
	return s.pos + len(line)
}

func (s *scanner) blockComment() {
	d := s.errorf(diag.ForeignOperator, s.span(s.pos, s.pos+2), "`/* */` comments are not in the language")
	d.Fix = "start each line of the comment with `//`"
	_, rest, _ := strings.Cut(s.text[s.pos:], "*/")
	s.pos = len(s.text) - len(rest)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// number scans digits [. digits] [e [+-] digits]. In 1..n the point belongs to
// the range, in 2.*x to the operator.
func (s *scanner) number() {
	start := s.pos
	digits := func() {
		for s.pos < len(s.text) && isDigit(s.text[s.pos]) {
			s.pos++
		}
	}
	digits()
	if s.pos+1 < len(s.text) && s.text[s.pos] == '.' && isDigit(s.text[s.pos+1]) {
		s.pos++
		digits()
	}
	if s.pos < len(s.text) && (s.text[s.pos] == 'e' || s.text[s.pos] == 'E') {
		p := s.pos + 1
		if p < len(s.text) && (s.text[p] == '+' || s.text[p] == '-') {
			p++
		}
		if p < len(s.text) && isDigit(s.text[p]) {
			s.pos = p
			digits()
		}
	}
	text := s.text[start:s.pos]
	if text[0] == '.' {
		d := s.errorf(diag.BadNumber, s.span(start, s.pos), "a number starts with a digit")
		d.Fix = "write 0" + text
	}
	s.emit(tokenNumber, text, start)
}

// nameFollows reports whether the next thing on the line is a name.
func (s *scanner) nameFollows() bool {
	rest := strings.TrimLeft(s.text[s.pos:], " \t")
	r, _ := utf8.DecodeRuneInString(rest)
	return (r == '_' || unicode.IsLetter(r)) && len(rest) < len(s.text)-s.pos
}

// label scans a text in double quotes, which ends on its line. A backslash
// stands before a double quote or a backslash inside.
func (s *scanner) label() {
	start := s.pos
	for s.pos++; s.pos < len(s.text) && s.text[s.pos] != '\n'; s.pos++ {
		switch c := s.text[s.pos]; {
		case c == '"':
			s.pos++
			if text := s.text[start:s.pos]; !utf8.ValidString(text) {
				s.errorf(diag.BadText, s.span(start, s.pos), "this label is not valid UTF-8 text")
			} else {
				s.emit(tokenText, text, start)
			}
			return
		case c == '\\' && s.pos+1 < len(s.text) && (s.text[s.pos+1] == '"' || s.text[s.pos+1] == '\\'):
			s.pos++
		}
	}
	s.errorf(diag.Unclosed, s.span(start, start+1), "this double quote is never closed").Fix = "close the label on its line"
}

func (s *scanner) word() {
	start := s.pos
	if strings.HasPrefix(s.text[start:], "s.t.") && s.ended() {
		s.pos += len("s.t.")
		s.errorf(diag.ForeignOperator, s.span(start, s.pos), "`s.t.` is not in the language").Fix = "write `subject to`"
		s.emitAs(tokenKeyword, "subject", start, len("s."))
		s.emitAs(tokenIdent, "to", start+len("s."), len("t."))
		return
	}
	s.pos = len(s.text) - len(strings.TrimLeftFunc(s.text[start:], func(r rune) bool {
		return r != 'ᵀ' && (r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r))
	}))
	if s.pos-start > maxWord {
		s.stop(start, "choose a shorter one", "this name has more than %d bytes", maxWord)
		return
	}
	word := s.text[start:s.pos]
	if isKeyword(word) || word == "set" && s.ended() && s.nameFollows() {
		s.emit(tokenKeyword, word, start)
	} else {
		s.emit(tokenIdent, word, start)
	}
}
