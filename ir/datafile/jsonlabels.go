package datafile

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"bilevelc/ir/data"
	"bilevelc/lang/diag"
)

// This file reads what JSON gives by label: the elements of a set, as a list
// of texts or of lists of them; an array, as an object of numbers or of such
// objects; a table, as a list of objects.

// maxDims bounds the nesting of lists and objects; it is far above what models
// declare, and keeps the recursion shallow.
const maxDims = 16

// form tells what a value is by how it begins, without reading on.
type form uint8

const (
	numbers form = iota
	labels
	records
	keyed
	deepNumbers // nested deeper than a matrix
)

func (p *jsonReader) form() form {
	mark := p.pos
	defer func() { p.pos = mark }()
	depth := 0
	for p.peek() == '[' {
		depth++
		p.pos++
		p.space()
	}
	switch c := p.peek(); {
	case c == '{' && depth == 0:
		return keyed
	case c == '{' && depth == 1:
		return records
	case c == '"' && depth > 0 && !p.nonFiniteAhead():
		return labels
	case depth > 2:
		return deepNumbers
	}
	return numbers
}

// nonFiniteAhead reports whether the text that begins here stands for NaN or an
// infinity, as programs write them: a number gone wrong rather than a label.
func (p *jsonReader) nonFiniteAhead() bool {
	rest := p.text[p.pos+1:]
	for i := 0; i < len(rest) && i < len("-Infinity")+1; i++ {
		if rest[i] == '"' {
			return isNonFiniteWord(rest[:i])
		}
	}
	return false
}

// quoted reads a text in quotes.
func (p *jsonReader) quoted() (string, bool) {
	start := p.pos
	if !p.stringToken() {
		return "", false
	}
	var s string
	if err := json.Unmarshal([]byte(p.text[start:p.pos]), &s); err != nil {
		p.errorAt(diag.DataJSON, start, p.pos, "this is not a valid JSON string")
		return "", false
	}
	return s, true
}

// label reads a text or an integer; what else stands there is reported. ok is false where
// reading cannot go on behind it.
func (p *jsonReader) label(at entry) (s string, ok bool) {
	if p.peek() == '"' {
		return p.quoted()
	}
	start := p.pos
	v, fine, ok := p.number(at)
	if !ok || !fine {
		return "", ok
	}
	if v != math.Trunc(v) || math.Abs(v) >= 1<<53 {
		p.errorAt(diag.DataNotNumber, start, p.pos, "%s is %v: a label is a text or an integer", at, v)
		return "", true
	}
	return strconv.FormatInt(int64(v), 10), true
}

// elements reads the elements of a set.
func (p *jsonReader) labelList(name string) ([][]string, bool) {
	out := [][]string{}
	before := p.errors
	_, ok := p.elements(func(i int) bool {
		if p.peek() != '[' {
			s, ok := p.label(entry{name, i, -1})
			out = append(out, []string{s})
			return ok
		}
		var tuple []string
		_, ok := p.elements(func(j int) bool {
			s, ok := p.label(entry{name, i, j})
			tuple = append(tuple, s)
			return ok
		})
		out = append(out, tuple)
		return ok
	})
	if p.errors > before {
		return nil, ok
	}
	return out, ok
}

// byLabel reads an object of numbers or texts, or of objects of them.
func (p *jsonReader) byLabel(name string) (*data.Keyed, bool) {
	k := &data.Keyed{}
	var starts, ends []int
	var texts []string
	text := false
	ok := p.members(name, nil, func(key []string) bool {
		start := p.pos
		var v float64
		var s string
		var fine, ok bool
		if p.peek() == '"' && !p.nonFiniteAhead() {
			s, ok = p.quoted()
			fine, text = ok, true
		} else if v, fine, ok = p.number(entry{name, -1, -1}); fine {
			s = p.text[start:p.pos]
		}
		if fine {
			k.Keys, k.Values, texts = append(k.Keys, slices.Clone(key)), append(k.Values, v), append(texts, s)
			starts, ends = append(starts, start), append(ends, p.pos)
		}
		return ok
	})
	if text {
		k.Texts = texts
	}
	k.Origin = func(i int) diag.Place { return diag.Place{Span: p.span(starts[i], ends[i])} }
	return k, ok
}

// members reads an object and calls leaf at each value that is no object, with
// the names that lead there.
func (p *jsonReader) members(name string, above []string, leaf func(key []string) bool) bool {
	if len(above) >= maxDims {
		p.errorAt(diag.DataRank, p.pos, p.pos+1, "%s is nested deeper than %d dimensions", name, maxDims)
		return p.skip()
	}
	seen := map[string]bool{}
	return p.objectOf(func(start, end int, key string) bool {
		if seen[key] {
			p.errorAt(diag.DataDuplicate, start, end, "%s has %s twice", name, strconv.Quote(key))
		}
		seen[key] = true
		full := append(above[:len(above):len(above)], key)
		if p.peek() == '{' {
			return p.members(name, full, leaf)
		}
		return leaf(full)
	})
}

// deep reads lists nested deeper than a matrix.
func (p *jsonReader) deep(name string) (*data.Array, bool) {
	var shape []int
	var values []float64
	open, before := p.pos, p.errors
	leaf := -1 // the depth of the numbers
	ragged := func() {
		p.errorAt(diag.DataRagged, open, open+1, "the lists of %s have different lengths or depths", name)
	}
	var list func(depth int) bool
	list = func(depth int) bool {
		if depth >= maxDims {
			p.errorAt(diag.DataRank, p.pos, p.pos+1, "%s is nested deeper than %d dimensions", name, maxDims)
			return p.skip()
		}
		n, ok := p.elements(func(i int) bool {
			if p.peek() == '[' {
				return list(depth + 1)
			}
			if leaf < 0 {
				leaf = depth
			}
			if leaf != depth {
				ragged()
			}
			v, fine, ok := p.number(entry{name, -1, -1})
			if fine {
				values = append(values, v)
			}
			return ok
		})
		for len(shape) <= depth {
			shape = append(shape, -1)
		}
		if ok && shape[depth] >= 0 && shape[depth] != n {
			ragged()
		}
		shape[depth] = n
		return ok
	}
	if !list(0) {
		return nil, false
	}
	total := 1
	for _, n := range shape {
		total *= n
	}
	if p.errors == before && total != len(values) {
		ragged()
	}
	if p.errors > before {
		return nil, true
	}
	return &data.Array{Shape: shape, Dense: values}, true
}
