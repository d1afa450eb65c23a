package datafile

import (
	"math"
	"strconv"
	"strings"

	"bilevelc/ir/data"
	"bilevelc/lang/diag"
)

// numberKind tells what a written word is, as a number.
type numberKind uint8

const (
	notNumber numberKind = iota
	notFinite            // NaN, an infinity, or beyond the range of a float64
	finite
)

// parseNumber reads a decimal number: sign, digits with an optional point,
// exponent. Hexadecimal, digit separators and thousands are not numbers here.
func parseNumber(s string) (float64, numberKind) {
	if !isDecimal(s) {
		if isNonFiniteWord(s) {
			return 0, notFinite
		}
		return 0, notNumber
	}
	v, _ := strconv.ParseFloat(s, 64) // the only error left is overflow, which gives an infinity
	if math.IsInf(v, 0) {
		return 0, notFinite
	}
	return v, finite
}

// isDecimal matches [+-]? (digits [. digits?] | . digits) ([eE] [+-]? digits)?
func isDecimal(s string) bool {
	i := skipSign(s, 0)
	whole := digits(s, i)
	i += whole
	fraction := 0
	if i < len(s) && s[i] == '.' {
		i++
		fraction = digits(s, i)
		i += fraction
	}
	if whole+fraction == 0 {
		return false
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i = skipSign(s, i+1)
		n := digits(s, i)
		if n == 0 {
			return false
		}
		i += n
	}
	return i == len(s)
}

// isPadded matches integers that are written otherwise than their numbers: 01, +1, -0.
func isPadded(s string) bool {
	i := skipSign(s, 0)
	return len(s) > 1 && (s[0] == '+' || i < len(s) && s[i] == '0') && digits(s, i) == len(s)-i
}

func skipSign(s string, i int) int {
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	return i
}

// digits is how many decimal digits stand in s from i.
func digits(s string, i int) int {
	n := 0
	for i+n < len(s) && s[i+n] >= '0' && s[i+n] <= '9' {
		n++
	}
	return n
}

// isNonFiniteWord matches what programs write for NaN and infinities.
func isNonFiniteWord(s string) bool {
	switch strings.ToLower(s[skipSign(s, 0):]) {
	case "nan", "inf", "infinity":
		return true
	}
	return false
}

// badNumber reports the word at [start, end), which is no finite number, at
// place at.
func (r *reader) badNumber(kind numberKind, at entry, start, end int) {
	word := r.text[start:end]
	switch {
	case kind == notFinite && isDecimal(word):
		d := r.errorAt(diag.DataNotFinite, start, end, "%s is %s, beyond the range of a double", at, clip(word))
		d.Detail = "the largest finite value is 1.797e308"
	case kind == notFinite:
		r.errorAt(diag.DataNotFinite, start, end, "%s is %s; every entry must be finite", at, clip(word))
	case data.IsMissing(word):
		d := r.errorAt(diag.DataNotNumber, start, end, "%s is missing", at)
		d.Detail = "expected a number"
	default:
		d := r.errorAt(diag.DataNotNumber, start, end, "%s is %s, not a number", at, clip(word))
		if fixed := strings.Replace(word, ",", ".", 1); fixed != word && isDecimal(fixed) {
			d.Fix = "write the decimal point as in " + fixed
		}
	}
}

// clip shortens a word of the file for a message, and quotes it where it has
// odd characters.
func clip(s string) string {
	const width = 40 // enough to recognise it
	if len(s) > width {
		s = s[:width] + "..."
	}
	if q := strconv.Quote(s); len(q) != len(s)+2 {
		return q
	}
	return "`" + s + "`"
}
