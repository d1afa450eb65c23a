package bind

import (
	"slices"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/expr"
	"bilevelc/lang"
)

// dual elaborates dual(row), the multipliers of a named constraint of the lower
// level in the shape of its family. To the upper objective they are lower
// variables behind those of y (ir.Problem.Duals); those of rows that were left
// out, because no variable takes part in them, are 0.
func (e *elaborator) dual(x *lang.Call) value {
	name := x.Args[0].(*lang.Name)
	b := e.b
	if v, made := b.duals[name.Name]; made {
		return v
	}
	over := b.families[name.Name]
	family := over.family
	if family == nil {
		return e.unchecked(x)
	}
	var rows, places []int
	for i, row := range b.prob.Rows {
		if row.Family == family {
			rows, places = append(rows, i), append(places, row.Index)
		}
	}
	size := family.Shape.Len()
	for _, unbound := range b.prob.Unbound {
		if unbound == family { // abstract binding: the rows are not known, their number is
			rows, places = slices.Repeat([]int{-1}, size), expr.Sequence(0, size)
		}
	}
	b.fits(e.at(x), "the array of multipliers", sizesOf(over.dims)...)
	shape := expr.ShapeOf(sizesOf(over.dims))
	var node *expr.Node
	if len(rows) == 0 {
		node = b.graph.Fill(0, shape, e.at(x))
	} else {
		all := over.places == nil && len(rows) == shape.Len()
		own := shape
		if !all {
			own = expr.VectorShape(len(rows))
		}
		node = b.graph.Var("dual("+name.Name+")", true, b.dy+len(b.prob.Duals), own, e.at(x))
		b.prob.Duals = append(b.prob.Duals, rows...)
		if !all {
			node = b.graph.ScatterAdd(node, each.Of(places, over.place), shape, e.at(x))
		}
	}
	v := array(node, over.dims)
	b.duals[name.Name] = v
	return v
}

// indexed is a family as an array of its rows, which is what dual gives.
type indexed struct {
	family *ir.Family
	dims   []dim
	item   int   // entries at each tuple of the indices
	places []int // of the tuples, where there are not all in order; nil for these
}

// place is that of row k of the family in the array.
func (f indexed) place(k int) int {
	if f.places == nil {
		return k
	}
	return f.places[k/f.item]*f.item + k%f.item
}

// indexedRows are the rows of the family of h, of a condition or none, as an array: over
// what its indices range over, then over the dimensions of h. A label goes with the sets
// alone that it is found in. Where some indices range over sets, the rows that a
// condition leaves out have places too. Where ranges alone have a condition, or one moves
// with another index, the rows are counted as they come.
func indexedRows(f *ir.Family, c *lang.Constraint, h value) indexed {
	out, s := indexed{family: f, dims: h.dims(), item: h.item().Len()}, h.space
	if s == nil {
		return out
	}
	spans := each.Of(s.spans, func(p span) dim { return p.dim })
	moves := slices.ContainsFunc(s.spans, func(p span) bool { return !p.counts || p.n < 0 })
	switch sizes, _ := s.grid(); {
	case !moves && overSets(spans):
		places := make([]int, s.n)
		for _, p := range s.spans {
			for k, v := range p.values {
				places[k] = places[k]*p.n + v - p.first
			}
		}
		if out.dims = append(spans, out.dims...); c.Cond != nil {
			out.places = places
		}
	case !moves && c.Cond == nil:
		out.dims = append(spans, out.dims...)
	case len(sizes) == 2:
		out.dims = append(plain(sizes), out.dims...)
	default:
		out.dims = append(plain([]int{s.n}), out.dims...)
	}
	return out
}
