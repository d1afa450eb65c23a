package datafile

import (
	"fmt"
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
		dst = appendArray(dst, e.Array)
	}
	return append(dst, "\n}\n"...)
}

func appendArray(dst []byte, a *data.Array) []byte {
	values := a.Values()
	switch a.Rank() {
	case 0:
		return appendNumber(dst, values[0])
	case 1:
		return appendList(dst, values)
	}
	m, n := a.Shape[0], a.Shape[1]
	dst = append(dst, '[')
	for i := range m {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = appendList(dst, values[i*n:(i+1)*n])
	}
	return append(dst, ']')
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

// WriteMatrixMarket appends a matrix to dst in the MatrixMarket exchange
// format: the stored entries of a sparse one by place, a dense one (or a
// vector) column by column. Reading it gives the same array; a dense matrix of
// one column reads as a vector.
func WriteMatrixMarket(dst []byte, a *data.Array) []byte {
	rows, cols := 1, 1
	if a.Rank() > 0 {
		rows = a.Shape[0]
	}
	if a.Rank() > 1 {
		cols = a.Shape[1]
	}
	if m := a.Sparse; m != nil {
		dst = fmt.Appendf(dst, "%s matrix coordinate real general\n%d %d %d\n", mtxBanner, rows, cols, m.NNZ())
		for i := range rows {
			columns, values := m.Row(i)
			for k, j := range columns {
				dst = append(appendNumber(fmt.Appendf(dst, "%d %d ", i+1, j+1), values[k]), '\n')
			}
		}
		return dst
	}
	dst = fmt.Appendf(dst, "%s matrix array real general\n%d %d\n", mtxBanner, rows, cols)
	for j := range cols {
		for i := range rows {
			dst = append(appendNumber(dst, a.Dense[i*cols+j]), '\n')
		}
	}
	return dst
}
