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
func (p *jsonReader) quoted() (s string) {
	start := p.pos
	p.stringToken()
	if err := json.Unmarshal([]byte(p.text[start:p.pos]), &s); err != nil {
		p.errorAt(diag.DataJSON, start, p.pos, "this is not a valid JSON string")
		panic(broken{})
	}
	return s
}

// label reads a text or an integer; what else stands there is reported.
func (p *jsonReader) label(at entry) string {
	if p.peek() == '"' {
		return p.quoted()
	}
	start, before, shown := p.pos, p.errors, len(p.diags)
	v, fine := p.number(at)
	if !fine {
		if p.errors > before && len(p.diags) > shown {
			p.diags[shown].Detail = "a label is a text or an integer"
		}
		return ""
	}
	if v != math.Trunc(v) || math.Abs(v) >= 1<<53 {
		p.errorAt(diag.DataNotNumber, start, p.pos, "%s is %v: a label is a text or an integer", at, v)
		return ""
	}
	return strconv.FormatInt(int64(v), 10)
}

// labelList reads the elements of a set, and gives where they begin; nil where one is wrong.
func (p *jsonReader) labelList(name string) ([][]string, func(k, i int) diag.Place) {
	out, places := [][]string{}, [][]int{}
	before := p.errors
	p.elements(func(i int) {
		var tuple []string
		at := []int{p.pos}
		if p.peek() != '[' {
			tuple = []string{p.label(entry{name, i, -1})}
		} else {
			at = nil
			p.elements(func(j int) {
				at = append(at, p.pos)
				tuple = append(tuple, p.label(entry{name, i, j}))
			})
		}
		out, places = append(out, tuple), append(places, at)
	})
	if p.errors > before {
		return nil, nil
	}
	return out, func(k, i int) diag.Place {
		start := places[k][i]
		return diag.Place{Span: p.span(start, start+1)}
	}
}

// byLabel reads an object of numbers or texts, or of objects of them.
func (p *jsonReader) byLabel(name string) *data.Keyed {
	k := &data.Keyed{}
	var starts, ends []int
	var texts []string
	text := false
	p.members(name, nil, func(key []string) {
		start, fine := p.pos, true
		var v float64
		var s string
		if p.peek() == '"' && !p.nonFiniteAhead() {
			s, text = p.quoted(), true
		} else if v, fine = p.number(entry{name, -1, -1}); fine {
			s = p.text[start:p.pos]
		}
		if fine {
			k.Keys, k.Values, texts = append(k.Keys, slices.Clone(key)), append(k.Values, v), append(texts, s)
			starts, ends = append(starts, start), append(ends, p.pos)
		}
	})
	if text {
		k.Texts = texts
	}
	k.Origin = func(i int) diag.Place { return diag.Place{Span: p.span(starts[i], ends[i])} }
	return k
}

// members reads an object and calls leaf at each value that is no object, with
// the names that lead there.
func (p *jsonReader) members(name string, above []string, leaf func(key []string)) {
	if len(above) >= maxDims {
		p.errorAt(diag.DataRank, p.pos, p.pos+1, "%s is nested deeper than %d dimensions", name, maxDims)
		p.skip()
		return
	}
	seen := map[string]bool{}
	p.objectOf(func(start, end int, key string) {
		if seen[key] {
			p.errorAt(diag.DataDuplicate, start, end, "%s has %s twice", name, strconv.Quote(key))
		}
		seen[key] = true
		full := append(above[:len(above):len(above)], key)
		if p.peek() == '{' {
			p.members(name, full, leaf)
		} else {
			leaf(full)
		}
	})
}

// deep reads lists nested deeper than a matrix; nil where an entry is wrong.
func (p *jsonReader) deep(name string) *data.Array {
	var shape []int
	var values []float64
	open, before := p.pos, p.errors
	leaf := -1 // the depth of the numbers
	ragged := func() {
		p.errorAt(diag.DataRagged, open, open+1, "the lists of %s have different lengths or depths", name)
	}
	var list func(depth int)
	list = func(depth int) {
		if depth >= maxDims {
			p.errorAt(diag.DataRank, p.pos, p.pos+1, "%s is nested deeper than %d dimensions", name, maxDims)
			p.skip()
			return
		}
		n := p.elements(func(i int) {
			if p.peek() == '[' {
				list(depth + 1)
				return
			}
			if leaf < 0 {
				leaf = depth
			}
			if leaf != depth {
				ragged()
			}
			if v, fine := p.number(entry{name, -1, -1}); fine {
				values = append(values, v)
			}
		})
		for len(shape) <= depth {
			shape = append(shape, -1)
		}
		if shape[depth] >= 0 && shape[depth] != n {
			ragged()
		}
		shape[depth] = n
	}
	list(0)
	total := 1
	for _, n := range shape {
		total *= n
	}
	if p.errors == before && total != len(values) {
		ragged()
	}
	if p.errors > before {
		return nil
	}
	return &data.Array{Shape: shape, Dense: values}
}
