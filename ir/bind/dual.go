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
func (e *elab) dual(x *lang.Call) value {
	name, ok := x.Args[0].(*lang.Name)
	if !ok {
		return value{} // the checker has reported it
	}
	b := e.b
	if v, made := b.duals[name.Name]; made {
		return v
	}
	family := b.families[name.Name]
	if family == nil {
		e.errorf(codeUnknownName, e.at(x), "the lower level has no constraint `%s`", name.Name)
		return value{}
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
			rows, places = slices.Repeat([]int{-1}, size), count(0, size)
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
			node = e.must(b.graph.ScatterAdd(node, places, family.Shape, e.at(x)))
		}
	}
	v := unbatched(node)
	b.duals[name.Name] = v
	return v
}

// remember keeps a named family of the lower level for dual.
func (b *binder) remember(f *ir.Family) {
	if f.Named {
		b.families[f.Name] = f
	}
}
