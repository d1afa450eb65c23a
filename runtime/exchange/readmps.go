package exchange

import (
	"math"
	"strconv"
	"strings"

	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/lang/diag"
)

// unlimited is from where on a bound in an MPS file stands for none: the infinity of SCIP, HiGHS and others.
const unlimited = 1e20

// mpsReader reads MPS, free or fixed, fields cut at blanks.
type mpsReader struct {
	program *Program
	section string
	integer bool
	free    map[string]bool // rows of type N but the first
	row     map[string]int
	column  map[string]int
	letters []string
	entries []sparse.Entry
	bounded map[int]bool // columns with a bound of their own
	rhs     []float64
	ranges  map[int]float64
	goal    string // the objective
	places  []diag.Span
}

// field is a word of a line, with its place.
type field struct {
	text string
	at   diag.Span
}

// fieldsOf cuts a text into lines of fields; comments, which begin with one of the marks, are left out.
func fieldsOf(src *diag.Source, marks string, each func(fields []field, indented bool) bool) {
	offset := 0
	for line := range strings.Lines(src.Text) {
		start := offset
		offset += len(line)
		body := strings.TrimRight(line, "\r\n")
		if body == "" || strings.IndexByte(marks, body[0]) >= 0 {
			continue
		}
		var out []field
		for i := 0; i < len(body); {
			if body[i] == ' ' || body[i] == '\t' {
				i++
				continue
			}
			end := i
			for end < len(body) && body[end] != ' ' && body[end] != '\t' {
				end++
			}
			out = append(out, field{body[i:end], diag.Span{Source: src, Start: start + i, End: start + end}})
			i = end
		}
		if len(out) > 0 && !each(out, body[0] == ' ' || body[0] == '\t') {
			return
		}
	}
}

// parseMPS reads a linear program with whole numbers. Conventions that files rely on: the right-hand side of the
// objective is its constant, negated; an integer column without bounds is binary; a negative UP bound of a column without LO
// opens it below. Sections beyond (SOS, QUADOBJ, ...) are refused. Columns has the places of the columns' names.
func parseMPS(src *diag.Source) (p *Program, columns []diag.Span) {
	r := &mpsReader{program: &Program{}, free: map[string]bool{}, row: map[string]int{}, column: map[string]int{},
		bounded: map[int]bool{}, ranges: map[int]float64{}}
	ended := false
	fieldsOf(src, "*", func(fields []field, indented bool) bool {
		if indented {
			r.line(fields)
		} else if ended = fields[0].text == "ENDATA"; !ended {
			r.head(fields)
		}
		return !ended
	})
	hold(ended, diag.Span{Source: src, Start: len(src.Text), End: len(src.Text)}, "the file ends without ENDATA")
	r.finish()
	return r.program, r.places
}

// hold ends the reading of a file where something is not so (package must).
func hold(so bool, at diag.Span, format string, args ...any) {
	if !so {
		var list diag.List
		list.Errorf(diag.DataMPS, at, format, args...)
		must.Do(list)
	}
}

func (r *mpsReader) head(f []field) {
	r.section = strings.ToUpper(f[0].text)
	switch r.section {
	case "NAME":
		if len(f) > 1 {
			r.program.Name = f[1].text
		}
	case "OBJSENSE":
		if len(f) > 1 {
			r.sense(f[1])
		}
	case "ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS":
	default:
		hold(false, f[0].at, "a section `%s`, which linear bilevel programs do not have", f[0].text)
	}
}

func (r *mpsReader) sense(f field) {
	switch strings.ToUpper(f.text) {
	case "MAX", "MAXIMIZE", "MAXIMISE":
		r.program.Maximize = true
	case "MIN", "MINIMIZE", "MINIMISE":
		r.program.Maximize = false
	default:
		hold(false, f.at, "expected MIN or MAX, found `%s`", f.text)
	}
}

func (r *mpsReader) line(f []field) {
	switch r.section {
	case "OBJSENSE":
		r.sense(f[0])
	case "ROWS":
		r.rowLine(f)
	case "COLUMNS":
		r.columnLine(f)
	case "RHS":
		r.pairs(f, r.side)
	case "RANGES":
		r.pairs(f, func(row field, v float64) {
			if i, ok := r.known(row); ok {
				r.ranges[i] = v
			}
		})
	case "BOUNDS":
		r.boundLine(f)
	default:
		hold(false, f[0].at, "a line before any section")
	}
}

func (r *mpsReader) rowLine(f []field) {
	hold(len(f) == 2, f[0].at, "expected the type and the name of a row")
	name, letter := f[1].text, strings.ToUpper(f[0].text)
	_, twice := r.row[name]
	hold(!twice && !r.free[name] && name != r.goal, f[1].at, "a second row `%s`", name)
	switch letter {
	case "N":
		if r.goal == "" {
			r.goal = name
		} else {
			r.free[name] = true
		}
	case "L", "G", "E":
		r.row[name] = len(r.program.Rows)
		r.program.Rows = append(r.program.Rows, Row{Name: name})
		r.letters, r.rhs = append(r.letters, letter), append(r.rhs, 0)
	default:
		hold(false, f[0].at, "`%s` is no type of a row: N, L, G or E", f[0].text)
	}
}

// known finds a row that counts; free rows do not, and unknown ones are faults.
func (r *mpsReader) known(f field) (int, bool) {
	i, ok := r.row[f.text]
	hold(ok || r.free[f.text], f.at, "there is no row `%s`", f.text)
	return i, ok
}

func (r *mpsReader) value(f field) float64 {
	v, err := strconv.ParseFloat(strings.NewReplacer("D", "e", "d", "e").Replace(f.text), 64)
	hold((err == nil || math.IsInf(v, 0)) && !math.IsNaN(v), f.at, "`%s` is no number", f.text)
	return v
}

// pairs reads names with numbers, behind the name of a vector where the number of fields is odd.
func (r *mpsReader) pairs(f []field, take func(name field, v float64)) {
	hold(len(f) > 1, f[0].at, "expected a row and a number")
	if len(f)%2 == 1 {
		f = f[1:]
	}
	for k := 0; k < len(f); k += 2 {
		take(f[k], r.value(f[k+1]))
	}
}

func (r *mpsReader) side(row field, v float64) {
	if row.text == r.goal {
		r.program.Const = 0 - v
		return
	}
	if i, ok := r.known(row); ok {
		r.rhs[i] = v
	}
}

func (r *mpsReader) columnLine(f []field) {
	if len(f) >= 3 && strings.Trim(f[1].text, "'") == "MARKER" {
		switch strings.Trim(f[len(f)-1].text, "'") {
		case "INTORG":
			r.integer = true
		case "INTEND":
			r.integer = false
		default:
			hold(false, f[len(f)-1].at, "a marker that is neither 'INTORG' nor 'INTEND'")
		}
		return
	}
	hold(len(f)%2 == 1, f[0].at, "expected a column, and rows with numbers")
	name := f[0].text
	j, seen := r.column[name]
	if !seen {
		j = r.program.add(Column{Name: name, Hi: math.Inf(1), Integer: r.integer})
		r.column[name], r.places = j, append(r.places, f[0].at)
	}
	r.pairs(f[1:], func(row field, v float64) {
		if row.text == r.goal {
			r.program.Cost[j] += v
		} else if i, ok := r.known(row); ok {
			r.entries = append(r.entries, sparse.Entry{Row: i, Col: j, Val: v})
		}
	})
}

func (r *mpsReader) boundLine(f []field) {
	kind := strings.ToUpper(f[0].text)
	valued := kind == "UP" || kind == "LO" || kind == "FX" || kind == "LI" || kind == "UI"
	hold(valued || kind == "FR" || kind == "MI" || kind == "PL" || kind == "BV", f[0].at, "`%s` is no type of a bound: UP, LO, FX, FR, MI, PL, BV, LI or UI", f[0].text)
	at := 1 // of the column: behind the name of the bounds, which may be left out
	if want := map[bool]int{true: 4, false: 3}[valued]; len(f) >= want {
		at = 2
	}
	hold(len(f) >= 2 && (!valued || len(f) >= at+2), f[0].at, "expected %s", map[bool]string{true: "a column and a number", false: "a column"}[valued])
	j, ok := r.column[f[at].text]
	hold(ok, f[at].at, "there is no column `%s`", f[at].text)
	c := &r.program.Columns[j]
	v := 0.0
	if valued {
		v = r.value(f[at+1])
	}
	low := r.bounded[j]
	r.bounded[j] = true
	switch kind {
	case "UI", "LI":
		c.Integer = true
	case "BV":
		c.Integer, c.Lo, c.Hi = true, 0, 1
	case "FX":
		c.Lo, c.Hi = v, v
	case "FR":
		c.Lo, c.Hi = math.Inf(-1), math.Inf(1)
	case "MI":
		c.Lo = math.Inf(-1)
	case "PL":
		c.Hi = math.Inf(1)
	}
	if kind == "UP" || kind == "UI" {
		if v < 0 && c.Lo == 0 && !low {
			c.Lo = math.Inf(-1)
		}
		if c.Hi = v; v >= unlimited {
			c.Hi = math.Inf(1)
		}
	}
	if kind == "LO" || kind == "LI" {
		if c.Lo = v; v <= -unlimited {
			c.Lo = math.Inf(-1)
		}
	}
}

// finish makes the matrix and the sides of the rows.
func (r *mpsReader) finish() {
	p := r.program
	p.A = sparse.FromEntries(len(p.Rows), len(p.Columns), r.entries)
	for j := range p.Columns {
		if c := &p.Columns[j]; c.Integer && !r.bounded[j] {
			c.Hi = 1
		}
	}
	inf := math.Inf(1)
	for i := range p.Rows {
		row, b := &p.Rows[i], r.rhs[i]
		width, ranged := r.ranges[i]
		switch letter := r.letters[i]; {
		case letter == "E" && ranged && width < 0:
			row.Lo, row.Hi = b+width, b
		case letter == "E" && ranged:
			row.Lo, row.Hi = b, b+width
		case letter == "E":
			row.Lo, row.Hi = b, b
		case letter == "G" && ranged:
			row.Lo, row.Hi = b, b+math.Abs(width)
		case letter == "G":
			row.Lo, row.Hi = b, inf
		case ranged:
			row.Lo, row.Hi = b-math.Abs(width), b
		default:
			row.Lo, row.Hi = -inf, b
		}
	}
}
