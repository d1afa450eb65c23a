package diag

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tabWidth is the distance of tab stops in rendered source lines.
const tabWidth = 4

// maxColumns bounds a rendered source line; a longer one (a data literal, say)
// is cut around the underlined part.
const maxColumns = 100

// laidLine is a source line as shown, and the columns [from, to) of its
// underlined part in it.
type laidLine struct {
	text     string
	from, to int
}

// layoutLine expands tabs, replaces what cannot be shown, and cuts the line to
// maxColumns around bytes [from, to). Columns count terminal cells: a wide
// character has two, a combining one none.
func layoutLine(line string, from, to int) laidLine {
	line, from, to = window(line, from, to)
	var b strings.Builder
	l := laidLine{from: -1, to: -1}
	column := 0
	for i := 0; i <= len(line); {
		if i >= from && l.from < 0 {
			l.from = column
		}
		if i >= to && l.to < 0 {
			l.to = column
		}
		if i == len(line) {
			break
		}
		r, n := utf8.DecodeRuneInString(line[i:])
		switch {
		case r == '\t':
			stop := tabWidth - column%tabWidth
			b.WriteString(strings.Repeat(" ", stop))
			column += stop
		case !shown(r):
			b.WriteRune(utf8.RuneError)
			column++
		default:
			b.WriteRune(r)
			column += cells(r)
		}
		i += n
	}
	l.text = b.String()
	return l
}

// window cuts line to at most maxColumns bytes around [from, to), at character
// boundaries, with "..." where something was cut. A long [from, to) is cut at
// its end.
func window(line string, from, to int) (string, int, int) {
	if len(line) <= maxColumns {
		return line, from, to
	}
	start := max(0, min(from-maxColumns/3, len(line)-maxColumns))
	end := min(len(line), start+maxColumns)
	for start > 0 && !utf8.RuneStart(line[start]) {
		start--
	}
	for end < len(line) && !utf8.RuneStart(line[end]) {
		end++
	}
	from, to = from-start, min(to, end)-start
	cut := line[start:end]
	if start > 0 {
		cut = "..." + cut
		from, to = from+3, to+3
	}
	if end < len(line) {
		cut += "..."
	}
	return cut, from, to
}

// wide holds the ranges of East Asian wide and fullwidth characters and of
// emoji (Unicode Standard Annex 11), coarsely.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1}, {0x2e80, 0x303e, 1}, {0x3041, 0x33ff, 1}, {0x3400, 0x4dbf, 1},
		{0x4e00, 0x9fff, 1}, {0xa000, 0xa4cf, 1}, {0xac00, 0xd7a3, 1}, {0xf900, 0xfaff, 1},
		{0xfe30, 0xfe6f, 1}, {0xff00, 0xff60, 1}, {0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{
		{0x1f300, 0x1f64f, 1}, {0x1f680, 0x1f6ff, 1}, {0x1f900, 0x1f9ff, 1}, {0x20000, 0x3fffd, 1},
	},
}

// cells is the number of terminal cells of a character.
func cells(r rune) int {
	switch {
	case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}
