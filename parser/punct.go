package parser

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2/lexer"

	"bilevelc/lang/diag"
)

// puncts are the operators and separators, longest first.
var puncts = []string{
	"..", ".*", "./", ".^", "<=", ">=", "==", "!=",
	"+", "-", "*", "/", "^", "'", "<", ">", "=", "~", ",", ":",
	"(", ")", "[", "]", "{", "}",
}

// foreign maps spellings of other languages to the ones of this language.
// They are reported and read as meant.
var foreign = []struct{ text, ours, fix string }{
	{"**", "^", "write `^` for a power (`.^` element by element)"},
	{"&&", "and", "write `and`"},
	{"||", "or", "write `or`"},
	{":=", "=", "write `=`"},
	{"<>", "!=", "write `!=`"},
	{"=<", "<=", "write `<=`"},
	{"=>", ">=", "write `>=`"},
	{"!", "not", "write `not`"},
	{"=l=", "<=", "write `<=`"},
	{"=g=", ">=", "write `>=`"},
	{"=e=", "==", "write `==`"},
	{"...", "", "a row goes on in the next line where a line ends with an operator, or inside brackets"},
	{".'", "'", "write `'` for the transpose"},
	{"≤", "<=", "write `<=`"},
	{"≥", ">=", "write `>=`"},
	{"≠", "!=", "write `!=`"},
	{"·", "*", "write `*`"},
	{"×", "*", "write `*`"},
	{"−", "-", "write `-`"},
	{"–", "-", "write `-`"},
	{"ᵀ", "'", "write `'` for the transpose"},
	{"’", "'", "write `'` for the transpose"},
	{"²", "", "write `^2`"},
	{"³", "", "write `^3`"},
	{"#", "", "start a comment with `//`"},
	{"%", "", "start a comment with `//`"},
	{"`", "", ""},
	{`\left`, "", "brackets are `(` and `)`"},
	{`\leq`, "<=", "write `<=`"},
	{`\le`, "<=", "write `<=`"},
	{`\geq`, ">=", "write `>=`"},
	{`\ge`, ">=", "write `>=`"},
	{`\cdot`, "*", "write `*`"},
	{`\times`, "*", "write `*`"},
	{`\frac`, "", "a fraction is written `(a) / (b)`"},
	{`\sum`, "", "a sum is written `sum(i in 1..n: x[i])`"},
	{"\\", "", ""},
	{"$", "", ""},
	{"@", "*", "write `*` for products of matrices and vectors too, and `'` for a transpose"},
	{"?", "", "a choice is written `if c then a else b`"},
	{"&", "and", "write `and`"},
	{"|", "", "write `abs(x)` for an absolute value, `or` for a choice of conditions"},
	{".", "", "element-wise operators are `.*`, `./` and `.^`; a range is `1..n`"},
}

// punct scans an operator, separator or bracket.
func (s *scanner) punct() {
	rest := s.text[s.pos:]
	if len(rest) > 1 && strings.IndexByte("*&|>=<.'", rest[1]) >= 0 && s.foreign(rest, true) {
		return
	}
	if len(rest) > 3 && rest[0] == '=' && rest[2] == '=' && rest[3] != '=' && s.foreign(strings.ToLower(rest[:3]), true) { // `=l=`
		return
	}
	for _, p := range puncts {
		if strings.HasPrefix(rest, p) {
			at := s.pos
			s.pos += len(p)
			s.bracket(p, at)
			return
		}
	}
	s.foreign(rest, false)
}

// foreign reports a spelling of another language at the head of rest. With
// long set it looks only for the operators of two characters, the second one
// of * & | > = <, which start like one of our own.
func (s *scanner) foreign(rest string, long bool) bool {
	for _, f := range foreign {
		if !strings.HasPrefix(rest, f.text) || long && len(f.text) < 2 {
			continue
		}
		at, end := s.pos, s.pos+len(f.text)
		d := s.errorf(diag.ForeignOperator, s.span(at, end), "`%s` is not in the language", f.text)
		d.Fix = f.fix
		if f.text == "@" && (s.newline >= 0 || len(s.tokens) == 0) { // first on its line
			d.Fix = "a variable is declared `var x: real in SET`, a row is `name: left <= right` under `subject to`, an objective `minimize f`"
		}
		if f.text == "|" && s.set {
			d.Fix = "a part of a set is written `{i in row if CONDITION}`"
		}
		s.pos = end
		if f.text == "%" && s.percent(d, at) || f.text == "." && s.point(d, at) {
			return true
		}
		switch {
		case f.text == "#" || f.text == "%":
			s.pos = s.lineEnd()
		case f.ours != "" && isKeyword(f.ours):
			s.emitAs(tokenKeyword, f.ours, at, len(f.text))
		case f.ours != "":
			s.emitAs(tokenPunct, f.ours, at, len(f.text))
		}
		return true
	}
	return false
}

// percent takes a `%` that touches a number before it, and no operand behind it, for a part of a hundred; it is read as the number alone.
func (s *scanner) percent(d *diag.Diagnostic, at int) bool {
	if len(s.tokens) == 0 {
		return false
	}
	number := s.tokens[len(s.tokens)-1]
	v, err := strconv.ParseFloat(number.Value, 64)
	if number.Type != tokenNumber || tokenEndOffset(number) != at || err != nil {
		return false
	}
	if rest := s.text[s.pos:]; rest != "" && (isDigit(rest[0]) || rest[0] == '(' || rest[0] == '_' || unicode.IsLetter(rune(rest[0]))) {
		return false
	}
	d.Subject = s.span(number.Pos.Offset, s.pos)
	d.Fix = "write `" + strconv.FormatFloat(v/100, 'g', 15, 64) + "`"
	return true
}

// method matches what follows a point that touches an operand in languages with objects: a transpose, or a
// function with one name or nothing in its brackets.
var method = regexp.MustCompile(`^\.(?:(T)\b|([\pL_][\pL\pN_]*)\(\s*([\pL_][\pL\pN_]*)?\s*\))`)

// exponent matches what makes a number of one that ends in a point.
var exponent = regexp.MustCompile(`^\.([eE][+-]?[0-9]+)?`)

// point takes a point behind a number for the end of its whole part, and one behind a name for a call of what
// belongs to the operand.
func (s *scanner) point(d *diag.Diagnostic, at int) bool {
	if !s.afterOperand(at) {
		return false
	}
	last := s.tokens[len(s.tokens)-1]
	from := last.Pos.Offset
	instead := func(end int, tokens ...string) { // of the last token and what follows it, up to end
		s.pos, s.tokens = end, s.tokens[:len(s.tokens)-1]
		d.Subject, d.Fix = s.span(from, end), "write `"+strings.Join(tokens, "")+"`"
		for _, t := range tokens {
			kind := tokenPunct
			if r, _ := utf8.DecodeRuneInString(t); r == '_' || unicode.IsLetter(r) {
				kind = tokenIdent
			} else if unicode.IsDigit(r) {
				kind = tokenNumber
			}
			s.emitAs(kind, strings.TrimSpace(t), from, end-from)
		}
	}
	if last.Type == tokenNumber && !strings.ContainsAny(last.Value, ".eE") {
		m := exponent.FindStringSubmatch(s.text[at:])
		if m[1] == "" {
			m[1] = ".0"
		}
		d.Summary = "a number does not end in a point"
		instead(at+len(m[0]), last.Value+m[1])
		return true
	}
	m := method.FindStringSubmatch(s.text[at:])
	switch {
	case last.Type == tokenNumber:
		return false
	case m == nil:
		d.Fix = "names have no parts; a function is called as in `sum(x)`, and element-wise operators are `.*`, `./` and `.^`"
		return true
	case m[1] != "":
		s.pos += len(m[0]) - 1
		d.Summary, d.Subject, d.Fix = "`.T` is not in the language", s.span(at, s.pos), "write `'` for the transpose"
		s.emitAs(tokenPunct, "'", at, len(m[0]))
	case last.Type == tokenIdent:
		d.Summary = "a function does not stand behind its argument"
		tokens := []string{m[2], "(", last.Value, ", ", m[3], ")"}
		if m[2] == "dot" && m[3] != "" {
			tokens = []string{"(", last.Value, "'", " * ", m[3], ")"}
		} else if m[3] == "" {
			tokens = slices.Delete(tokens, 3, 5)
		}
		instead(at+len(m[0]), tokens...)
	default:
		d.Fix = "a function is called as in `sum(x)`, and a product of vectors is written `x' * y`"
	}
	return true
}

// bracket emits p and keeps account of what is open.
func (s *scanner) bracket(p string, at int) {
	tok := lexer.Token{Type: tokenPunct, Value: p, Pos: lexer.Position{Offset: at}}
	switch p {
	case "{":
		if s.set && !s.inBracket() {
			tok.Value, tok.Pos.Column = setOpen, 1
			s.emitAs(tokenPunct, setOpen, at, 1)
			s.push(tok)
			return
		}
		s.closeBrackets()
		s.emit(tokenPunct, p, at)
		s.push(tok)
		return
	case "}":
		for s.set && s.inBracket() && s.open[len(s.open)-1].Value != setOpen {
			s.reportUnclosed(s.pop())
		}
		if n := len(s.open); n > 0 && s.open[n-1].Value == setOpen {
			s.pop()
			s.emitAs(tokenPunct, setClose, at, 1)
			return
		}
		s.closeBrackets()
		if len(s.open) > 0 {
			s.pop()
		}
	case "(", "[":
		s.push(tok)
	case ")", "]":
		if !s.inBracket() {
			s.errorf(diag.Unmatched, s.span(at, at+1), "`%s` closes nothing", p).
				Fix = "remove it, or add the bracket that it should close"
			return
		}
		top := s.pop()
		if want := closer(top.Value); want != p {
			d := s.errorf(diag.Unmatched, s.span(at, at+1), "expected `%s`, found `%s`", want, p)
			d.Related = relate(s.span(top.Pos.Offset, top.Pos.Offset+1), fmt.Sprintf("`%s` was opened here", spelling(top.Value)))
			p = want
		}
	}
	s.emit(tokenPunct, p, at)
}

// push opens a bracket.
func (s *scanner) push(tok lexer.Token) {
	s.open = append(s.open, tok)
	s.nested(len(s.open), tok.Pos.Offset)
}

// pop closes the innermost bracket, and is it.
func (s *scanner) pop() lexer.Token {
	top := s.open[len(s.open)-1]
	s.open = s.open[:len(s.open)-1]
	return top
}

// unusual handles what is not ASCII text: letters of other scripts are part of
// names, white space is white space, the rest is an error.
func (s *scanner) unusual() {
	r, n := utf8.DecodeRuneInString(s.text[s.pos:])
	switch {
	case r == utf8.RuneError && n <= 1:
		start := s.pos
		for s.pos < len(s.text) {
			r, n := utf8.DecodeRuneInString(s.text[s.pos:])
			if r != utf8.RuneError || n > 1 {
				break
			}
			s.pos++
		}
		s.errorf(diag.BadText, s.span(start, s.pos), "the text is not valid UTF-8 here (byte 0x%02x)", s.text[start]).
			Fix = "save the file as UTF-8"
	case unicode.IsLetter(r) && r != 'ᵀ':
		s.word()
	case unicode.IsSpace(r):
		s.pos += n
	case s.foreign(s.text[s.pos:], false):
	default:
		start := s.pos
		for s.pos < len(s.text) && strings.HasPrefix(s.text[s.pos:], string(r)) {
			s.pos += n
		}
		s.errorf(diag.BadText, s.span(start, s.pos), "unexpected character %s", quoteRune(r))
	}
}

func quoteRune(r rune) string {
	if unicode.IsPrint(r) {
		return fmt.Sprintf("`%c` (U+%04X)", r, r)
	}
	return fmt.Sprintf("U+%04X", r)
}
