package elab

import (
	"fmt"
	"strings"

	"bilevelc/ir"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// A Fault is a rule that an expression breaks.
type Fault struct {
	Code    diag.Code
	At      lang.Node
	Summary string
	Detail  string
	Fix     string
	Related []diag.Related
}

func fault(code diag.Code, at lang.Node, format string, args ...any) *Fault {
	return &Fault{Code: code, At: at, Summary: fmt.Sprintf(format, args...)}
}

// maxQuote bounds the length of model text quoted in a message; longer text
// is cut, the caret shows the rest.
const maxQuote = 48

// Quote is the text of a node as messages show it, on one line.
func Quote(n lang.Node) string { return QuoteSpan(n.Span()) }

// QuoteSpan is the text of a place as messages show it.
func QuoteSpan(at diag.Span) string { return OneLine(at.Text()) }

// OneLine is a text as messages show it.
func OneLine(text string) string {
	cut := false
	// A rune is at most 4 bytes, and as much white space again may go.
	if limit := 8 * maxQuote; len(text) > limit {
		text, cut = strings.ToValidUTF8(text[:limit], ""), true
	}
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > maxQuote || cut {
		text = string(r[:min(len(r), maxQuote-3)]) + "..."
	}
	return text
}

// Quoted reports whether QuoteSpan shows all of a place.
func Quoted(at diag.Span) bool { return at.End-at.Start <= maxQuote }

// SizeOf spells an operand's shape in the user's names: "A is dh x dy".
func SizeOf(n lang.Node, t ir.Type) string { return Quote(n) + " is " + t.Size() }

// KindOf spells what an operand is: "a vector[n]", "a condition".
func KindOf(t ir.Type) string {
	switch t.Kind {
	case ir.IntType:
		return "an int"
	case ir.RealType:
		return "a real scalar"
	case ir.LabelType:
		return "a label"
	case ir.SetType:
		return "an index set"
	case ir.TextType:
		return "an array of texts"
	case ir.ArrayType:
		return "an array " + t.String()
	case ir.RowVectorType:
		return fmt.Sprintf("a row vector (%s)", t.Size())
	}
	return "a " + t.String()
}

// AsTexts is the declaration of data that hold texts where they are declared otherwise.
func AsTexts(d *lang.Data) string {
	return fmt.Sprintf("declare it as `data %s: text[%s]`", d.Name.Name, diag.Join(d.Type.Dims, ", ", func(e lang.Expr) string { return Quote(e) }))
}

// OperandText quotes an operand so that a postfix or an operator may follow.
func OperandText(e lang.Expr) string {
	switch e.(type) {
	case *lang.Binary, *lang.Unary, *lang.IfExpr:
		return "(" + Quote(e) + ")"
	}
	return Quote(e)
}

// TransposedText spells the transpose of an operand.
func TransposedText(e lang.Expr) string {
	if t, ok := e.(*lang.Transpose); ok {
		return OperandText(t.X)
	}
	return OperandText(e) + "'"
}
