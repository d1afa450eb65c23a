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

// readCSVFile reads a file as an array, and, where it has a header, as a table
// as well: which of the two is meant follows from the model. A table may hold
// texts, so that what keeps it from being an array is no error yet.
func readCSVFile(r *reader, name string) {
	before := r.errors
	table := readCSVTable(r, name)
	if r.errors > before {
		return
	}
	if table == nil {
		r.one(name, readCSV)
		return
	}
	if name == "" {
		name = stem(r.file)
	}
	e := data.Entry{Name: name, Origin: r.file, Table: table}
	trial := &reader{file: r.file, text: r.text, set: &data.Set{}, source: r.source}
	var origin string
	if e.Array, origin = readCSV(trial, name); e.Array != nil {
		e.Origin = origin
	}
	_, e.Faults = trial.finish()
	r.set.Entries = append(r.set.Entries, e)
}

// readCSVTable reads a table with a header; nil where there is none, or where a file of
// numbers is broken, which reading it as an array reports.
func readCSVTable(r *reader, name string) *data.Table {
	if name == "" {
		name = stem(r.file)
	}
	trial := &reader{file: r.file, text: r.text, set: &data.Set{}}
	t := newTable(r, name)
	var fields []field
	texts := false // a cell is no number
	ok := trial.rows(func(start, end int, line string, sep byte) bool {
		if line == "" {
			return true
		}
		first := len(t.table.Columns) == 0
		if strings.HasPrefix(line, "#") {
			if !first && trial.commentedRow(start, end, sep, len(t.table.Columns)) {
				r.errorAt(diag.DataCSV, start, end, "a comment, as it starts with #, that has as many entries as a row of %s", name).Fix =
					"put its first entry in quotes if it is a row, or write a blank behind the `#`"
			}
			return true
		}
		var fine bool
		if fields, fine = trial.splitLine(fields[:0], start, end, sep); first && (!fine || !trial.isHeader(fields)) {
			return false
		}
		if !first && fine && len(fields) != len(t.table.Columns) {
			trial.errorAt(diag.DataRagged, start, end, "this row has %s, where the first line has %d",
				diag.Count(len(fields), "entry", "entries"), len(t.table.Columns))
		}
		if !first {
			t.row(start, end)
		}
		for j, f := range fields {
			word := trial.word(f)
			switch {
			case first && word == "":
				return false
			case first:
				t.column(word, f.start, f.end)
			case j < len(t.table.Columns):
				cell := cellOf(word)
				t.set(j, cell, f.start, f.end)
				texts = texts || !cell.IsNumber && !data.IsMissing(word)
			}
		}
		return true
	})
	if trial.errors > 0 && texts { // a table for sure
		r.errors, r.diags = r.errors+trial.errors, append(r.diags, trial.diags...)
	}
	if !ok || trial.errors > 0 || len(t.table.Columns) == 0 {
		return nil
	}
	return t.finish()
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

// readCSV reads a table of numbers: one line a row, fields apart by commas
// (or by semicolons or tabs, whichever the first line has), comments, which start
// with #, and blank lines at the end left out. A first line without any number
// in it is a header. One column makes a vector, several a matrix.
func readCSV(r *reader, name string) (*data.Array, string) {
	var (
		values []float64
		texts  []string
		fields []field
		rows   int
		cols   int
		header bool
		blank  = -1 // offset of a blank line, an error where a row follows
		above  = -1 // offset of the last comment before the first row
	)
	first := true
	complete := r.rows(func(start, end int, line string, sep byte) bool {
		if line == "" {
			if !first && blank < 0 {
				blank = start
			}
			return true
		}
		if strings.HasPrefix(line, "#") {
			if first {
				above = start
			}
			return true
		}
		if blank >= 0 {
			d := r.errorAt(diag.DataCSV, blank, blank, "a blank line inside the table")
			d.Detail = fmt.Sprintf("it stands before row %d of %s; a missing value would go unnoticed", rows+1, name)
			blank = -1
		}
		var ok bool
		if fields, ok = r.splitLine(fields[:0], start, end, sep); !ok {
			return false
		}
		if first {
			first = false
			cols = len(fields)
			if header = r.isHeader(fields); header {
				r.checkHeader(fields)
				return true
			}
		}
		if len(fields) != cols {
			r.errorAt(diag.DataRagged, start, end, "row %d of %s has %s, where the first line has %d",
				rows+1, name, diag.Count(len(fields), "entry", "entries"), cols)
		}
		at := entry{name, rows, -1}
		for j, f := range fields {
			if cols > 1 {
				at.col = j
			}
			v, kind := parseNumber(r.text[f.start:f.end])
			if kind == notNumber && !header && above >= 0 && r.commentedRow(above, r.endOfLine(above), sep, cols) {
				d := r.errorAt(diag.DataCSV, above, r.endOfLine(above), "the line above the table starts with # and is a comment, so that %s has no header", name)
				d.Detail = fmt.Sprintf("its first row has `%s`, which is not a number", r.text[f.start:f.end])
				d.Fix = "leave out the `#`, or put the name behind it in quotes"
				return false
			}
			if kind != finite {
				r.badNumber(kind, at, f.start, f.end)
			}
			if word := r.text[f.start:f.end]; texts != nil || isPadded(word) {
				for _, before := range values[len(texts):] {
					texts = append(texts, strconv.FormatFloat(before, 'g', -1, 64))
				}
				texts = append(texts, word)
			}
			values = append(values, v)
		}
		rows++
		return true
	})
	if !complete {
		return nil, ""
	}
	if rows == 0 && r.errors == 0 {
		r.errorAt(diag.DataCSV, 0, 0, "the file holds no numbers")
	}
	if r.errors > 0 {
		return nil, ""
	}
	origin := r.file
	if header {
		origin += " (first line read as a header)"
	}
	array := data.Matrix(rows, cols, values)
	if cols == 1 {
		array = data.Vector(values)
	}
	array.Texts = texts
	return array, origin
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

// checkHeader refuses a column without a name: that is how programs write an
// index column, which would be taken for data.
func (r *reader) checkHeader(fields []field) {
	for j, f := range fields {
		if f.start == f.end {
			d := r.errorAt(diag.DataCSV, f.start, f.end, "column %d has no name in the header", j+1)
			d.Detail = "an unnamed column is usually an index, not data"
			d.Fix = "write the table without its index"
		}
	}
}
