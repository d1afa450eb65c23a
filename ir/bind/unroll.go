package bind

import (
	"bilevelc/internal/each"
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// Batching needs the parts of a body to have the same size for every tuple.
// Where they do not, as in sum(y[1..t]) for each t, the outermost comprehension
// or family is elaborated tuple by tuple instead, with its indices as plain
// integers. That takes a graph in proportion to the tuples, so it is bounded.

// maxUnrolled bounds the tuples that are elaborated one by one for a
// comprehension, and maxLoops those of a model, nested ones multiplied.
const (
	maxUnrolled = 1 << 12
	maxLoops    = 1 << 16
)

// again reports whether elaboration, begun where there were so many diagnostics, failed on
// a size that varies with an index. It then takes those since back.
func (b *binder) again(before int) bool {
	if !b.varying {
		return false
	}
	b.takeBack(before)
	return true
}

// takeBack takes the diagnostics since there were so many back.
func (b *binder) takeBack(before int) {
	for _, d := range b.list[before:] {
		delete(b.reported, key(d))
	}
	b.list, b.varying = b.list[:before], false
}

// none reports whether the elaboration of a body over a space without tuples failed for the size of a range whose ends move: it has none where there is no tuple to say it. What was said since there were so many diagnostics is taken back:
// it is of no value that there is.
func (b *binder) none(s *space, before int) bool {
	if !b.unsized || s.n > 0 {
		return false
	}
	b.takeBack(before)
	return true
}

// vary reports a size that varies with an index.
func (e *elaborator) vary(at diag.Span, format string, args ...any) *diag.Diagnostic {
	e.b.varying = true
	return e.errorf(diag.BindVaryingSize, at, format, args...)
}

// tuple returns the elaborator of one tuple of a space that was just
// enumerated, with its indices as integers.
func (e *elaborator) tuple(s *space, k int) *elaborator {
	one := e
	for _, i := range s.indices {
		one = one.with(i.name, element(i.at[k], i.set))
	}
	return one
}

// mayUnroll checks the number of tuples.
func (e *elaborator) mayUnroll(s *space, at diag.Span) bool {
	e.b.loops += s.n
	if s.n <= maxUnrolled && e.b.loops <= maxLoops {
		return true
	}
	e.errorf(diag.BindVaryingSize, at, "a part of this changes its size with the index, for %d index tuples; the limit is %d, and %d in the model", s.n, maxUnrolled, maxLoops).
		Fix = "write an inner comprehension instead of a range, such as `sum(j in 1..i: y[j])`"
	return false
}

// pairwise is the operation that joins two results of a reduction.
var pairwise = map[expr.Op]expr.Op{
	expr.Sum: expr.Add, expr.Prod: expr.Mul, expr.MaxAll: expr.Max, expr.MinAll: expr.Min,
}

// unroll reduces a body over the tuples of s, one by one, or makes an array of it.
func (e *elaborator) unroll(x *lang.Comprehension, op expr.Op, s *space) value {
	at := e.at(x)
	if !e.mayUnroll(s, at) {
		return value{}
	}
	items := make([]value, s.n)
	for k := range items {
		v := e.tuple(s, k).numeric(x.Body)
		if v.bad() {
			return value{}
		}
		if s.mask != nil {
			mask := unbatched(e.b.graph.Gather(s.mask, []int{k}, expr.ScalarShape(), at))
			v = e.map2(expr.Mul, mask, v, at)
		}
		if items[k] = v; elab.Disagree(items[0].typ, v.typ) {
			e.errorf(diag.BindShapes, at, "the terms of this sum have different sizes").Detail =
				s.where(0) + ": " + items[0].describe() + ", " + s.where(k) + ": " + v.describe()
			return value{}
		}
	}
	if x.Fn.Name == "" {
		entries := each.Of(items, func(v value) *expr.Node { return e.num(v).node })
		return e.arrayOf(x, value{typ: elab.Real, space: s, node: e.halves(entries, at)}, s)
	}
	// A balanced tree keeps the graph shallow and rounding small.
	for len(items) > 1 {
		half := (len(items) + 1) / 2
		for k := half; k < len(items); k++ {
			items[k-half] = e.map2(pairwise[op], items[k-half], items[k], at)
		}
		items = items[:half]
	}
	return items[0]
}

// unrolled lowers the relations of a family tuple by tuple.
func (r *rows) unrolled(c *lang.Constraint, s *space) []relation {
	e := r.b.top()
	if !e.mayUnroll(s, c.Span()) {
		return nil
	}
	var out []relation
	var item value
	for k := range s.n {
		links := r.links(e.tuple(s, k), c)
		if len(links) != len(c.Ops) {
			return nil
		}
		for i, l := range links {
			if k == 0 {
				item = shaped(arrayOver(l.dims), s)
				out = append(out, l)
				continue
			}
			if l.family.Shape != item.item() {
				r.b.errorf(diag.BindShapes, l.at, "the rows for %s are %s, those for %s are %s",
					s.where(0), item.item(), s.where(k), l.family.Shape)
				return nil
			}
			if out[i].values != nil && l.values != nil {
				out[i].values = append(out[i].values, l.values...)
				continue
			}
			if (out[i].values == nil) != (l.values == nil) {
				r.b.errorf(diag.BindVaryingSize, l.at, "`%s` is affine in the upper variables for some of its indices only", out[i].family.Name).
					Fix = "write two families with conditions"
				return nil
			}
			out[i].form = out[i].form.below(l.form)
		}
	}
	for i := range out {
		out[i].family.Shape, out[i].family.Axes = familyShape(item)
		out[i].over = indexedRows(out[i].family, c, item)
		if s.mask != nil {
			out[i].form = nil
		}
	}
	return out
}

// below appends the rows of g; nil where either is unknown.
func (f *form) below(g *form) *form {
	if f == nil || g == nil {
		return nil
	}
	out := &form{cols: f.cols, ptr: f.ptr, terms: append(f.terms, g.terms...)}
	for _, p := range g.ptr[1:] {
		out.ptr = append(out.ptr, len(f.terms)+p)
	}
	return out
}
