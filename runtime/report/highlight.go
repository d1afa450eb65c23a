package report

import (
	"html/template"
	"strings"

	"bilevelc/lang/diag"
	"bilevelc/parser"
)

// tokenClasses are the classes of the kinds of tokens in a page's style.
var tokenClasses = map[parser.TokenKind]string{
	parser.TokenKeyword: "kw", parser.TokenNumber: "nu", parser.TokenLabel: "st", parser.TokenComment: "co", parser.TokenOperator: "op",
}

// highlight is a model's text as HTML: one <span class="line"> a line, with the tokens
// that the language's own scanner finds in spans of their classes, and a <mark> with
// its message over the place of each diagnostic.
func highlight(src *diag.Source, diags diag.List) template.HTML {
	text := src.Text
	class := make([]string, len(text))
	for _, t := range parser.Tokens(src) {
		for k := t.Start; k < t.End && k < len(text); k++ {
			class[k] = tokenClasses[t.Kind]
		}
	}
	marked := make([]int, len(text)) // 1 + the diagnostic
	for i, d := range diags {
		if d.Subject.Source == nil || d.Subject.Source.Text != text {
			continue
		}
		for k := d.Subject.Start; k < d.Subject.End && k < len(text); k++ {
			if marked[k] == 0 {
				marked[k] = i + 1
			}
		}
	}
	var b strings.Builder
	start := 0
	for _, line := range strings.SplitAfter(text, "\n") {
		if line == "" {
			continue
		}
		b.WriteString(`<span class="line">`)
		end := start + len(strings.TrimRight(line, "\r\n"))
		for k := start; k < end; {
			next := k + 1
			for next < end && class[next] == class[k] && marked[next] == marked[k] {
				next++
			}
			piece := template.HTMLEscapeString(diag.ShownLines(text[k:next]))
			if class[k] != "" {
				piece = `<span class="` + class[k] + `">` + piece + `</span>`
			}
			if marked[k] > 0 {
				d := diags[marked[k]-1]
				piece = `<mark title="` + template.HTMLEscapeString(diag.Shown(string(d.Code)+": "+d.Summary)) + `">` + piece + `</mark>`
			}
			b.WriteString(piece)
			k = next
		}
		b.WriteString("</span>\n")
		start += len(line)
	}
	return template.HTML(b.String())
}
