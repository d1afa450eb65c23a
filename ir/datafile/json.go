package datafile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bilevelc/ir/data"
	"bilevelc/lang/diag"
)

// jsonReader reads one JSON document without building a tree: numbers go
// straight into the array they belong to, and nesting is bounded by the two
// levels that a matrix has.
type jsonReader struct {
	*reader
	pos   int
	line  int               // of byte lineAt, from 1
	upTo  int               // lines are counted up to here
	names map[string][2]int // where each key was first seen: start, end
}

// readJSON reads an object of arrays; where name is given, the document may
// also be that array alone.
func readJSON(r *reader, name string) {
	p := &jsonReader{reader: r, line: 1, names: map[string][2]int{}}
	if strings.HasPrefix(r.text, byteOrderMark) {
		p.pos = len(byteOrderMark)
	}
	p.space()
	switch {
	case p.peek() == '{':
		if !p.object(name) {
			return
		}
	case p.pos >= len(p.text):
		p.syntax("the file is empty", "expected an object such as {\"n\": 3, \"c\": [1, 2, 3]}")
		return
	case name != "" || p.form() == records:
		if name == "" {
			name = stem(r.file)
		}
		if !p.add(name, p.origin(p.pos)) {
			return
		}
	default:
		p.syntax("the document is not an object", "expected an object such as {\"n\": 3, \"c\": [1, 2, 3]}").Fix =
			"write --data NAME=FILE to bind the one array that the file holds"
		return
	}
	p.space()
	if p.pos < len(p.text) {
		p.syntax("text after the end of the document", "")
		return
	}
	if name != "" && r.errors == 0 && r.set.Get(name) == nil {
		d := r.errorIn(diag.DataNoName, "the object has no member %s", name)
		d.Detail = "it has " + strings.Join(slices.Sorted(maps.Keys(p.names)), ", ")
	}
}

// object reads the members; where only is given, the others are skipped. It
// returns false where the syntax is broken.
func (p *jsonReader) object(only string) bool {
	return p.objectOf(func(start, end int, key string) bool {
		if first, seen := p.names[key]; seen {
			d := p.errorAt(diag.DataDuplicate, start, end, "%s is given twice", key)
			d.Related = append(d.Related, diag.Related{Span: p.span(first[0], first[1]), Message: "first here"})
		} else {
			p.names[key] = [2]int{start, end}
		}
		if only == "" || key == only {
			return p.add(key, p.origin(start))
		}
		valueAt := p.pos
		if !p.skip() {
			return false
		}
		if !json.Valid([]byte(p.text[valueAt:p.pos])) {
			p.errorAt(diag.DataJSON, valueAt, p.pos, "the value of %s is not valid JSON", key)
			return false
		}
		return true
	})
}

// objectOf reads the braces, names and commas of an object and calls value
// where each value begins, with the place and the text of its name. It returns
// false where the syntax is broken.
func (p *jsonReader) objectOf(value func(start, end int, key string) bool) bool {
	p.pos++
	p.space()
	if p.peek() == '}' {
		p.pos++
		return true
	}
	for {
		p.space()
		start := p.pos
		if p.peek() != '"' {
			p.syntax("expected a name in double quotes", "")
			return false
		}
		key, ok := p.quoted()
		if !ok {
			return false
		}
		end := p.pos
		p.space()
		if p.peek() != ':' {
			p.syntax(fmt.Sprintf("no colon after the name %s", clip(key)), "")
			return false
		}
		p.pos++
		p.space()
		if !value(start, end, key) {
			return false
		}
		p.space()
		switch p.peek() {
		case ',':
			p.pos++
		case '}':
			p.pos++
			return true
		default:
			p.syntax("expected , or } after the value of "+clip(key), "")
			return false
		}
	}
}

// add reads a value and enters it under a name; false where the syntax is
// broken.
func (p *jsonReader) add(name, origin string) bool {
	e := data.Entry{Name: name, Origin: origin}
	before, ok := p.errors, true
	switch p.form() {
	case labels:
		e.Labels, ok = p.labelList(name)
	case keyed:
		e.Keyed, ok = p.byLabel(name)
	case records:
		e.Table, ok = p.records(name)
	case deepNumbers:
		e.Array, ok = p.deep(name)
	default:
		e.Array, ok = p.value(name)
	}
	if ok && p.errors == before {
		p.set.Entries = append(p.set.Entries, e)
	}
	return ok
}

// value reads a number, a list or a list of lists. It returns no array where
// an entry is wrong, and false where the syntax is broken.
func (p *jsonReader) value(name string) (*data.Array, bool) {
	at := entry{name, -1, -1}
	if p.peek() == '[' {
		return p.array(at)
	}
	v, fine, ok := p.number(at)
	if !ok || !fine {
		return nil, ok
	}
	return data.Scalar(v), true
}

// array reads a vector or a matrix, row by row.
func (p *jsonReader) array(at entry) (*data.Array, bool) {
	open := p.pos
	before := p.errors
	var values []float64
	rows, scalars, cols := 0, 0, 0
	count, ok := p.elements(func(i int) bool {
		at.row, at.col = i, -1
		if p.peek() != '[' {
			scalars++
			v, fine, ok := p.number(at)
			if fine {
				values = append(values, v)
			}
			return ok
		}
		rows++
		start := p.pos
		n, ok := p.elements(func(j int) bool {
			at.col = j
			v, fine, ok := p.number(at)
			if fine {
				values = append(values, v)
			}
			return ok
		})
		if rows == 1 {
			cols = n
		} else if ok && n != cols {
			p.errorAt(diag.DataRagged, start, p.pos, "row %d of %s has %s, where its first row has %d",
				i+1, at.name, entries(n), cols)
		}
		return ok
	})
	if !ok {
		return nil, false
	}
	if rows > 0 && scalars > 0 {
		p.errorAt(diag.DataRagged, open, open+1, "%s mixes numbers and lists", at.name)
	}
	if p.errors > before {
		return nil, true
	}
	if rows > 0 {
		return data.Matrix(count, cols, values), true
	}
	return data.Vector(values), true
}

// elements reads the brackets and commas of a list and calls read at each
// element. It returns how many there are, and false where the syntax is
// broken.
func (p *jsonReader) elements(read func(i int) bool) (int, bool) {
	p.pos++
	p.space()
	if p.peek() == ']' {
		p.pos++
		return 0, true
	}
	for i := 0; ; i++ {
		p.space()
		if !read(i) {
			return i, false
		}
		p.space()
		switch p.peek() {
		case ',':
			p.pos++
		case ']':
			p.pos++
			return i + 1, true
		default:
			p.syntax("expected , or ] in a list", "")
			return i, false
		}
	}
}

// origin names the file and the line of a byte at or after the last one asked
// for.
func (p *jsonReader) origin(offset int) string {
	p.line += strings.Count(p.text[p.upTo:offset], "\n")
	p.upTo = offset
	return fmt.Sprintf("%s:%d", p.file, p.line)
}
