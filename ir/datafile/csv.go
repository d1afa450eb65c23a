package datafile

import (
	"fmt"
	"strconv"
	"strings"

	"bilevelc/ir/data"
	"bilevelc/lang/diag"
)

// field is one cell of a line: its bytes in the text, without quotes and
// surrounding blanks.
type field struct {
	start, end int
	quoted     bool
	escaped    bool // it holds quotes, written twice, or ends of lines
}

// word is what stands in a cell (RFC 4180, as encoding/csv reads it).
func (r *reader) word(f field) string {
	word := r.text[f.start:f.end]
	if f.escaped {
		word = strings.ReplaceAll(strings.ReplaceAll(word, `""`, `"`), "\r\n", "\n")
	}
	return word
}

// csvFile is a CSV file being read: one line a row, fields apart by commas (or by semicolons or tabs, whichever the first
// line has), comments, which start with #, and blank lines at the end left out. A first line without any number
// in it is a header. With a header the file is a table, and where its cells are numbers an array as well: which of
// the two is meant follows from the model, so that what keeps it from being an array is no error yet.
type csvFile struct {
	*reader
	name    string
	table   *tableBuilder // nil without a header
	numbers *reader       // takes what is wrong with the array
	fields  []field
	cols    int // 0 before the first line
	count   int // of rows
	values  []float64
	texts   []string // what stands for values; nil while no number is padded
	blank   int      // offset of a blank line, an error where a row follows; -1 for none
	above   int      // offset of the last comment before the first line; -1 for none
}

func readCSVFile(r *reader, name string) {
	c := &csvFile{reader: r, name: name, numbers: r, blank: -1, above: -1}
	if name == "" {
		c.name = stem(r.file)
	}
	if !r.rows(c.row) || c.cols == 0 && name == "" && !r.named(c.name) {
		return
	}
	if c.count == 0 && c.numbers.errors == 0 {
		c.numbers.errorAt(diag.DataCSV, 0, 0, "the file holds no numbers")
	}
	e := data.Entry{Name: c.name, Origin: r.file}
	if c.table != nil {
		e.Table = c.table.finish()
		_, e.Faults = c.numbers.finish()
	}
	if r.errors > 0 {
		return
	}
	if c.numbers.errors == 0 {
		e.Array = c.array()
		if c.table != nil {
			e.Origin += " (first line read as a header)"
		}
	}
	r.set.Entries = append(r.set.Entries, e)
}

// array is what the values make: one column a vector, several a matrix.
func (c *csvFile) array() *data.Array {
	a := data.Matrix(c.count, c.cols, c.values)
	if c.cols == 1 {
		a = data.Vector(c.values)
	}
	a.Texts = c.texts
	return a
}

// row reads a line, and reports whether the file can be read on.
func (c *csvFile) row(start, end int, line string, sep byte) (ok bool) {
	switch {
	case line == "":
		if c.cols > 0 && c.blank < 0 {
			c.blank = start
		}
		return true
	case strings.HasPrefix(line, "#"):
		if c.cols == 0 {
			c.above = start
		} else if c.table != nil && c.commentedRow(start, end, sep, c.cols) {
			c.errorAt(diag.DataCSV, start, end, "a comment, as it starts with #, that has as many entries as a row of %s", c.name).Fix =
				"put its first entry in quotes if it is a row, or write a blank behind the `#`"
		}
		return true
	}
	if c.fields, ok = c.splitLine(c.fields[:0], start, end, sep); !ok {
		return false
	}
	switch first := c.cols == 0; {
	case first && c.isHeader(c.fields):
		return c.header()
	case first && c.name == stem(c.file) && !c.named(c.name):
		return false
	case first:
		c.cols = len(c.fields)
	}
	if c.blank >= 0 {
		d := c.numbers.errorAt(diag.DataCSV, c.blank, c.blank, "a blank line inside the table")
		d.Detail = fmt.Sprintf("it stands before row %d of %s; a missing value would go unnoticed", c.count+1, c.name)
		c.blank = -1
	}
	if len(c.fields) != c.cols {
		what := fmt.Sprintf("row %d of %s", c.count+1, c.name)
		if c.table != nil {
			what = "this row"
		}
		c.errorAt(diag.DataRagged, start, end, "%s has %s, where the first line has %d", what, diag.Count(len(c.fields), "entry", "entries"), c.cols)
	}
	if c.table != nil {
		c.table.row(start, end)
	}
	for j, f := range c.fields {
		if c.table != nil && j < c.cols {
			c.table.set(j, cellOf(c.word(f)), f.start, f.end)
		}
		if !c.number(j, f, sep) {
			return false
		}
	}
	c.count++
	return true
}

// header takes the first line as the names of columns.
func (c *csvFile) header() bool {
	c.cols, c.table = len(c.fields), newTable(c.reader, c.name)
	c.numbers = &reader{file: c.file, text: c.text, set: &data.Set{}, source: c.source}
	for j, f := range c.fields {
		if f.start == f.end { // that is how programs write an index column, which would be taken for data
			d := c.errorAt(diag.DataCSV, f.start, f.end, "column %d has no name in the header", j+1)
			d.Detail = "an unnamed column is usually an index, not data"
			d.Fix = "write the table without its index"
		}
		c.table.column(c.word(f), f.start, f.end)
	}
	return c.errors == 0
}

// number reads a field of a row as an entry of the array.
func (c *csvFile) number(j int, f field, sep byte) bool {
	word, at := c.text[f.start:f.end], entry{c.name, c.count, -1}
	if c.cols > 1 {
		at.col = j
	}
	v, kind := parseNumber(word)
	if kind == notNumber && c.table == nil && c.above >= 0 && c.commentedRow(c.above, c.endOfLine(c.above), sep, c.cols) {
		d := c.errorAt(diag.DataCSV, c.above, c.endOfLine(c.above), "the line above the table starts with # and is a comment, so that %s has no header", c.name)
		d.Detail = fmt.Sprintf("its first row has `%s`, which is not a number", word)
		d.Fix = "leave out the `#`, or put the name behind it in quotes"
		return false
	}
	if kind != finite {
		c.numbers.badNumber(kind, at, f.start, f.end)
	}
	if c.texts != nil || isPadded(word) {
		for _, before := range c.values[len(c.texts):] {
			c.texts = append(c.texts, strconv.FormatFloat(before, 'g', -1, 64))
		}
		c.texts = append(c.texts, word)
	}
	c.values = append(c.values, v)
	return true
}

// rows calls read at each row, with its place, the text of its line without white space around it,
// and what stands between fields, until it returns false. A blank line is a row of no text. A line
// that starts with # and is not empty or a blank behind it is left to read.
func (r *reader) rows(read func(start, end int, line string, sep byte) bool) bool {
	pos, sep := 0, byte(0)
	if strings.HasPrefix(r.text, byteOrderMark) {
		pos = len(byteOrderMark)
	}
	for pos < len(r.text) {
		start, end := pos, r.endOfLine(pos)
		line := strings.TrimSpace(r.text[start:end])
		if line != "" && !strings.HasPrefix(line, "#") {
			if sep == 0 {
				sep = separator(r.text[start:], line)
			}
			end = r.endOfRow(start, sep)
		}
		pos = end + 1
		if comment := strings.TrimLeft(line, "#"); comment != line && (comment == "" || isBlank(comment[0])) {
			continue
		}
		if !read(start, end, line, sep) {
			return false
		}
	}
	return true
}

// commentedRow reports whether a line that starts with # has as many fields as a table: it may be
// a row whose first text starts so.
func (r *reader) commentedRow(start, end int, sep byte, cols int) bool {
	if sep == 0 {
		sep = separator(r.text[start:end], r.text[start:end])
	}
	trial := &reader{file: r.file, text: r.text, set: &data.Set{}}
	fields, ok := trial.splitLine(nil, start, end, sep)
	return ok && len(fields) == cols
}

// endOfLine is where the line of a place ends.
func (r *reader) endOfLine(pos int) int {
	if end := strings.IndexByte(r.text[pos:], '\n'); end >= 0 {
		return pos + end
	}
	return len(r.text)
}

// endOfRow is where the row that begins at a place ends: with its line, or a later one
// where lines end inside quotes. A quote that is never closed ends with its line.
func (r *reader) endOfRow(start int, sep byte) int {
	begins, quoted := true, false
	for pos := start; pos < len(r.text); pos++ {
		switch c := r.text[pos]; {
		case quoted:
			quoted = c != '"' // of two the second one opens again
			if !quoted && pos+1 < len(r.text) && r.text[pos+1] == '"' {
				pos, quoted = pos+1, true
			}
		case c == '\n':
			return pos
		case c == sep:
			begins = true
		case c == '"' && begins:
			begins, quoted = false, true
		case !isBlank(c):
			begins = false
		}
	}
	if quoted {
		return r.endOfLine(start)
	}
	return len(r.text)
}

// separator decides what stands between fields, by the first row of a text: what
// quotes hold is none, which may have ends of lines. A semicolon wins, for where
// it is in use the comma is a decimal point, which is refused with a message. Quotes
// that do not close are characters of the line.
func separator(text, line string) byte {
	const rising = ",\t;"
	best, quoted := 0, false
	for i := 0; i < len(text) && (quoted || text[i] != '\n' && text[i] != '\r'); i++ {
		if text[i] == '"' {
			quoted = !quoted
		} else if !quoted {
			best = max(best, strings.IndexByte(rising, text[i]))
		}
	}
	for i := 0; i < len(line) && quoted; i++ {
		best = max(best, strings.IndexByte(rising, line[i]))
	}
	return rising[best]
}

// splitLine appends the fields of the row [start, end). It reports a quote
// that is not closed and returns false.
func (r *reader) splitLine(fields []field, start, end int, sep byte) ([]field, bool) {
	if end > start && r.text[end-1] == '\r' {
		end--
	}
	for pos := start; ; pos++ {
		for pos < end && r.text[pos] != sep && isBlank(r.text[pos]) {
			pos++
		}
		f := field{start: pos}
		if pos < end && r.text[pos] == '"' {
			f.quoted = true
			f.start++
			close := f.start
			for close < end && r.text[close] != '"' || close+1 < end && r.text[close+1] == '"' {
				if r.text[close] == '"' {
					close++
				}
				close++
			}
			if close >= end {
				r.errorAt(diag.DataCSV, pos, end, "a quote is not closed")
				return fields, false
			}
			f.end, f.escaped = close, strings.ContainsAny(r.text[f.start:close], "\"\n")
			pos = f.end + 1
			for pos < end && r.text[pos] != sep && isBlank(r.text[pos]) {
				pos++
			}
			if pos < end && r.text[pos] != sep {
				r.errorAt(diag.DataCSV, f.start-1, pos+1, "text after a closing quote")
				return fields, false
			}
		} else {
			for pos < end && r.text[pos] != sep {
				pos++
			}
			f.end = pos
			for f.end > f.start && isBlank(r.text[f.end-1]) {
				f.end--
			}
		}
		fields = append(fields, f)
		if pos >= end {
			return fields, true
		}
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// isHeader reports whether no field of the first line is a number, or stands
// for one that is not finite or missing.
func (r *reader) isHeader(fields []field) bool {
	named := false
	for _, f := range fields {
		word := r.text[f.start:f.end]
		_, kind := parseNumber(word)
		if !f.quoted && (kind != notNumber || word != "" && data.IsMissing(word)) {
			return false
		}
		named = named || f.quoted || strings.IndexFunc(word, isLetter) == 0
	}
	return named
}

func isLetter(c rune) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c > 127
}
