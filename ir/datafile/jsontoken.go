package datafile

import (
	"fmt"
	"strings"

	"bilevelc/lang/diag"
)

// number reads one number. fine is false where something else stands there,
// which it reports and skips.
func (p *jsonReader) number(at entry) (v float64, fine bool) {
	start := p.pos
	switch p.peek() {
	case '[':
		p.skip()
		d := p.errorAt(diag.DataRank, start, start+1, "%s is a list", at)
		d.Detail = "expected a number: arrays have at most two dimensions"
		return 0, false
	case '{':
		p.skip()
		d := p.errorAt(diag.DataNotNumber, start, start+1, "%s is an object, not a number", at)
		d.Detail = "expected a number, a list, or a list of lists of equal length"
		return 0, false
	case '"':
		p.stringToken()
		if isNonFiniteWord(p.text[start+1 : p.pos-1]) {
			p.badNumber(notFinite, at, start+1, p.pos-1)
		} else {
			d := p.errorAt(diag.DataNotNumber, start, p.pos, "%s is the string %s, not a number", at, clip(p.text[start+1:p.pos-1]))
			if at.row < 0 {
				d.Fix = fmt.Sprintf("if `%s` is a set or holds texts, give them as a list, as in [%s]", at.name, p.text[start:p.pos])
			} else {
				d.Fix = fmt.Sprintf("if `%s` is a set or holds texts, write its numbers in quotes as well", at.name)
			}
		}
		return 0, false
	}
	word := p.word()
	if word == "" {
		p.fail(fmt.Sprintf("expected the value of %s", at))
	}
	v, kind := parseNumber(word)
	if kind == finite && !isJSONNumber(word) {
		d := p.errorAt(diag.DataNotNumber, start, p.pos, "%s is %s, which JSON does not allow", at, clip(word))
		d.Detail = "expected digits on both sides of a point, and no plus sign or leading zeros"
		return 0, false
	}
	if kind != finite {
		p.badNumber(kind, at, start, p.pos)
	}
	return v, kind == finite
}

// isJSONNumber tells a decimal number that JSON allows from those (+1, 01,
// .5, 5.) that it does not.
func isJSONNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	n := digits(s, 0)
	if n == 0 || n > 1 && s[0] == '0' {
		return false
	}
	return n == len(s) || s[n] != '.' || digits(s, n+1) > 0
}

// word reads up to the next white space or punctuation.
func (p *jsonReader) word() string {
	start := p.pos
	for p.pos < len(p.text) && !strings.ContainsRune(" \t\r\n,:[]{}\"", rune(p.text[p.pos])) {
		p.pos++
	}
	return p.text[start:p.pos]
}

// stringToken reads a string in quotes; the escapes are not looked at.
func (p *jsonReader) stringToken() {
	start := p.pos
	for p.pos++; p.pos < len(p.text); p.pos++ {
		switch p.text[p.pos] {
		case '\\':
			p.pos++
		case '"':
			p.pos++
			return
		case '\n':
			p.errorAt(diag.DataJSON, start, p.pos, "a string is not closed on its line")
			panic(broken{})
		}
	}
	p.pos = len(p.text)
	p.errorAt(diag.DataJSON, start, p.pos, "the file ends inside a string")
	panic(broken{})
}

// skip passes one value of any depth without recursion.
func (p *jsonReader) skip() {
	start := p.pos
	depth := 0
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; c {
		case '[', '{':
			depth++
			p.pos++
		case ']', '}':
			depth--
			p.pos++
		case '"':
			p.stringToken()
		case ' ', '\t', '\r', '\n', ',', ':':
			p.pos++
		default:
			p.word()
		}
		if depth == 0 {
			return
		}
		if depth < 0 {
			break
		}
	}
	p.errorAt(diag.DataJSON, start, min(start+1, len(p.text)), "this value has no end")
	panic(broken{})
}

func (p *jsonReader) space() {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\t', '\r', '\n':
			p.pos++
		default:
			return
		}
	}
}

// peek is the next byte, 0 at the end.
func (p *jsonReader) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

// syntax reports broken syntax at the current place, or the file's end.
func (p *jsonReader) syntax(summary, detail string) *diag.Diagnostic {
	if p.pos >= len(p.text) && summary != "the file is empty" {
		summary = "the file ends early: " + summary
	}
	d := p.errorAt(diag.DataJSON, p.pos, min(p.pos+1, len(p.text)), "%s", summary)
	d.Detail = detail
	return d
}

// fail is syntax, after which nothing can be read.
func (p *jsonReader) fail(summary string) {
	p.syntax(summary, "")
	panic(broken{})
}
