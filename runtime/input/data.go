// Package input makes arrays of the Go values that a program gives to a model by name.
package input

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/ir/data"
	"bilevelc/ir/datafile"
	"bilevelc/lang/diag"
	"bilevelc/runtime/document"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// Data gives numbers to a model by name. A value is
//
//   - a number of any of Go's types, or a slice, array or slice of slices of them;
//   - a gonum mat.Vector, or a mat.Matrix, which may be a view;
//   - a Sparse matrix, which stays sparse;
//   - []string or [][]string, the elements of a set, each a label or a tuple of labels;
//   - what a JSON document may hold, as encoding/json decodes it: []any, nested to any
//     depth, map[string]any by label, and records, []any of map[string]any, which are a
//     table.
//
// Values are copied. Those that are irregular (rows of different lengths, entries that
// are not finite, texts among numbers) are errors of Bind, with their places.
type Data map[string]any

// Sparse is a matrix by its entries that are not zero: V[k] at row I[k] and column
// J[k], counting from 0. Entries at one place add up.
type Sparse struct {
	Rows, Cols int
	I, J       []int
	V          []float64
}

// Set converts the map. The error is a diag.List with what is wrong in all of it.
func (d Data) Set() (*data.Set, error) {
	s := &data.Set{}
	var diags diag.List
	for _, name := range slices.Sorted(maps.Keys(d)) {
		origin := "Data[" + strconv.Quote(name) + "]"
		entry, ok := regular(d[name])
		if !ok {
			entries, more := irregular(name, origin, d[name])
			diags = append(diags, more...)
			for _, e := range entries {
				e.Origin = origin
				s.Entries = append(s.Entries, e)
			}
			continue
		}
		if m, sparse := d[name].(Sparse); sparse {
			entry.Array = m.array(origin, &diags)
		}
		entry.Name, entry.Origin = name, origin
		s.Entries = append(s.Entries, entry)
	}
	return s, diags.Err()
}

// regular takes what is as it should be, without going through text.
func regular(v any) (entry data.Entry, ok bool) {
	switch v := v.(type) {
	case nil:
		return entry, false
	case *data.Array:
		return data.Entry{Array: v}, v != nil
	case Sparse:
		return entry, true
	case mat.Vector:
		flat := each.Below(v.Len(), v.AtVec)
		return data.Entry{Array: data.Vector(flat)}, linalg.Finite(flat)
	case mat.Matrix:
		rows, cols := v.Dims()
		flat := make([]float64, 0, rows*cols)
		for i := range rows {
			flat = append(flat, each.Below(cols, func(j int) float64 { return v.At(i, j) })...)
		}
		return data.Entry{Array: data.Matrix(rows, cols, flat)}, linalg.Finite(flat)
	case []string:
		list := each.Of(v, func(e string) []string { return []string{e} })
		return data.Entry{Labels: list}, true
	case [][]string:
		list := each.Of(v, func(e []string) []string { return append([]string(nil), e...) })
		return data.Entry{Labels: list}, true
	}
	a := arrayOf(reflect.ValueOf(v))
	return data.Entry{Array: a}, a != nil
}

// arrayOf reads numbers, lists of numbers and lists of equally long lists; nil for
// anything else.
func arrayOf(v reflect.Value) *data.Array {
	if f, ok := numberOf(v); ok {
		return finiteOrNil(data.Scalar(f))
	}
	if !isList(v) {
		return nil
	}
	n := v.Len()
	switch element := v.Type().Elem(); {
	case numeric(element):
		flat := make([]float64, n)
		for i := range flat {
			f, ok := numberOf(v.Index(i))
			if !ok {
				return nil
			}
			flat[i] = f
		}
		return finiteOrNil(data.Vector(flat))
	case (element.Kind() == reflect.Slice || element.Kind() == reflect.Array) && numeric(element.Elem()):
		if n == 0 {
			return data.Matrix(0, 0, nil)
		}
		cols := v.Index(0).Len()
		flat := make([]float64, 0, n*cols)
		for i := range n {
			row := arrayOf(v.Index(i))
			if row == nil || len(row.Dense) != cols {
				return nil
			}
			flat = append(flat, row.Dense...)
		}
		return data.Matrix(n, cols, flat)
	}
	return nil
}

func finiteOrNil(a *data.Array) *data.Array {
	if !linalg.Finite(a.Dense) {
		return nil
	}
	return a
}

func isList(v reflect.Value) bool {
	return v.IsValid() && (v.Kind() == reflect.Slice || v.Kind() == reflect.Array)
}

func numeric(t reflect.Type) bool { return t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64 }

// numberOf is a number as a double; not ok where that may not be exact: doubles hold all integers up to 1/tolerance.Roundoff.
func numberOf(v reflect.Value) (float64, bool) {
	switch {
	case !v.IsValid() || !numeric(v.Type()):
		return 0, false
	case v.CanInt():
		return float64(v.Int()), v.Int() >= -1/tolerance.Roundoff && v.Int() <= 1/tolerance.Roundoff
	case v.CanUint():
		return float64(v.Uint()), v.Uint() <= 1/tolerance.Roundoff
	}
	return v.Float(), true
}

// irregular goes through JSON, whose reader knows everything else, and says where a
// fault is.
func irregular(name, origin string, v any) ([]data.Entry, diag.List) {
	var b strings.Builder
	b.WriteString("{" + quoteJSON(name) + ": ")
	if bad := write(&b, reflect.ValueOf(v), 0); bad != "" {
		var diags diag.List
		at := b.Len()
		b.WriteString("<" + bad + ">")
		diags.Errorf(diag.DataNotNumber, diag.Span{Source: diag.NewSource(origin, b.String()), Start: at, End: b.Len()},
			"%s is not a number, a text, or a list, matrix or map of them", bad)
		return nil, diags
	}
	b.WriteByte('}')
	set, diags := datafile.Read(datafile.JSON, origin, b.String(), "")
	return set.Entries, diags
}

// deepest bounds the nesting of values, so that one which holds itself has an end.
const deepest = 32

// write spells a value as JSON, what is not finite as a text. It returns the type of
// what has no such form, behind what was written so far.
func write(b *strings.Builder, v reflect.Value, depth int) (bad string) {
	for v.IsValid() && (v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer) && !v.IsNil() {
		v = v.Elem()
	}
	switch {
	case !v.IsValid() || v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer:
		b.WriteString("null")
	case depth > deepest:
		return "a value nested " + strconv.Itoa(deepest) + " deep"
	case v.CanInt() && numeric(v.Type()):
		b.WriteString(strconv.FormatInt(v.Int(), 10))
	case v.CanUint() && numeric(v.Type()):
		b.WriteString(strconv.FormatUint(v.Uint(), 10))
	case numeric(v.Type()):
		text, _ := document.Number(v.Float()).MarshalJSON()
		b.Write(text)
	case v.Kind() == reflect.Bool:
		b.WriteString(strconv.FormatBool(v.Bool()))
	case v.Kind() == reflect.String:
		b.WriteString(quoteJSON(v.String()))
	case isList(v):
		b.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				b.WriteString(", ")
			}
			if bad := write(b, v.Index(i), depth+1); bad != "" {
				return bad
			}
		}
		b.WriteByte(']')
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
		members := map[string]reflect.Value{}
		for _, key := range v.MapKeys() {
			members[key.String()] = v.MapIndex(key)
		}
		b.WriteByte('{')
		for i, key := range slices.Sorted(maps.Keys(members)) {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quoteJSON(key))
			b.WriteString(": ")
			if bad := write(b, members[key], depth+1); bad != "" {
				return bad
			}
		}
		b.WriteByte('}')
	default:
		if m, ok := matrixOf(v); ok {
			return write(b, reflect.ValueOf(m), depth)
		}
		return "a " + v.Type().String()
	}
	return ""
}

// quoteJSON spells a text; what is no UTF-8 in it is replaced.
func quoteJSON(s string) string {
	text, _ := json.Marshal(s) // never an error for a text
	return string(text)
}

// matrixOf is a gonum matrix as rows, or a vector as a list.
func matrixOf(v reflect.Value) (any, bool) {
	if v.CanAddr() {
		v = v.Addr()
	}
	m, ok := v.Interface().(mat.Matrix)
	if !ok {
		return nil, false
	}
	if u, ok := m.(mat.Vector); ok {
		return mat.Col(nil, 0, u), true
	}
	rows, _ := m.Dims()
	out := each.Below(rows, func(i int) []float64 { return mat.Row(nil, i, m) })
	return out, true
}

// array checks the entries.
func (m Sparse) array(origin string, diags *diag.List) *data.Array {
	at := func(k int) diag.Span {
		text := fmt.Sprintf("Sparse{Rows: %d, Cols: %d, ...}", m.Rows, m.Cols)
		if k >= 0 {
			text = fmt.Sprintf("I[%d] = %d, J[%d] = %d, V[%d] = %v", k, m.I[k], k, m.J[k], k, m.V[k])
		}
		return diag.Span{Source: diag.NewSource(origin, text), End: len(text)}
	}
	if len(m.I) != len(m.V) || len(m.J) != len(m.V) {
		diags.Errorf(diag.DataSize, at(-1), "I, J and V have %d, %d and %d entries; they are one each of an entry", len(m.I), len(m.J), len(m.V))
		return nil
	}
	if m.Rows < 0 || m.Cols < 0 {
		diags.Errorf(diag.DataSize, at(-1), "a matrix has no %d rows and %d columns", m.Rows, m.Cols)
		return nil
	}
	entries := make([]sparse.Entry, len(m.V))
	for k, v := range m.V {
		if m.I[k] < 0 || m.I[k] >= m.Rows || m.J[k] < 0 || m.J[k] >= m.Cols {
			diags.Errorf(diag.DataSize, at(k), "entry %d is outside a matrix of %d rows and %d columns, whose indices begin at 0", k, m.Rows, m.Cols)
			return nil
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			diags.Errorf(diag.DataNotFinite, at(k), "entry %d is %v", k, v)
			return nil
		}
		entries[k] = sparse.Entry{Row: m.I[k], Col: m.J[k], Val: v}
	}
	return data.SparseMatrix(sparse.FromEntries(m.Rows, m.Cols, entries))
}
