package document

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/ir"
	"bilevelc/ir/data"
	"bilevelc/lang"
)

// Axis is one dimension of a value: how many entries it has, and the labels of
// the set that it is over, one or a tuple for each entry; nil where entries are
// counted from 1.
type Axis = ir.Axis

// labelled reports whether a dimension has labels.
func labelled(axes []Axis) bool {
	return slices.ContainsFunc(axes, func(a Axis) bool { return a.Labels != nil })
}

// axisSizes are the shape that axes give.
func axisSizes(axes []Axis) []int {
	return each.Of(axes, func(a Axis) int { return a.Size })
}

// NewValue is an array under a name, over axes where there are some.
func NewValue(name string, a *data.Array, axes []Axis) Value {
	return Value{Name: name, Shape: a.Shape, Data: a.Values()}.Over(axes)
}

// Over is v with axes, where there are some.
func (v Value) Over(axes []Axis) Value {
	if axes != nil {
		v.Axes, v.Shape = axes, axisSizes(axes)
	}
	return v
}

// At returns the entry with the given labels, dimension by dimension; a tuple
// counts as many as it has, and an entry without a label its number.
func (v Value) At(labels ...string) (float64, bool) {
	for k := range v.Data {
		if slices.Equal(v.Key(k), labels) {
			return v.Data[k], true
		}
	}
	return 0, false
}

// Dimensions are the value's dimensions, those that count from 1 included. A value by
// label that was read from a document, and has not met its model, has those that its
// labels tell: one for each level of labels where every combination is there in
// order, else a single one of tuples.
func (v Value) Dimensions() []Axis {
	switch {
	case v.Axes != nil:
		return v.Axes
	case v.keys != nil:
		if axes := productOf(v.keys); axes != nil {
			return axes
		}
		return []Axis{{Size: len(v.keys), Labels: v.keys}}
	}
	return each.Of(v.Shape, func(n int) Axis { return Axis{Size: n} })
}

// productOf are dimensions, one for each place of the keys, whose elements give the
// keys row by row; nil where there are none, or one alone.
func productOf(keys [][]string) []Axis {
	if len(keys) == 0 || len(keys[0]) < 2 {
		return nil
	}
	axes := make([]Axis, len(keys[0]))
	seen := make([]map[string]bool, len(axes))
	for _, key := range keys {
		if len(key) != len(axes) {
			return nil
		}
		for d, label := range key {
			if seen[d] == nil {
				seen[d] = map[string]bool{}
			}
			if !seen[d][label] {
				seen[d][label] = true
				axes[d].Labels = append(axes[d].Labels, []string{label})
				axes[d].Size++
			}
		}
	}
	v := Value{Axes: axes}
	size := 1
	for _, a := range axes {
		if size *= a.Size; size > len(keys) {
			return nil
		}
	}
	for k, key := range keys {
		if !slices.Equal(v.Key(k), key) {
			return nil
		}
	}
	return axes
}

// Key lists the labels of entry k, those of a tuple one by one, and its number where a
// dimension has no labels.
func (v Value) Key(k int) []string {
	if v.keys != nil {
		return slices.Clip(v.keys[k])
	}
	axes := v.Dimensions()
	out := make([][]string, len(axes))
	for i := len(axes) - 1; i >= 0; i-- {
		a := axes[i]
		if a.Labels == nil {
			out[i] = []string{strconv.Itoa(k%a.Size + 1)}
		} else {
			out[i] = a.Labels[k%a.Size]
		}
		k /= a.Size
	}
	return slices.Concat(out...)
}

// readKeyed reads decoded JSON with objects in it: every number with the
// labels that lead to it.
func readKeyed(raw any, above []string, v *Value) {
	switch raw := raw.(type) {
	case *object:
		if v.keys == nil {
			v.keys = [][]string{} // an object, if of nothing
		}
		for i, name := range raw.names {
			err := must.Try(func() { readKeyed(raw.values[i], append(above[:len(above):len(above)], name), v) })
			must.Be(err == nil, "%s: %w", name, err)
		}
	case []any:
		for i, item := range raw {
			readKeyed(item, append(above[:len(above):len(above)], strconv.Itoa(i+1)), v)
		}
	default:
		v.keys, v.Data = append(v.keys, slices.Clone(above)), append(v.Data, must.Get(readFloat(raw)))
	}
}

// object is a decoded JSON object in its order.
type object struct {
	names  []string
	values []any
}

// decodeOrdered decodes one JSON value, objects in their order. keyed reports
// whether there was an object.
func decodeOrdered(dec *json.Decoder) (v any, keyed bool) {
	token := must.Get(dec.Token())
	switch token {
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			item, inner := decodeOrdered(dec)
			list, keyed = append(list, item), keyed || inner
		}
		must.Get(dec.Token())
		return list, keyed
	case json.Delim('{'):
		o := &object{}
		for dec.More() {
			name := must.Get(dec.Token())
			item, _ := decodeOrdered(dec)
			o.names, o.values = append(o.names, name.(string)), append(o.values, item)
		}
		must.Get(dec.Token())
		return o, true
	}
	return token, false
}

// ByLabel is a value that is given by label, as in JSON
// {"Rome": {"Oslo": 3}}; it takes its shape where it meets its declaration.
func ByLabel(name string, k *data.Keyed) Value {
	keys := k.Keys
	if keys == nil {
		keys = [][]string{} // over a set of nothing
	}
	return Value{Name: name, Data: k.Values, keys: keys}
}

// Fit brings a value to a declared shape: one that is given by label to the
// order of the labels. The error says what does not fit.
func (v Value) Fit(shape []int, axes []Axis) (out Value, err error) {
	defer must.Catch(&err)
	if axes != nil {
		shape = axisSizes(axes)
	}
	if v.keys == nil {
		must.Be(slices.Equal(v.Shape, shape), "%s is declared as %s but given as %s", v.Name, ShapeWords(shape), ShapeWords(v.Shape))
		return v.Over(axes), nil
	}
	must.Be(labelled(axes), "%s is declared as %s but given by label", v.Name, ShapeWords(shape))
	out = Value{Name: v.Name}.Over(axes)
	size := 1
	for _, n := range shape {
		size *= n
	}
	place := make(map[string]int, size)
	for k := range size {
		place[strings.Join(out.Key(k), "\x00")] = k
	}
	out.Data = make([]float64, size)
	given := make([]bool, size)
	for i, key := range v.keys {
		k, ok := place[strings.Join(key, "\x00")]
		if !ok {
			must.Be(false, "%s has no entry %s[%s]", v.Name, v.Name, lang.TupleText(key))
		}
		if given[k] {
			must.Be(false, "%s is given twice", EntryName(out, k))
		}
		out.Data[k], given[k] = v.Data[i], true
	}
	if k := slices.Index(given, false); k >= 0 {
		must.Be(false, "%s is missing", EntryName(out, k))
	}
	return out, nil
}

// EntryName is the name of entry k (from 0, row-major) of a value, as rows
// are named: travel, cap[3], flow[2, 1], flow["Rome", "Oslo"].
func EntryName(v Value, k int) string {
	if v.Axes != nil {
		return v.Name + "[" + ir.Place(v.Axes, k) + "]"
	}
	if v.keys != nil {
		return v.Name + "[" + lang.TupleText(v.keys[k]) + "]"
	}
	return data.EntryName(v.Name, v.Shape, k)
}
