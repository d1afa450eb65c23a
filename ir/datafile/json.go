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

// broken ends the reading of a document whose syntax is wrong, as has been reported.
type broken struct{}

// readJSON reads an object of arrays; where name is given, the document may
// also be that array alone.
func readJSON(r *reader, name string) {
	p := &jsonReader{reader: r, line: 1, names: map[string][2]int{}}
	defer func() {
		if v := recover(); v != nil && v != any(broken{}) {
			panic(v)
		}
	}()
	if strings.HasPrefix(r.text, byteOrderMark) {
		p.pos = len(byteOrderMark)
	}
	p.space()
	switch {
	case p.peek() == '{':
		p.object(name)
	case p.pos >= len(p.text):
		p.syntax("the file is empty", "expected an object such as {\"n\": 3, \"c\": [1, 2, 3]}")
		return
	case name != "" || p.form() == records:
		if name == "" {
			name = stem(r.file)
		}
		p.add(name, p.origin(p.pos))
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
		d.Detail = has(slices.Sorted(maps.Keys(p.names)))
	}
}

// object reads the members; where only is given, the others are skipped.
func (p *jsonReader) object(only string) {
	p.objectOf(func(start, end int, key string) {
		if first, seen := p.names[key]; seen {
			d := p.errorAt(diag.DataDuplicate, start, end, "%s is given twice", key)
			d.Related = append(d.Related, diag.Related{Span: p.span(first[0], first[1]), Message: "first here"})
		} else {
			p.names[key] = [2]int{start, end}
		}
		if only == "" || key == only {
			p.add(key, p.origin(start))
			return
		}
		valueAt := p.pos
		if p.skip(); !json.Valid([]byte(p.text[valueAt:p.pos])) {
			p.errorAt(diag.DataJSON, valueAt, p.pos, "the value of %s is not valid JSON", key)
			panic(broken{})
		}
	})
}

// objectOf reads the braces, names and commas of an object and calls value
// where each value begins, with the place and the text of its name.
func (p *jsonReader) objectOf(value func(start, end int, key string)) {
	key := ""
	p.list('}', func(int) {
		start := p.pos
		if p.peek() != '"' {
			p.fail("expected a name in double quotes")
		}
		key = p.quoted()
		end := p.pos
		p.space()
		if p.peek() != ':' {
			p.fail("no colon after the name " + clip(key))
		}
		p.pos++
		p.space()
		value(start, end, key)
	}, func() string { return "expected , or } after the value of " + clip(key) })
}

// add reads a value and enters it under a name.
func (p *jsonReader) add(name, origin string) {
	e := data.Entry{Name: name, Origin: origin}
	before := p.errors
	switch p.form() {
	case labels:
		e.Labels, e.LabelAt = p.labelList(name)
	case keyed:
		e.Keyed = p.byLabel(name)
	case records:
		e.Table = p.records(name)
	case deepNumbers:
		e.Array = p.deep(name)
	default:
		e.Array = p.value(name)
	}
	if p.errors == before {
		p.set.Entries = append(p.set.Entries, e)
	}
}

// value reads a number, a list or a list of lists; nil where an entry is wrong.
func (p *jsonReader) value(name string) *data.Array {
	at := entry{name, -1, -1}
	if p.peek() == '[' {
		return p.array(at)
	}
	v, fine := p.number(at)
	if !fine {
		return nil
	}
	return data.Scalar(v)
}

// array reads a vector or a matrix, row by row.
func (p *jsonReader) array(at entry) *data.Array {
	open := p.pos
	before := p.errors
	var values []float64
	number := func() {
		if v, fine := p.number(at); fine {
			values = append(values, v)
		}
	}
	rows, scalars, cols := 0, 0, 0
	count := p.elements(func(i int) {
		at.row, at.col = i, -1
		if p.peek() != '[' {
			scalars++
			number()
			return
		}
		rows++
		start := p.pos
		n := p.elements(func(j int) {
			at.col = j
			number()
		})
		if rows == 1 {
			cols = n
		} else if n != cols {
			p.errorAt(diag.DataRagged, start, p.pos, "row %d of %s has %s, where its first row has %d",
				i+1, at.name, diag.Count(n, "entry", "entries"), cols)
		}
	})
	if rows > 0 && scalars > 0 {
		p.errorAt(diag.DataRagged, open, open+1, "%s mixes numbers and lists", at.name)
	}
	switch {
	case p.errors > before:
		return nil
	case rows > 0:
		return data.Matrix(count, cols, values)
	}
	return data.Vector(values)
}

// elements reads the brackets and commas of a list and calls read at each
// element. It returns how many there are.
func (p *jsonReader) elements(read func(i int)) int {
	return p.list(']', read, func() string { return "expected , or ] in a list" })
}

// list reads commas and what stands between them up to a closing bracket; otherwise says
// what is wrong where neither follows.
func (p *jsonReader) list(closing byte, read func(i int), otherwise func() string) int {
	p.pos++
	p.space()
	if p.peek() == closing {
		p.pos++
		return 0
	}
	for i := 0; ; i++ {
		p.space()
		read(i)
		p.space()
		switch p.peek() {
		case ',':
			p.pos++
		case closing:
			p.pos++
			return i + 1
		default:
			p.fail(otherwise())
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
