package diag

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Shown is a text from outside (a label, a name, the name of a file, a message with
// one of them) as it may go to a terminal, a page or an editor: control characters,
// formatting characters (which turn the direction of text, or are not seen), line and
// paragraph separators and bytes that are no UTF-8 are written out, as \u{1b} and
// \x{ff}. Every printer of such texts uses it.
func Shown(text string) string { return written(text, "") }

// ShownLines is Shown for a text of several lines, which may have tabs.
func ShownLines(text string) string { return written(text, "\n\t") }

// ShownJSON is a JSON text with the characters in its strings that Shown writes out escaped, as JSON does: the same values.
// encoding/json escapes those below a space alone.
func ShownJSON(text []byte) []byte {
	var out []byte
	from := 0
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r >= 0x7f && n > 0 && !shown(r) && r != utf8.RuneError {
			out = append(out, text[from:i]...)
			for _, unit := range utf16.AppendRune(nil, r) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
			from = i + n
		}
		i += n
	}
	if from == 0 {
		return text
	}
	return append(out, text[from:]...)
}

func written(text, kept string) string {
	fine := func(r rune, n int) bool {
		return shown(r) || r == utf8.RuneError && n > 1 || strings.ContainsRune(kept, r) && r != utf8.RuneError
	}
	from := 0
	for from < len(text) {
		r, n := utf8.DecodeRuneInString(text[from:])
		if !fine(r, n) {
			break
		}
		from += n
	}
	if from == len(text) {
		return text
	}
	var b strings.Builder
	b.WriteString(text[:from])
	for i := from; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case fine(r, n):
			b.WriteString(text[i : i+n])
		case r == utf8.RuneError:
			fmt.Fprintf(&b, `\x{%02x}`, text[i])
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
		i += n
	}
	return b.String()
}

// shown reports whether a character may go to a terminal as it is: no control
// or formatting character (which includes those that reverse the direction of
// text), none that is no character, and no broken encoding.
func shown(r rune) bool {
	return r != utf8.RuneError && !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r) && r != '\u2028' && r != '\u2029' &&
		r&0xfffe != 0xfffe
}
