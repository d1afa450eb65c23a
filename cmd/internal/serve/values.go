package serve

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/ir"
	"bilevelc/ir/data"
	"bilevelc/ir/datafile"
	"bilevelc/lang"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
)

// packed is an array in binary: the doubles, little-endian and row-major, in base64.
type packed struct {
	Dtype  string `json:"dtype"` // "<f8"
	Shape  []int  `json:"shape"`
	Base64 string `json:"base64"`
}

// triplets is a sparse matrix: entry data[k] at row[k] and col[k], counted from 0.
// Entries at one place add up.
type triplets struct {
	Shape []int     `json:"shape"`
	Row   []int     `json:"row"`
	Col   []int     `json:"col"`
	Data  []float64 `json:"data"`
}

// unpack reads a packed array; not ok where the text is something else.
func unpack(text []byte) (p packed, ok bool) {
	return p, strict(text, &p) && p.Dtype != ""
}

// strict decodes an object that has no other members.
func strict(text []byte, into any) bool {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into) == nil
}

// entries are the numbers.
func (p packed) entries() ([]float64, error) {
	if p.Dtype != "<f8" {
		return nil, fmt.Errorf(`dtype is "<f8", not %q`, p.Dtype)
	}
	raw, err := base64.StdEncoding.DecodeString(p.Base64)
	if err != nil {
		return nil, err
	}
	n := 1
	for _, d := range p.Shape {
		if d < 0 || n > 0 && d > math.MaxInt/8/n {
			return nil, fmt.Errorf("no array has shape %v", p.Shape)
		}
		n *= d
	}
	if len(raw) != 8*n {
		return nil, fmt.Errorf("an array of shape %v has %d bytes, not %d", p.Shape, 8*n, len(raw))
	}
	return each.Below(n, func(i int) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:])) }), nil
}

// flat is the array as a parameter that is one vector.
func (p packed) flat(name string) []float64 {
	v, err := p.entries()
	hold(err == nil, "params: %s: %v", name, err)
	return v
}

// vector reads a parameter that is a list of numbers, or packed; nil where there is none.
func vector(name string, text json.RawMessage) (v []float64) {
	if len(text) == 0 || string(text) == "null" {
		return nil
	}
	if p, ok := unpack(text); ok {
		return p.flat(name)
	}
	hold(json.Unmarshal(text, &v) == nil, "params: %s is a list of numbers, in the order of the declarations", name)
	return v
}

// entry reads the data of one name: a packed array, a sparse matrix, or what a JSON
// document of data may hold.
func entry(name string, text json.RawMessage) (*data.Set, diag.List) {
	origin := "data[" + strconv.Quote(name) + "]"
	shown := name + " = " + firstOf(text)
	fault := func(code diag.Code, format string, args ...any) (*data.Set, diag.List) {
		var diags diag.List
		diags.Errorf(code, diag.Span{Source: diag.NewSource(origin, shown), End: len(shown)}, format, args...)
		return nil, diags
	}
	if p, ok := unpack(text); ok {
		v, err := p.entries()
		if err != nil {
			return fault(diag.DataSize, "%s: %v", name, err)
		}
		for k, f := range v {
			if math.IsNaN(f) || math.IsInf(f, 0) {
				at := runtime.EntryName(runtime.Value{Name: name, Shape: p.Shape}, k)
				shown = fmt.Sprintf("%s = %v", at, f)
				return fault(diag.DataNotFinite, "%s is %v", at, f)
			}
		}
		return &data.Set{Entries: []data.Entry{{Name: name, Array: &data.Array{Shape: p.Shape, Dense: v}, Origin: origin}}}, nil
	}
	var m triplets
	if strict(text, &m) && m.Row != nil {
		if len(m.Shape) != 2 || m.Shape[0] < 0 || m.Shape[1] < 0 || len(m.Row) != len(m.Data) || len(m.Col) != len(m.Data) {
			return fault(diag.DataSize, "a sparse matrix has a shape of two numbers, and row, col and data of one length")
		}
		entries := make([]sparse.Entry, len(m.Data))
		for k, v := range m.Data {
			if m.Row[k] < 0 || m.Row[k] >= m.Shape[0] || m.Col[k] < 0 || m.Col[k] >= m.Shape[1] {
				return fault(diag.DataSize, "entry %d, at row %d and column %d, is outside a matrix of shape %v", k, m.Row[k], m.Col[k], m.Shape)
			}
			entries[k] = sparse.Entry{Row: m.Row[k], Col: m.Col[k], Val: v}
		}
		array := data.SparseMatrix(sparse.FromEntries(m.Shape[0], m.Shape[1], entries))
		return &data.Set{Entries: []data.Entry{{Name: name, Array: array, Origin: origin}}}, nil
	}
	key, _ := json.Marshal(name) // never an error for a text
	set, diags := datafile.Read(datafile.JSON, origin, "{"+string(key)+": "+string(text)+"}", "")
	for i := range set.Entries {
		set.Entries[i].Origin = origin
	}
	return set, diags
}

// firstOf is the beginning of a text, for a message.
func firstOf(text []byte) string {
	const shown = 60 // characters, what stays of a line of a terminal
	if len(text) <= shown {
		return string(text)
	}
	return string(text[:shown]) + "..."
}

// input is what a model says of a name that data may give.
type input struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // param, data or set
	Type string `json:"type"`
	// Dims are the dimensions as they stand in the model, and Labels tells which of them
	// are over sets.
	Dims   []string `json:"dims"`
	Labels []bool   `json:"labels"`
	// Given tells that the model has a value, or elements, for it.
	Given bool `json:"given"`
}

// inputsOf lists them in the order of the alphabet.
func inputsOf(p *ir.Program) []input {
	kinds := map[ir.SymbolKind]string{ir.ParamSymbol: "param", ir.DataSymbol: "data", ir.SetSymbol: "set"}
	list := []input{}
	for _, name := range slices.Sorted(maps.Keys(p.Symbols)) {
		symbol := p.Symbols[name]
		kind, ok := kinds[symbol.Kind]
		if !ok {
			continue
		}
		in := input{Name: name, Kind: kind, Type: symbol.Type.String(), Dims: []string{}, Labels: []bool{}, Given: given(symbol.Decl)}
		for _, d := range symbol.Type.Dims {
			over := p.Symbols[d.String()]
			in.Dims = append(in.Dims, d.String())
			in.Labels = append(in.Labels, over != nil && over.Kind == ir.SetSymbol)
		}
		list = append(list, in)
	}
	return list
}

// given reports whether the model itself says what a name stands for.
func given(decl lang.Node) bool {
	switch d := decl.(type) {
	case *lang.Param:
		return d.Default != nil
	case *lang.Data:
		return d.Value != nil || d.Gen != nil
	case *lang.IndexSet:
		return d.Value != nil
	}
	return false
}

// array is what a client needs to know of a value to label it.
type array struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
	Axes  []axis `json:"axes,omitempty"` // where one has labels
}

type axis struct {
	Size   int        `json:"size"`
	Names  []string   `json:"names,omitempty"`
	Labels [][]string `json:"labels,omitempty"`
}

func arrayOf(name string, shape []int, axes []runtime.Axis) array {
	a := array{Name: name, Shape: append([]int{}, shape...)}
	if axes != nil {
		a.Shape = a.Shape[:0]
	}
	labelled := false
	for _, x := range axes {
		a.Shape = append(a.Shape, x.Size)
		a.Axes = append(a.Axes, axis{x.Size, x.Names, x.Labels})
		labelled = labelled || x.Labels != nil
	}
	if !labelled {
		a.Axes = nil
	}
	return a
}

// describe is the answer of bind and update: the problem's name, and its arrays. The
// vectors x and y have the entries of upper and lower one after the other, row-major.
func describe(handle string, p *runtime.Problem) map[string]any {
	dx, dy, rows := p.Dims()
	levels := map[string]any{}
	for name, level := range map[string]*ir.Level{"upper": &p.IR.Upper, "lower": &p.IR.Lower} {
		sense := "minimize"
		if level.Maximize {
			sense = "maximize"
		}
		list := []array{}
		for _, v := range level.Vars {
			if !v.Hidden {
				list = append(list, arrayOf(v.Name, v.Shape.Dims(), v.Axes))
			}
		}
		levels[name] = map[string]any{"sense": sense, "variables": list}
	}
	constraints := []array{}
	seen := map[*ir.Family]bool{}
	for _, row := range p.IR.Rows {
		if f := row.Family; !f.Hidden && !seen[f] {
			seen[f] = true
			constraints = append(constraints, arrayOf(f.Name, f.Shape.Dims(), f.Axes))
		}
	}
	report := each.Of(p.IR.Report, func(item ir.NamedNode) array { return arrayOf(item.Name, item.Node.Shape.Dims(), item.Axes) })
	return map[string]any{"problem": handle, "digest": p.Digest(), "dims": map[string]int{"x": dx, "y": dy, "rows": rows},
		"upper": levels["upper"], "lower": levels["lower"], "constraints": constraints, "report": report, "warnings": findings(p.Warnings),
		"warnings_text": textOf(p.Warnings)}
}

// findings are diagnostics as a document.
func findings(list diag.List) json.RawMessage { return diag.RenderJSON(list) }
