package datafile

import (
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
	list := func(dst []byte, n int, item func(dst []byte, k int) []byte) []byte {
		return data.AppendLists(dst, []int{n}, ", ", item)
	}
	switch {
	case e.Array != nil:
		values := e.Array.Values()
		return data.AppendLists(dst, e.Array.Shape, ", ", func(dst []byte, k int) []byte { return appendNumber(dst, values[k]) })
	case e.Labels != nil:
		return list(dst, len(e.Labels), func(dst []byte, k int) []byte {
			if len(e.Labels[k]) == 1 {
				return data.AppendText(dst, e.Labels[k][0])
			}
			return list(dst, len(e.Labels[k]), func(dst []byte, j int) []byte { return data.AppendText(dst, e.Labels[k][j]) })
		})
	case e.Keyed != nil:
		return data.AppendKeyed(dst, e.Keyed.Keys, ", ", ": ", func(dst []byte, k int) []byte {
			if e.Keyed.Texts != nil {
				return data.AppendText(dst, e.Keyed.Texts[k])
			}
			return appendNumber(dst, e.Keyed.Values[k])
		})
	case e.Table != nil:
		return list(dst, e.Table.Rows, func(dst []byte, k int) []byte { return appendRecord(dst, e.Table, k) })
	}
	return append(dst, "null"...)
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
		dst = append(data.AppendText(dst, c.Name), ": "...)
		if cell.IsNumber && cell.Number-cell.Number == 0 {
			dst = appendNumber(dst, cell.Number)
		} else {
			dst = data.AppendText(dst, cell.Text)
		}
	}
	return append(dst, '}')
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
