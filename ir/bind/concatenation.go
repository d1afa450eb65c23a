package bind

import (
	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/lang"
)

// concatenation is [u; v] or [u, v]: every entry of a block goes to its place in
// the whole.
func (e *elaborator) concatenation(items []value, x *lang.ListLit) value {
	var s *space
	types := make([]ir.Type, len(items))
	for k, v := range items {
		s, types[k] = join(s, v.space), v.typ
	}
	t, f := elab.Concatenation(x, types, dim{n: 1})
	if f != nil {
		return e.fault(f)
	}
	out := shaped(t, s)
	cols := 1 // of the whole, row by row
	if t.Kind == ir.MatrixType {
		cols = out.item().Cols
	}
	from, widths := make([]int, len(items)+1), make([]int, len(items)) // where each begins, along the direction; their columns
	for k, v := range items {
		rows, width := extent(v)
		widths[k] = width
		if !x.Below {
			rows = width
		}
		from[k+1] = from[k] + rows
	}
	return e.assembled(items, out, func(k, j int) int {
		if width := widths[k]; t.Kind == ir.MatrixType && !x.Below {
			return j/width*cols + from[k] + j%width
		}
		return from[k]*cols + j // the rows of a block are whole rows
	}, e.at(x))
}

// arrayOf is [i in 1..n, j in 1..m: e]: the body at all tuples, as an array over
// the indices.
func (e *elaborator) arrayOf(x *lang.Comprehension, body value, inner *space) value {
	at := e.at(x)
	var dims []dim
	for _, d := range inner.spans {
		if d.n < 0 { // with an index around the array
			e.vary(at, "the size of this array changes with an index around it")
			return value{}
		}
		dims = append(dims, d.dim)
	}
	out := shaped(arrayOver(dims), e.space)
	out.node = e.reshape(e.lift(body, inner, at).node, e.space.shape(out.item()), at)
	return out
}
