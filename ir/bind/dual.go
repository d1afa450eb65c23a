package bind

import (
	"slices"

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
	shape := family.Shape
	if len(rows) < size {
		shape = expr.VectorShape(len(rows))
	}
	var node *expr.Node
	if len(rows) == 0 {
		node = b.graph.Fill(0, family.Shape, e.at(x))
	} else {
		node = b.graph.Var("dual("+name.Name+")", true, b.dy+len(b.prob.Duals), shape, e.at(x))
		b.prob.Duals = append(b.prob.Duals, rows...)
		if len(rows) < size {
			node = b.graph.ScatterAdd(node, places, family.Shape, e.at(x))
		}
	}
	v := unbatched(node)
	if over.dims != nil {
		want := shapeOf(sizesOf(over.dims))
		if over.places != nil {
			node = b.graph.ScatterAdd(node, over.places, expr.VectorShape(want.Len()), e.at(x))
		}
		v = array(e.reshape(node, want, e.at(x)), over.dims)
	}
	b.duals[name.Name] = v
	return v
}

// indexed is a family of scalar rows as an array over index sets.
type indexed struct {
	family *ir.Family
	dims   []dim
	places []int // of the rows in it, where the condition of the family leaves out some; nil for all in order
}

// indexedRows are the dimensions that the indices of the family of h span: sets, and, where it has
// all of their combinations, ranges from 1 beside them. Of a family with a condition all
// are sets. No dims for others, and where no set is among one or two, whose shape says
// it all.
func indexedRows(f *ir.Family, c *lang.Constraint, h value) indexed {
	out, none, s := indexed{family: f}, indexed{family: f}, h.space
	switch {
	case s == nil:
		out.dims = h.dims()
		return out
	case !h.isScalar():
		return none
	}
	places := make([]int, s.n)
	total := 1
	for _, d := range s.spans {
		if d.set == nil && (c.Cond != nil || d.first != 1 || d.n < 0) {
			return none
		}
		for k, v := range d.values {
			places[k] = places[k]*d.n + v - d.first
		}
		out.dims, total = append(out.dims, d.dim), total*d.n
	}
	if c.Cond == nil && total != s.n || len(out.dims) < 3 && !overSets(out.dims) {
		return none
	}
	if c.Cond != nil {
		out.places = places
	}
	return out
}
