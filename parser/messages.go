package parser

import (
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// From an error of the grammar to a message in the user's terms.

// syntaxError carries a diagnostic through participle.
type syntaxError struct{ d *diag.Diagnostic }

func (e *syntaxError) Error() string   { return e.d.Error() }
func (e *syntaxError) Message() string { return e.d.Summary }
func (e *syntaxError) Position() lexer.Position {
	return lexer.Position{Offset: e.d.Subject.Start}
}

func (s *session) fail(code diag.Code, at diag.Span, format string, args ...any) *syntaxError {
	return &syntaxError{diag.New(code, at, format, args...)}
}

// explain turns an error of the grammar into one in the user's terms.
func (s *session) explain(err error, c cut, form string) *diag.Diagnostic {
	if own, ok := errors.AsType[*syntaxError](err); ok {
		return own.d
	}
	var unexpected *participle.UnexpectedTokenError
	if !errors.As(err, &unexpected) {
		return s.fail(diag.Unexpected, s.cutSpan(c), "this statement cannot be read: %s", err).d
	}
	token := unexpected.Unexpected
	at := s.tokenSpan(token)
	want := expected(unexpected.Message())
	if want == "a name" && token.Type == tokenKeyword {
		d := s.fail(diag.ReservedWord, at, "`%s` is a word of the language and cannot be a name", token.Value).d
		d.Fix = fmt.Sprintf("choose another name, such as `%s_`", token.Value)
		return d
	}
	if want == "a name" && token.Type == tokenText {
		d := s.fail(diag.Unexpected, at, "expected a name, found %s", s.describe(token)).d
		d.Fix = unquoted(lang.Unquote(token.Value))
		return d
	}
	if want == "" {
		want = "the end of the statement"
	}
	d := s.fail(diag.Unexpected, at, "expected %s, found %s", want, s.describe(token)).d
	if form != "" {
		d.Detail = "The form is: " + form
	}
	if d.Fix = slip(c.word(), token, want); token.Value == "," {
		if number := s.decimalComma(token.Pos.Offset); number != "" {
			d.Fix = "a decimal point is `.`: write `" + number + "`"
		}
	}
	return d
}

// unquoted is the fix for a label that stands where a name does.
func unquoted(label string) string {
	if lang.IsName(label) && !isKeyword(label) {
		return "a name stands without quotes: write `" + label + "`"
	}
	return "a name stands without quotes, and holds letters, digits and `_`"
}

// decimalComma is the number with a point that digits on both sides of a comma are meant to be; "" where there are none.
func (s *session) decimalComma(at int) string {
	text := s.src.Text
	from, to := at, at+1
	for from > 0 && isDigit(text[from-1]) {
		from--
	}
	for to < len(text) && isDigit(text[to]) {
		to++
	}
	if from == at || to == at+1 {
		return ""
	}
	return text[from:at] + "." + text[at+1:to]
}

// slip is the fix for a common slip in a statement that starts with word: want
// was expected and token found. "" where none is known.
func slip(word string, token lexer.Token, want string) string {
	switch found := token.Value; {
	case found == "forall":
		return "`forall i in 1..n:` stands before the relation"
	case word == "var" && token.Type == tokenIdent && suggestKind(found) != "":
		return suggestKind(found)
	case token.Type == tokenIdent && want == productionNames["WrittenType"]:
		return suggestType(found)
	case word == "fn" && found == "-":
		return "the type of the result is written `: real`"
	case word == "fn" && want == "`=`":
		return "the body follows `=`, as in `fn f(z) = 2 * z`"
	case word == "let" && found == ":":
		return "a `let` has no written type; leave it out"
	case word == "data" && found == "from":
		return "a model does not name its files: leave it out, and give the file with `--data FILE`"
	case (word == "var" || word == "data") && found == "..":
		return "a dimension is written as its size, as in `matrix[m, n]`, or as a set: `set hour = 0..23`, then `[hour]`"
	case word == "data" && found == "[":
		return "write `=` before the value"
	case (word == "var" || word == "param" || word == "data") && found == "," && want == "`:`":
		return "declare each name on a line of its own"
	case word == "var" && want == "`:`" && (found == "in" || token.EOF()):
		return "the type comes first, as in `var x: real in box(0, 1)`"
	case found == ",":
		return "statements are separated by newlines, without commas"
	case found == "=" && want == "the end of the statement":
		return "write `==` to compare"
	case found == "==" && want == "`=`":
		return "a definition is written with a single `=`"
	}
	return ""
}

// suggestKind is the fix for a word that may be meant as that of an integer or binary variable; "" for others.
func suggestKind(word string) string {
	switch strings.ToLower(word) {
	case "bool", "boolean", "bin":
		return "write `binary`"
	case "integers", "whole", "discrete":
		return "write `integer`"
	}
	return diag.Meant(word, []string{"integer", "binary"})
}

// suggestType is the fix for a type that the language does not have.
func suggestType(word string) string {
	switch word {
	case "float", "double", "scalar", "number":
		return "write `real`"
	case "integer":
		return "write `int`"
	case "string", "str", "label":
		return "write `text[row]`, with the index set of the rows"
	case "array", "list":
		return "write `vector[n]` or `matrix[m, n]`"
	}
	return diag.Meant(word, []string{"real", "int", "vector", "matrix", "text"})
}

// describe names a token in a message.
func (s *session) describe(t lexer.Token) string {
	switch {
	case t.EOF() || t.Type == tokenEnd:
		if strings.IndexByte(s.src.Text[s.behindLast(t.Pos.Offset):min(t.Pos.Offset, len(s.src.Text))], '\n') >= 0 {
			return "the end of the line"
		}
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
	if t.Type == tokenText {
		return "the label `" + t.Value + "`"
	}
	return "`" + spelling(t.Value) + "`"
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
	return productionNames[production]
}

// productionNames says what a production of the grammar is to the user.
var productionNames = map[string]string{
	"<ident>":     "a name",
	"Name":        "a name",
	"Expr":        "an expression",
	"WrittenType": "a type (`real`, `int`, `vector[n]`, `matrix[m, n]`, `[S, T]` over sets, or `text[S]`)",
	"SetLiteral":  "a set such as `{\"Rome\", \"Oslo\"}` or `0..23`",
	"VarSet":      "a set (`box(lo, hi)`, `nonneg`, `simplex(s)`, `ball(r)` or `free`)",
	"Source":      "a generator (`normal(mean, sd)` or `uniform(lo, hi)`)",
	"ColumnRange": "a column of a table, such as `x1`, `x1..x8` or `\"Sea level\"`",
	"ColumnName":  "a column of a table, such as `x1` or `\"Sea level\"`",
	"Parameter":   "a parameter",
	"Relation":    "a relation such as `a <= b`",
	"Indices":     "indices such as `i in 1..n`",
}

// statementForm shows the form of the statement that production P reads.
func statementForm[P any](c cut) string {
	switch any((*P)(nil)).(type) {
	case *solveItem:
		if c.word() == "start" {
			return "start VARIABLE = VALUE"
		}
		return "NAME = VALUE"
	case *reportItem:
		return "NAME = EXPRESSION"
	case *constraintLine:
		return "NAME: forall i in 1..n: LEFT <= RIGHT   (only LEFT <= RIGHT is needed)"
	}
	return statementForms[c.word()]
}

// statementForms shows the form of each statement, by its first word.
var statementForms = map[string]string{
	"model":    "model NAME",
	"param":    "param NAME: int = VALUE   (or `real`)",
	"data":     "data NAME: TYPE   (or `= VALUE`, or `~ normal(0, 1)`, or of a table: `column \"A b\"`, `columns A, B`)",
	"set":      "set NAME = {\"A\", \"B\"}   (or `= {i in SET if CONDITION}`, or `set NAME within SET * SET`, supplied as data)",
	"let":      "let NAME = EXPRESSION",
	"fn":       "fn NAME(z: vector, ...) = EXPRESSION",
	"var":      "var NAME: TYPE in SET   (or `TYPE integer in SET`, `TYPE binary`)",
	"minimize": "minimize EXPRESSION",
	"maximize": "maximize EXPRESSION",
}
