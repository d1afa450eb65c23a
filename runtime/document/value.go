package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/ir/data"
)

// Value is one named number or array in the shape of its declaration.
type Value struct {
	Name  string
	Shape []int     // none for a scalar, [n], [m, n], ...
	Data  []float64 // row-major
	// Axes are the dimensions of an array over sets or of more than two
	// dimensions; nil for others.
	Axes []Axis

	keys [][]string // of a value given by label that has not met its declaration
}

// Scalar returns the number of a value without dimensions.
func (v Value) Scalar() (float64, error) {
	if len(v.Shape) != 0 || len(v.Data) != 1 {
		return 0, fmt.Errorf("%s is not a scalar but has shape %v and %d entries", v.Name, v.Shape, len(v.Data))
	}
	return v.Data[0], nil
}

// Rows returns a matrix row by row, sharing the data.
func (v Value) Rows() [][]float64 {
	if len(v.Shape) != 2 {
		return nil
	}
	return each.Below(v.Shape[0], func(i int) []float64 { return v.Data[i*v.Shape[1] : (i+1)*v.Shape[1]] })
}

// Rounded is the array without entries that are rounding beside its largest, which are 0: a
// solve leaves a part in 10^13 of it. Documents and tables have all digits.
func (v Value) Rounded() Value {
	size := 0.0
	for _, f := range v.Data {
		if a := math.Abs(f); a > size && !math.IsInf(a, 1) {
			size = a
		}
	}
	v.Data = slices.Clone(v.Data)
	for i, f := range v.Data {
		if math.Abs(f) <= 1e-13*size {
			v.Data[i] = 0
		}
	}
	return v
}

// Values is an ordered set of named values. In JSON it is an object whose
// members keep the order of the model: a number, a list, or a list of rows, and,
// for arrays over sets of labels, an object by label, with one level for each
// label.
// NaN and the infinities, which JSON lacks, are the strings "NaN",
// "Infinity", "-Infinity".
type Values []Value

// Get returns the value of that name.
func (vs Values) Get(name string) (Value, bool) {
	for _, v := range vs {
		if v.Name == name {
			return v, true
		}
	}
	return Value{}, false
}

// Entries are the entries of all arrays, one after the other.
func (vs Values) Entries() []float64 {
	var out []float64
	for _, v := range vs {
		out = append(out, v.Data...)
	}
	return out
}

// Entry is entry k of the value of that name; NaN where there is none.
func (vs Values) Entry(name string, k int) float64 {
	if v, ok := vs.Get(name); ok && k < len(v.Data) {
		return v.Data[k]
	}
	return math.NaN()
}

// Lookup is Get for many names.
func (vs Values) Lookup() func(name string) (Value, bool) {
	at := make(map[string]int, len(vs))
	for i, v := range slices.Backward(vs) {
		at[v.Name] = i
	}
	return func(name string) (Value, bool) {
		i, found := at[name]
		if !found {
			return Value{}, false
		}
		return vs[i], true
	}
}

// MarshalJSON writes an object in order.
func (vs Values) MarshalJSON() ([]byte, error) {
	dst := []byte{'{'}
	for i, v := range vs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(data.AppendText(dst, v.Name), ':')
		entry := func(dst []byte, k int) []byte { return appendFloat(dst, v.Data[k]) }
		if v.keys == nil && !labelled(v.Axes) {
			dst = data.AppendLists(dst, v.Shape, ",", entry)
			continue
		}
		dst = data.AppendKeyed(dst, each.Below(len(v.Data), v.Key), ",", ":", entry)
	}
	return append(dst, '}'), nil
}

func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}

// UnmarshalJSON reads what MarshalJSON writes, in order.
func (vs *Values) UnmarshalJSON(text []byte) (err error) {
	defer must.Catch(&err)
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	open := must.Get(dec.Token())
	must.Be(open == json.Delim('{'), "expected an object of named values, found %v", open)
	*vs = nil
	for dec.More() {
		v := Value{Name: must.Get(dec.Token()).(string)}
		raw, keyed := decodeOrdered(dec)
		err := must.Try(func() {
			if keyed {
				readKeyed(raw, nil, &v)
			} else {
				v.Shape, v.Data, err = readValue(raw)
				must.Do(err)
			}
		})
		must.Be(err == nil, "%s: %w", v.Name, err)
		*vs = append(*vs, v)
	}
	return nil
}

// readValue turns decoded JSON into a shape and row-major entries.
func readValue(raw any) (shape []int, entries []float64, err error) {
	list, isList := raw.([]any)
	if !isList {
		f, err := readFloat(raw)
		return nil, []float64{f}, err
	}
	for i, item := range list {
		s, e, err := readValue(item)
		if err != nil {
			return nil, nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		if i == 0 {
			shape = s
		} else if !slices.Equal(shape, s) {
			return nil, nil, fmt.Errorf("entry %d: has shape %v, the entries before it %v", i+1, s, shape)
		}
		entries = append(entries, e...)
	}
	return append([]int{len(list)}, shape...), entries, nil
}

func readFloat(raw any) (float64, error) {
	switch v := raw.(type) {
	case json.Number:
		return v.Float64()
	case string:
		if f, ok := map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}[v]; ok {
			return f, nil
		}
		return 0, fmt.Errorf("expected a number, found the string %q", v)
	}
	return 0, fmt.Errorf("expected a number, found %v", raw)
}

// ShapeWords is a shape in the words of messages.
func ShapeWords(shape []int) string {
	switch len(shape) {
	case 0:
		return "a number"
	case 1:
		return fmt.Sprintf("vector[%d]", shape[0])
	case 2:
		return fmt.Sprintf("matrix[%d, %d]", shape[0], shape[1])
	}
	return fmt.Sprintf("an array of shape %v", shape)
}
