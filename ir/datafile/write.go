package datafile

import (
	"encoding/json"
	"strconv"

	"bilevelc/ir/data"
)

// WriteJSON appends a set to dst as a JSON object, one array a line, matrices
// row by row, every number in the shortest form that reads back as the same
// float64. Reading it gives the same arrays; a sparse matrix is written
// dense.
func WriteJSON(dst []byte, set *data.Set) []byte {
	dst = append(dst, '{')
	for i, e := range set.Entries {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, "\n  "...)
		dst = strconv.AppendQuote(dst, e.Name)
		dst = append(dst, ": "...)
		dst = appendEntry(dst, e)
	}
	return append(dst, "\n}\n"...)
}

// appendEntry writes an array, the elements of a set, numbers by label, or a
// table as a list of records.
func appendEntry(dst []byte, e data.Entry) []byte {
	switch {
	case e.Array != nil:
		return appendArray(dst, e.Array)
	case e.Labels != nil:
		return appendEach(dst, len(e.Labels), func(dst []byte, k int) []byte {
			if len(e.Labels[k]) == 1 {
				return appendText(dst, e.Labels[k][0])
			}
			return appendEach(dst, len(e.Labels[k]), func(dst []byte, j int) []byte { return appendText(dst, e.Labels[k][j]) })
		})
	case e.Keyed != nil:
		return appendKeyed(dst, e.Keyed)
	case e.Table != nil:
		return appendEach(dst, e.Table.Rows, func(dst []byte, k int) []byte { return appendRecord(dst, e.Table, k) })
	}
	return append(dst, "null"...)
}

// appendKeyed writes numbers by label as objects in objects.
func appendKeyed(dst []byte, k *data.Keyed) []byte {
	type object struct {
		names  []string
		inner  map[string]*object
		number float64
		text   *string
	}
	root := &object{}
	for i, key := range k.Keys {
		at := root
		for _, label := range key {
			if at.inner == nil {
				at.inner = map[string]*object{}
			}
			if at.inner[label] == nil {
				at.inner[label] = &object{}
				at.names = append(at.names, label)
			}
			at = at.inner[label]
		}
		if at.number = k.Values[i]; k.Texts != nil {
			at.text = &k.Texts[i]
		}
	}
	var write func(o *object)
	write = func(o *object) {
		if o.text != nil {
			dst = appendText(dst, *o.text)
			return
		}
		if o.inner == nil && o != root {
			dst = appendNumber(dst, o.number)
			return
		}
		dst = append(dst, '{')
		for i, n := range o.names {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = append(appendText(dst, n), ": "...)
			write(o.inner[n])
		}
		dst = append(dst, '}')
	}
	write(root)
	return dst
}

func appendRecord(dst []byte, t *data.Table, row int) []byte {
	dst = append(dst, '{')
	first := true
	for _, c := range t.Columns {
		cell := c.Cells[row]
		if cell.Text == "" && !cell.IsNumber {
			continue
		}
		if !first {
			dst = append(dst, ", "...)
		}
		first = false
		dst = append(appendText(dst, c.Name), ": "...)
		if cell.IsNumber && cell.Number-cell.Number == 0 {
			dst = appendNumber(dst, cell.Number)
		} else {
			dst = appendText(dst, cell.Text)
		}
	}
	return append(dst, '}')
}

func appendText(dst []byte, s string) []byte {
	text, _ := json.Marshal(s) // a string has no errors
	return append(dst, text...)
}

func appendEach(dst []byte, n int, item func(dst []byte, k int) []byte) []byte {
	dst = append(dst, '[')
	for k := range n {
		if k > 0 {
			dst = append(dst, ", "...)
		}
		dst = item(dst, k)
	}
	return append(dst, ']')
}

func appendArray(dst []byte, a *data.Array) []byte {
	values := a.Values()
	switch a.Rank() {
	case 0:
		return appendNumber(dst, values[0])
	case 1:
		return appendList(dst, values)
	}
	inner := 1
	for _, n := range a.Shape[1:] {
		inner *= n
	}
	return appendEach(dst, a.Shape[0], func(dst []byte, i int) []byte {
		return appendArray(dst, &data.Array{Shape: a.Shape[1:], Dense: values[i*inner : (i+1)*inner]})
	})
}

func appendList(dst []byte, values []float64) []byte {
	dst = append(dst, '[')
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = appendNumber(dst, v)
	}
	return append(dst, ']')
}

// appendNumber writes v as encoding/json does: shortest digits, an exponent
// only where the plain form would be long.
func appendNumber(dst []byte, v float64) []byte {
	form := byte('f')
	if abs := max(v, -v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		form = 'e'
	}
	return strconv.AppendFloat(dst, v, form, -1, 64)
}
