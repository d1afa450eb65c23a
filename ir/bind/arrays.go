package bind

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/data"
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// bindData binds one data declaration, whose dimensions are known.
func (b *binder) bindData(s *ir.Symbol, d *lang.Data) {
	dims, ok := b.dims(&d.Type, s.Name)
	if !ok {
		return
	}
	if d.Type.Kind == lang.KindText {
		b.bindTexts(s, d, dims)
		return
	}
	at := d.Name.Span()
	var a *data.Array
	var origin string
	switch entry := b.set.Get(s.Name); {
	case entry != nil:
		if a, origin = b.given(s, d, entry, dims), entry.Origin; a == nil {
			return
		}
	case d.Value != nil:
		if a = b.written(s, d, dims); a == nil {
			if b.opts.Abstract && !b.list.HasErrors() {
				b.unknown(s, d, dims)
			}
			return
		}
		origin = "the model"
	case d.Gen != nil:
		if a = b.generate(s, d, dims); a == nil {
			return
		}
		origin = fmt.Sprintf("generator (seed %d)", b.opts.Seed)
	case b.opts.Abstract:
		b.unknown(s, d, dims)
		return
	default:
		b.noData(s, d)
		return
	}
	if !b.checkEntries(s, d, a, origin) {
		return
	}
	v := array(b.graph.Const(s.Name, a, at), dims)
	if d.Type.Kind == lang.KindInt {
		v = scalarInt(int(a.Dense[0]))
	}
	b.bind(s.Name, a, origin, v)
	b.bound[s.Name].Axes = exported(dims)
}

// unknown binds data that were not supplied, or follow from such (abstract binding).
func (b *binder) unknown(s *ir.Symbol, d *lang.Data, dims []dim) {
	b.known[s.Name] = array(b.graph.Opaque(s.Name, expr.ShapeOf(sizesOf(dims)), d.Name.Span()), dims)
}

// given is a supplied array in the shape of its declaration; nil where it does
// not fit, which is reported.
func (b *binder) given(s *ir.Symbol, d *lang.Data, entry *data.Entry, dims []dim) *data.Array {
	switch {
	case entry.Keyed != nil:
		return b.byLabel(s, d, entry, dims)
	case entry.Array != nil:
		return b.conform(s, d, entry.Array, sizesOf(dims), entry.Origin)
	case entry.Labels != nil:
		b.errorf(diag.BindShape, d.Name.Span(), "`%s` is declared %s, but %s gives texts", s.Name, d.Type.Span().Text(), entry.Origin).Fix = elab.AsTexts(d)
	default: // a table that is no array
		for _, f := range entry.Faults {
			b.list.Add(f)
		}
		if len(entry.Faults) == 0 {
			b.errorf(diag.BindShape, d.Name.Span(), "`%s` is declared %s, but %s is a table without a column `%s`", s.Name, d.Type.Span().Text(), entry.Origin, s.Name)
		}
	}
	return nil
}

// conform compares the shape of a supplied array with the declared one. An n
// x 1 matrix, as files hold a column, serves as a vector of n.
func (b *binder) conform(s *ir.Symbol, d *lang.Data, a *data.Array, dims []int, origin string) *data.Array {
	if len(dims) == 1 && a.Rank() == 2 && a.Shape[1] == 1 {
		a = data.Vector(a.Values())
	}
	if len(dims) > 2 && a.Rank() == 1 && a.Len() == expr.ShapeOf(dims).Len() { // its entries row-major
		return a
	}
	if len(dims) == 2 && a.Len() == 0 && dims[0]*dims[1] == 0 { // JSON cannot say how long the rows are that there are none of
		return data.Matrix(dims[0], dims[1], nil)
	}
	switch {
	case !slices.Equal(dims, a.Shape):
		b.misshaped(s, d, a, dims, origin)
		return nil
	case len(dims) > 2:
		return data.Vector(a.Values())
	}
	return a
}

// misshaped reports an array that does not have its declared shape. Where a
// param is to blame, one report covers all the arrays that disagree with it.
func (b *binder) misshaped(s *ir.Symbol, d *lang.Data, a *data.Array, dims []int, origin string) {
	var blamed []*ir.BoundData // params that the differing dimensions are written as
	named := len(dims) == a.Rank()
	for k, dim := range d.Type.Dims {
		if !named || a.Shape[k] == dims[k] {
			continue
		}
		name, ok := dim.(*lang.Name)
		named = ok && b.bound[name.Name] != nil
		if named && !slices.Contains(blamed, b.bound[name.Name]) {
			blamed = append(blamed, b.bound[name.Name])
		}
	}
	if named && len(blamed) == 1 {
		if first := b.blamed[blamed[0]]; first != nil {
			first.Detail += fmt.Sprintf(" `%s` is %s in %s.", s.Name, sizeText(a.Shape), origin)
			return
		}
	}
	e := b.errorf(diag.BindShape, d.Name.Span(), "`%s` is %s in %s, but %s is needed", s.Name, sizeText(a.Shape), origin, sizeText(dims))
	if len(dims) != a.Rank() {
		lists := "numbers"
		if len(dims) == 0 {
			lists = "a number"
		}
		for _, n := range slices.Backward(dims) {
			lists = fmt.Sprintf("a list of %d %s", n, strings.Replace(lists, "a list", "lists", 1))
		}
		if e.Fix = rowAsList(d, a); e.Fix == "" {
			e.Fix = "give it as " + lists
		}
	}
	e.Detail = fmt.Sprintf("`%s` is declared %s.", s.Name, d.Type.Span().Text())
	for k, dim := range d.Type.Dims {
		if name, ok := dim.(*lang.Name); ok && b.sets[name.Name] != nil && len(dims) == a.Rank() && a.Shape[k] != dims[k] {
			e.Detail += fmt.Sprintf(" `%s` has %d elements (%s).", name.Name, b.sets[name.Name].n, b.sets[name.Name].origin)
		}
	}
	for _, in := range blamed {
		e.Detail += fmt.Sprintf(" `%s` is %v (%s).", in.Name, in.Array.Dense[0], in.Origin)
		p, ok := b.symbol(in.Name).Decl.(*lang.Param)
		if !ok {
			continue
		}
		e.Related = append(e.Related, diag.Related{Span: p.Name.Span(), Message: fmt.Sprintf("`%s` is declared here", in.Name)})
		if p.Default == nil && b.set.Get(in.Name) == nil {
			e.Code = diag.BindConflict // inferred from another array
		}
	}
	if named && len(blamed) == 1 {
		b.blamed[blamed[0]] = e
	}
}

// checkEntries reports the first entry that is not finite, or not an integer
// where one is declared.
func (b *binder) checkEntries(s *ir.Symbol, d *lang.Data, a *data.Array, origin string) bool {
	vals := a.Stored()
	for k, v := range vals {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			continue
		}
		b.errorf(diag.BindNotFinite, d.Name.Span(), "`%s` is %v (%s)", entryName(s.Name, a, k), v, origin)
		return false
	}
	if d.Type.Kind == lang.KindInt && (vals[0] != math.Trunc(vals[0]) || math.Abs(vals[0]) >= exactInt) {
		b.errorf(diag.BindNotInteger, d.Name.Span(), "`%s` must be an integer, but is %v (%s)", s.Name, vals[0], origin)
		return false
	}
	return true
}

// entryName spells the k-th stored entry: "X[3, 2]".
func entryName(name string, a *data.Array, k int) string {
	if a.Sparse != nil {
		i := 0
		for a.Sparse.Ptr[i+1] <= k {
			i++
		}
		k = i*a.Shape[1] + a.Sparse.Col[k]
	}
	return data.EntryName(name, a.Shape, k)
}

// written evaluates `data v: vector[n] = e`.
func (b *binder) written(s *ir.Symbol, d *lang.Data, dims []dim) *data.Array {
	e := b.top()
	v := e.numeric(d.Value)
	if v.bad() {
		return nil
	}
	if want := expr.ShapeOf(sizesOf(dims)); v.item() != want || v.isRow() {
		diagnostic := b.errorf(diag.BindShape, d.Value.Span(), "`%s` is %s, but is declared %s", s.Name, v.describe(), d.Type.Span().Text())
		for _, dim := range d.Type.Dims {
			if name, ok := dim.(*lang.Name); ok && b.bound[name.Name] != nil {
				in := b.bound[name.Name]
				diagnostic.Detail += fmt.Sprintf("`%s` is %v (%s). ", name.Name, in.Array.Dense[0], in.Origin)
			}
		}
		return nil
	}
	if v.node.Opaque || d.Type.Kind == lang.KindInt && e.rounded(v, d.Value.Span(), "`"+s.Name+"`") {
		return nil
	}
	a := b.value(v.node)
	if fault := expr.Trace(v.node, nil, nil); fault != nil {
		b.errorf(diag.BindNotFinite, d.Value.Span(), "`%s` is not finite: %s", s.Name, fault.Error())
		return nil
	}
	return a
}

// generate draws the entries row by row from a generator of its own, keyed by
// the seed and the data's name: other declarations do not change it.
func (b *binder) generate(s *ir.Symbol, d *lang.Data, dims []dim) *data.Array {
	var args [2]float64
	for k, x := range d.Gen.Args {
		v, known, ok := b.fixedNumber(x, "an argument of a generator")
		if ok && !known {
			b.unknown(s, d, dims)
		}
		if !known {
			return nil
		}
		args[k] = v
	}
	b.fits(d.Name.Span(), s.Name, sizesOf(dims)...)
	key := fnv.New64a()
	key.Write([]byte(s.Name))
	rng := rand.New(rand.NewPCG(b.opts.Seed, key.Sum64()))
	draw := func() float64 { return args[0] + (args[1]-args[0])*rng.Float64() }
	switch d.Gen.Name.Name {
	case "normal":
		if !(args[1] >= 0) {
			b.errorf(diag.BindGenerator, d.Gen.Args[1].Span(), "the standard deviation is %v: it must be at least 0", args[1])
			return nil
		}
		draw = func() float64 { return args[0] + args[1]*rng.NormFloat64() }
	case "uniform":
		if !(args[0] <= args[1]) {
			b.errorf(diag.BindGenerator, d.Gen.Span(), "the range is empty: %v is above %v", args[0], args[1])
			return nil
		}
	}
	shape := expr.ShapeOf(sizesOf(dims))
	return expr.NewArray(shape, each.Below(shape.Len(), func(int) float64 { return draw() }))
}
