package lang

import (
	"strconv"
	"strings"
	"unicode"

	"bilevelc/lang/diag"
)

var quoting, unquoting = strings.NewReplacer(`\`, `\\`, `"`, `\"`), strings.NewReplacer(`\\`, `\`, `\"`, `"`)

// Quote writes a label as the language reads it: in double quotes, with \
// before a double quote or a \ inside.
func Quote(label string) string {
	return `"` + quoting.Replace(label) + `"`
}

// Unquote is the label that a text in double quotes stands for.
func Unquote(text string) string {
	text = strings.TrimSuffix(strings.TrimPrefix(text, `"`), `"`)
	return unquoting.Replace(text)
}

// IsName reports whether a text can be a name in a model, reserved words aside.
func IsName(text string) bool {
	for i, c := range text {
		if c == 'ᵀ' || c != '_' && !unicode.IsLetter(c) && (i == 0 || !unicode.IsDigit(c)) {
			return false
		}
	}
	return text != ""
}

// LabelOf is the label that a text or a number in a model stands for.
func LabelOf(x Expr) string {
	switch x := x.(type) {
	case *Text:
		return x.Value
	case *Number:
		return x.Text
	}
	return ""
}

// LabelText is a label as messages, row names and subscripts show it: bare
// where it is a number that a model can write, else in quotes, with what cannot be
// seen written out.
func LabelText(label string) string {
	if IsNumberLabel(label) {
		return label
	}
	return diag.Shown(Quote(label))
}

// IsNumberLabel reports whether a label is the canonical text of an integer,
// so that a model may write it without quotes.
func IsNumberLabel(label string) bool {
	n, err := strconv.Atoi(label)
	return err == nil && strconv.Itoa(n) == label
}

// TupleText is an element as row names show it: its labels, with commas
// between them.
func TupleText(parts []string) string {
	return diag.Join(parts, ", ", LabelText)
}
