package bind

import (
	"fmt"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// selector is one subscript: the positions, from 0, that it takes along its
// dimension, width of them for each tuple of its space.
type selector struct {
	single bool // a scalar index: the dimension disappears
	width  int
	all    bool // the whole dimension, in its order
	space  *space
	pos    []int // width, or width a tuple
	opaque *expr.Node
}

// index is x[i], A[i, j], A[i, :], y[2..n].
func (e *elaborator) index(x *lang.Index) value {
	v := e.numeric(x.X)
	if v.bad() {
		for _, s := range x.Subs { // report what is wrong there too
			e.expr(s.Lo)
			e.expr(s.Hi)
		}
		return value{}
	}
	sels, s, ok := e.selectors(x, v.typ, v.space)
	if !ok {
		return value{}
	}
	unknown := slices.ContainsFunc(sels, func(sel selector) bool { return sel.opaque != nil })
	switch {
	case v.typ.Kind == ir.TextType: // an element of the set of the values, one or one a tuple
		out := value{typ: elab.Int, space: s, ints: pick(v.ints, e.places(v, sels, s)), set: v.set}
		if unknown {
			values := *v.set
			values.fake = true
			out.set = &values
		}
		return out
	case unknown:
		return e.unknownIndex(x, v, sels, s)
	}
	out := remaining(v, sels, s)
	e.b.fits(e.at(x), "the selection", s.size(), out.item().Len())
	out.node = e.b.graph.Gather(v.node, e.places(v, sels, s), s.shape(out.item()), e.at(x))
	return out
}

// selectors evaluates the subscripts of an array of type t at space s, and gives the
// space of them all.
func (e *elaborator) selectors(x *lang.Index, t ir.Type, s *space) ([]selector, *space, bool) {
	groups, f := elab.Subscripts(x, t, e.rangesOverTuples)
	if f != nil {
		e.fault(f)
		return nil, nil, false
	}
	sels := make([]selector, len(groups))
	ok := true
	for k, subs := range groups {
		sel, good := e.along(subs, t.Dims[k].(dim), x)
		ok = ok && good
		sels[k] = sel
		s = join(s, sel.space)
	}
	return sels, s, ok
}

// subscript evaluates one subscript, which begins with lo, along a dimension whose places
// are counted from first.
func (e *elaborator) subscript(sub lang.Subscript, lo value, first int) (selector, bool) {
	if sub.Hi != nil {
		return e.rangeSubscript(sub, lo, first)
	}
	ints, ok := e.integers(lo, e.at(sub.Lo), "an index")
	if !ok {
		return selector{}, false
	}
	sel := selector{single: lo.isScalar(), width: 1, space: lo.space}
	if !sel.single {
		sel.width = lo.item().Len()
	}
	if ints == nil {
		sel.opaque = e.num(lo).node
		sel.pos = make([]int, lo.space.size()*sel.width)
		return sel, true
	}
	sel.pos = each.Of(ints, func(i int) int { return i - first })
	return sel, true
}

// rangeSubscript is lo..hi; its length must be the same for all tuples.
func (e *elaborator) rangeSubscript(sub lang.Subscript, lo value, first int) (selector, bool) {
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
	los, his = e.lift(intsAt(los, lo.space), s, e.at(sub)).ints, e.lift(intsAt(his, hi.space), s, e.at(sub)).ints
	sel := selector{space: s}
	e.b.unsized = e.b.unsized || len(los) == 0
	for k := range los {
		width := max(his[k]-los[k]+1, 0)
		if k > 0 && width != sel.width {
			e.vary(e.at(sub), "the length of this range changes with the index: %d and %d", sel.width, width).
				Fix = "write a comprehension over the range, such as `sum(j in 1..i: y[j])`"
			return selector{}, false
		}
		sel.width = width
		e.b.fits(e.at(sub), "the range", len(los), width)
		sel.pos = append(sel.pos, expr.Sequence(los[k]-first, width)...)
	}
	return sel, true
}

// inRange checks the positions against the dimension.
func (e *elaborator) inRange(sel selector, sub lang.Subscript, x *lang.Index, dim, lo int) bool {
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
		d := e.errorf(diag.BindIndex, e.at(sub), "index %d is outside %d..%d", p+lo, lo, lo+dim-1)
		d.Detail = fmt.Sprintf("%s has %d entries along this dimension.", what, dim)
		if sel.space != nil {
			d.Detail += " " + sel.space.happens(k/sel.width)
		}
		return false
	}
	return true
}

// places are those of the selected entries of v, at the tuples of s.
func (e *elaborator) places(v value, sels []selector, s *space) []int {
	dims := v.dims()
	bases := s.to(v.space)
	ats := each.Of(sels, func(sel selector) []int { return s.to(sel.space) })
	n := s.size()
	for _, sel := range sels {
		n *= sel.width
	}
	index := make([]int, 0, n)
	for t := range s.size() {
		// The places along the first dimensions, then those below each.
		from := len(index)
		index = append(index, bases[t])
		for d, sel := range sels {
			pos := sel.pos[ats[d][t]*sel.width : (ats[d][t]+1)*sel.width]
			above := len(index) - from
			index = append(index, make([]int, above*max(len(pos)-1, 0))...)[:from+above*len(pos)]
			for i := above - 1; i >= 0 && len(pos) > 0; i-- { // an empty range takes nothing
				base := index[from+i] * dims[d].n
				for j := len(pos) - 1; j >= 0; j-- {
					index[from+i*len(pos)+j] = base + pos[j]
				}
			}
		}
	}
	return index
}

// remaining is what subscripts leave of a value, without its node.
func remaining(v value, sels []selector, s *space) value {
	sizes := make([]ir.Dim, len(sels))
	for k, d := range v.dims() {
		switch {
		case sels[k].single:
		case sels[k].all:
			sizes[k] = d
		default:
			sizes[k] = dim{n: sels[k].width}
		}
	}
	return shaped(elab.Selection(v.typ, sizes), s)
}

// unknownIndex stands for a selection by data that was not supplied. Of data
// it is unknown data; of variables it is an unknown linear map of all entries.
func (e *elaborator) unknownIndex(x *lang.Index, v value, sels []selector, s *space) value {
	out := remaining(v, sels, s)
	shape := s.shape(out.item())
	at, g := e.at(x), e.b.graph
	name := fmt.Sprintf("(selection at %s, %d)", x.Span(), len(g.Nodes()))
	if v.node.Deps == 0 {
		out.node = g.Opaque(name, shape, at)
		return out
	}
	e.b.fits(at, "the selection", shape.Len(), v.node.Shape.Len())
	flat := e.reshape(v.node, expr.VectorShape(v.node.Shape.Len()), at)
	pick := g.Opaque(name, expr.MatrixShape(shape.Len(), flat.Shape.Len()), at)
	out.node = e.reshape(g.MatVec(pick, false, flat, at), shape, at)
	return out
}
