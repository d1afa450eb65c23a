package bind

import (
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// blocks reports whether the entries of a list are arrays that are put together,
// rather than scalars or the rows of a literal matrix.
func blocks(items []value, x *lang.ListLit, rows int) bool {
	if list, ok := x.Elems[0].(*lang.ListLit); ok && rows == len(items) && !x.Below && !list.Below {
		return false
	}
	for _, v := range items {
		if !v.isScalar() {
			return true
		}
	}
	return false
}

// concatenation is [u; v] or [u, v]: every entry of a block goes to its place in
// the whole.
func (e *elab) concatenation(items []value, x *lang.ListLit) value {
	at := e.at(x)
	var s *space
	vectors := true
	total, side := 0, -1
	size := make([][2]int, len(items)) // rows and columns
	for k, v := range items {
		s = join(s, v.space)
		switch {
		case v.isScalar():
			size[k] = [2]int{1, 1}
		case v.item.Rank == 1 && v.row:
			size[k] = [2]int{1, v.item.Rows}
			vectors = vectors && !x.Below
		case v.item.Rank == 1:
			size[k] = [2]int{v.item.Rows, 1}
			vectors = vectors && x.Below
		default:
			size[k] = [2]int{v.item.Rows, v.item.Cols}
			vectors = false
		}
		if !x.Below {
			size[k] = [2]int{size[k][1], size[k][0]} // along, across
		}
		if side >= 0 && size[k][1] != side || len(v.dims()) > 2 {
			e.errorf(diag.BindShapes, e.at(x.Elems[k]), "block %d is %s, the first is %s", k+1, v.describe(), items[0].describe())
			return value{}
		}
		side, total = size[k][1], total+size[k][0]
	}
	out := value{kind: number, space: s, row: vectors && !x.Below}
	cols := side // of the whole, row by row
	switch {
	case vectors:
		out.item, cols = expr.VectorShape(total), 1
	case x.Below:
		out.item = expr.MatrixShape(total, side)
	default:
		out.item, cols = expr.MatrixShape(side, total), total
	}
	n, shape := s.size(), s.shape(out.item)
	if !e.b.fits(at, "the array", n, out.item.Len()) {
		return value{}
	}
	from := 0
	for k, v := range items {
		if v = e.lift(e.num(v), s, at); v.bad() {
			return value{}
		}
		index := make([]int, 0, n*v.item.Len())
		for t := range n {
			base := t * out.item.Len()
			for j := range v.item.Len() {
				switch {
				case vectors || x.Below: // the rows of a block are whole rows
					index = append(index, base+from*cols+j)
				default:
					index = append(index, base+j/size[k][0]*cols+from+j%size[k][0])
				}
			}
		}
		from += size[k][0]
		if len(index) == 0 {
			continue
		}
		out.node = e.plus(out.node, e.must(e.b.graph.ScatterAdd(v.node, index, shape, at)), at)
	}
	if out.node == nil {
		out.node = e.b.graph.Fill(0, shape, at)
	}
	return out
}

// arrayOf is [i in 1..n, j in 1..m: e]: the body at all tuples, as an array over
// the indices.
func (e *elab) arrayOf(x *lang.Comprehension) value {
	at := e.at(x)
	inner, ok := e.iterate(x.Binders, nil)
	if !ok {
		return value{}
	}
	body := inner.numeric(x.Body)
	if body.bad() {
		return value{}
	}
	if !body.isScalar() {
		e.errorf(diag.BindShapes, e.at(x.Body), "the entries of an array are scalars, not %s", body.describe())
		return value{}
	}
	tuples := e.space.size()
	var dims []dim
	total := tuples
	for k := range x.Binders {
		d, ok := e.binderDim(&x.Binders[k], tuples)
		if !ok {
			return value{}
		}
		dims = append(dims, d)
		total *= d.n
	}
	if total != inner.space.n {
		e.errorf(diag.BindVaryingSize, at, "the ranges of these indices move with each other, so that this is no array")
		return value{}
	}
	body = e.lift(body, inner.space, at)
	out := value{kind: number, item: shapeOf(sizesOf(dims)), space: e.space}.over(dims)
	shape := e.space.shape(out.item)
	out.node = body.node
	if out.node.Shape != shape {
		out.node = e.reshape(out.node, shape, at)
	}
	return out
}

// binderDim is the dimension that an index spans: as many entries as it takes
// values at the first tuple of the space around it.
func (e *elab) binderDim(b *lang.Binder, tuples int) (dim, bool) {
	if set := e.setOf(b.Lo); b.Hi == nil && set != nil {
		return dim{set.n, set}, true
	}
	if b.Hi == nil {
		v := e.expr(b.Lo)
		return dim{n: v.item.Len()}, !v.bad()
	}
	lo, ok := e.bound(b.Lo, tuples)
	hi, ok2 := e.bound(b.Hi, tuples)
	if !ok || !ok2 || tuples == 0 {
		return dim{}, ok && ok2
	}
	return dim{n: max(hi[0]-lo[0]+1, 0)}, true
}
