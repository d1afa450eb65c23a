package bind

import (
	"fmt"

	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// selector is one subscript: the positions, from 0, that it takes along its
// dimension, width of them for each tuple of its space.
type selector struct {
	single bool // a scalar index: the dimension disappears
	width  int
	space  *space
	pos    []int // width, or width a tuple
	opaque *expr.Node
}

// index is x[i], A[i, j], A[i, :], y[2..n].
func (e *elab) index(x *lang.Index) value {
	v := e.numeric(x.X)
	if v.bad() {
		for _, s := range x.Subs {
			e.subscript(s, 0)
		}
		return value{}
	}
	if v.item.Rank != len(x.Subs) {
		e.errorf(diag.BindShapes, e.at(x), "%s takes %d subscripts, not %d", v.describe(), v.item.Rank, len(x.Subs))
		return value{}
	}
	dims := []int{v.item.Rows, v.item.Cols}
	sels := make([]selector, len(x.Subs))
	s, ok := v.space, true
	for k, sub := range x.Subs {
		sel, good := e.subscript(sub, dims[k])
		if good {
			good = e.inRange(sel, sub, x, dims[k])
		}
		ok = ok && good
		sels[k] = sel
		s = join(s, sel.space)
	}
	if !ok {
		return value{}
	}
	for _, sel := range sels {
		if sel.opaque != nil {
			return e.unknownIndex(x, v, sels, s)
		}
	}
	return e.take(v, sels, s, e.at(x))
}

// subscript evaluates one subscript along a dimension.
func (e *elab) subscript(sub lang.Subscript, dim int) (selector, bool) {
	if sub.All {
		return selector{width: dim, pos: count(0, dim)}, true
	}
	lo := e.expr(sub.Lo)
	if sub.Hi != nil {
		return e.rangeSubscript(sub, lo)
	}
	ints, ok := e.integers(lo, e.at(sub.Lo), "an index")
	if !ok {
		return selector{}, false
	}
	sel := selector{single: lo.isScalar(), width: 1, space: lo.space}
	if !sel.single {
		sel.width = lo.item.Len()
	}
	if ints == nil {
		sel.opaque = e.num(lo).node
		n := 1
		if lo.space != nil {
			n = lo.space.n
		}
		sel.pos = make([]int, n*sel.width)
		return sel, true
	}
	sel.pos = make([]int, len(ints))
	for k, i := range ints {
		sel.pos[k] = i - 1
	}
	return sel, true
}

// rangeSubscript is lo..hi; its length must be the same for all tuples.
func (e *elab) rangeSubscript(sub lang.Subscript, lo value) (selector, bool) {
	hi := e.expr(sub.Hi)
	los, ok := e.integers(lo, e.at(sub.Lo), "an index")
	his, ok2 := e.integers(hi, e.at(sub.Hi), "an index")
	if !ok || !ok2 {
		return selector{}, false
	}
	if los == nil || his == nil {
		e.errorf(diag.BindVaryingSize, e.at(sub), "the length of this range depends on data that was not supplied")
		return selector{}, false
	}
	s := join(lo.space, hi.space)
	if s != nil {
		lo, hi = e.lift(e.asInt(lo, los), s, e.at(sub)), e.lift(e.asInt(hi, his), s, e.at(sub))
		los, his = lo.ints, hi.ints
	}
	sel := selector{space: s}
	for k := range los {
		width := max(his[k]-los[k]+1, 0)
		if k > 0 && width != sel.width {
			e.vary(e.at(sub), "the length of this range changes with the index: %d and %d", sel.width, width).
				Fix = "write a comprehension over the range, such as `sum(j in 1..i: y[j])`"
			return selector{}, false
		}
		sel.width = width
		if !e.b.fits(e.at(sub), "the range", len(los), width) {
			return selector{}, false
		}
		sel.pos = append(sel.pos, count(los[k]-1, width)...)
	}
	return sel, true
}

// asInt is v as an integer value with the given numbers.
func (e *elab) asInt(v value, ints []int) value {
	return value{kind: integer, item: v.item, space: v.space, ints: ints}
}

// inRange checks the positions against the dimension.
func (e *elab) inRange(sel selector, sub lang.Subscript, x *lang.Index, dim int) bool {
	if sel.opaque != nil && dim > 0 {
		return true
	}
	for k, p := range sel.pos {
		if p >= 0 && p < dim {
			continue
		}
		what := "The array"
		if n, ok := x.X.(*lang.Name); ok {
			what = "`" + n.Name + "`"
		}
		d := e.errorf(diag.BindIndex, e.at(sub), "index %d is outside 1..%d", p+1, dim)
		d.Detail = fmt.Sprintf("%s has %d entries along this dimension.", what, dim)
		if sel.space != nil && sel.width > 0 {
			d.Detail += " This happens where " + sel.space.where(k/sel.width) + "."
		}
		return false
	}
	return true
}

// take gathers the selected entries.
func (e *elab) take(v value, sels []selector, s *space, at diag.Span) value {
	out := value{kind: number, space: s, item: selected(sels)}
	out.row = out.item.Rank == 1 && (v.row || len(sels) == 2 && sels[0].single)
	n, shape := 1, out.item
	if s != nil {
		n, shape = s.n, batchShape(s.n, out.item)
	}
	if !e.b.fits(at, "the selection", n, out.item.Len()) {
		return value{}
	}
	bases := tuples(s, v.space, n)
	rows := sels[0]
	rowAt := tuples(s, rows.space, n)
	index := make([]int, 0, n*out.item.Len())
	if len(sels) == 1 {
		for t := range n {
			base := bases[t] * v.item.Len()
			for _, p := range rows.pos[rowAt[t]*rows.width : (rowAt[t]+1)*rows.width] {
				index = append(index, base+p)
			}
		}
	} else {
		cols := sels[1]
		colAt := tuples(s, cols.space, n)
		for t := range n {
			base := bases[t] * v.item.Len()
			for _, i := range rows.pos[rowAt[t]*rows.width : (rowAt[t]+1)*rows.width] {
				for _, j := range cols.pos[colAt[t]*cols.width : (colAt[t]+1)*cols.width] {
					index = append(index, base+i*v.item.Cols+j)
				}
			}
		}
	}
	out.node = e.gather(v.node, index, shape, at)
	return out
}

// selected is the shape that subscripts leave.
func selected(sels []selector) expr.Shape {
	var dims []int
	for _, sel := range sels {
		if !sel.single {
			dims = append(dims, sel.width)
		}
	}
	switch len(dims) {
	case 0:
		return expr.ScalarShape()
	case 1:
		return expr.VectorShape(dims[0])
	}
	return expr.MatrixShape(dims[0], dims[1])
}

// tuples maps the tuples of s, or the single instance where s is nil, to
// those of an ancestor.
func tuples(s, ancestor *space, n int) []int {
	if s == nil {
		return make([]int, n)
	}
	return s.to(ancestor)
}

// unknownIndex stands for a selection by data that was not supplied. Of data
// it is unknown data; of variables it is an unknown linear map of all entries.
func (e *elab) unknownIndex(x *lang.Index, v value, sels []selector, s *space) value {
	out := value{kind: number, space: s, item: selected(sels)}
	out.row = out.item.Rank == 1 && (v.row || len(sels) == 2 && sels[0].single)
	shape := out.item
	if s != nil {
		shape = batchShape(s.n, out.item)
	}
	at, g := e.at(x), e.b.graph
	name := fmt.Sprintf("(selection at %s, %d)", x.Span(), len(g.Nodes()))
	if v.node.Deps == 0 {
		out.node = g.Opaque(name, shape, at)
		return out
	}
	if !e.b.fits(at, "the selection", shape.Len(), v.node.Shape.Len()) {
		return value{}
	}
	flat := v.node
	if flat.Shape.Rank != 1 {
		flat = e.reshape(flat, expr.VectorShape(flat.Shape.Len()), at)
	}
	pick := g.Opaque(name, expr.MatrixShape(shape.Len(), flat.Shape.Len()), at)
	out.node = e.must(g.MatVec(pick, false, flat, at))
	if shape.Rank == 0 {
		out.node = e.gather(out.node, []int{0}, shape, at)
	} else if shape.Rank == 2 {
		out.node = e.reshape(out.node, shape, at)
	}
	return out
}

// count is lo, lo+1, ... of the given length.
func count(lo, length int) []int {
	out := make([]int, length)
	for k := range out {
		out[k] = lo + k
	}
	return out
}
