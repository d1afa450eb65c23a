package lsp

import (
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Position is a place in a text as the protocol has it: line and character from 0,
// the character in UTF-16 code units.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// Range is a half-open range of a text.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// lineIndex turns offsets in bytes into positions and back. A line ends with \n,
// \r\n or \r, as the protocol has it.
type lineIndex struct {
	text   string
	starts []int // of each line
}

func newLineIndex(text string) *lineIndex {
	x := &lineIndex{text: text, starts: []int{0}}
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' || text[i] == '\r' && !strings.HasPrefix(text[i+1:], "\n") {
			x.starts = append(x.starts, i+1)
		}
	}
	return x
}

// position is that of an offset, moved into the text and to the start of its
// character.
func (x *lineIndex) position(offset int) Position {
	offset = max(0, min(offset, len(x.text)))
	line := sort.SearchInts(x.starts, offset+1) - 1
	units := 0
	for i := x.starts[line]; i < offset; {
		r, n := utf8.DecodeRuneInString(x.text[i:])
		if i += n; i <= offset {
			units += utf16.RuneLen(r)
		}
	}
	return Position{line, units}
}

// offset is that of a position; one behind the end of its line is at the end, as
// the protocol has it, and one inside a character at its start.
func (x *lineIndex) offset(p Position) int {
	if p.Line < 0 {
		return 0
	}
	if p.Line >= len(x.starts) {
		return len(x.text)
	}
	at, end := x.starts[p.Line], len(x.text)
	if p.Line+1 < len(x.starts) {
		end = x.starts[p.Line+1]
		end -= len(x.text[at:end]) - len(strings.TrimRight(x.text[at:end], "\r\n"))
	}
	for units := 0; at < end; {
		r, n := utf8.DecodeRuneInString(x.text[at:])
		if units += utf16.RuneLen(r); units > p.Character {
			break
		}
		at += n
	}
	return at
}

func (x *lineIndex) span(start, end int) Range {
	return Range{x.position(start), x.position(max(start, end))}
}
