package elab

import (
	"bilevelc/ir"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// IsMatrix reports a list of lists, which are the rows of a matrix.
func IsMatrix(e *lang.ListLit) bool {
	if len(e.Elems) == 0 || e.Below {
		return false
	}
	first, ok := e.Elems[0].(*lang.ListLit)
	return ok && !first.Below
}

// Concatenation types [u; v], one below the other, and [u, v], side by side: a
// vector is a column, a row vector a row. Vectors below each other make a
// vector, row vectors side by side a row vector, anything else a matrix. one is
// the size 1; of a block that is not known there is no type, and no fault.
func Concatenation(e *lang.ListLit, blocks []ir.Type, one ir.Dim) (ir.Type, *Fault) {
	if at := scalarBesideColumn(blocks); at >= 0 && !e.Below {
		f := fault(diag.RaggedList, e.Elems[at], "the entries of a list are scalars, but `%s` is %s", Quote(e.Elems[at]), KindOf(blocks[at]))
		f.Fix = "`[a; b]` puts numbers and vectors one below the other"
		return Unknown, f
	}
	vectors := true
	var total, side ir.Dim
	for i, t := range blocks {
		if t.Kind == ir.AnyType {
			return Unknown, nil
		}
		along, across, flat := extents(t, e.Below, one)
		if along == nil {
			return Unknown, fault(diag.RaggedList, e.Elems[i], "`%s` is %s and cannot stand in a list of arrays", Quote(e.Elems[i]), KindOf(t))
		}
		vectors = vectors && flat
		if i == 0 {
			total, side = along, across
			continue
		}
		if compare(side, across) == Differ {
			f := fault(diag.ElementwiseShapes, e.Elems[i], "these blocks do not fit %s", map[bool]string{true: "below each other", false: "side by side"}[e.Below])
			f.Detail = SizeOf(e.Elems[0], blocks[0]) + ", " + SizeOf(e.Elems[i], t) + difference(side, across)
			if blocks[0].Kind == ir.VectorType && t.Kind == ir.VectorType && !e.Below {
				f.Fix = "vectors are columns; `[u; v]` puts one behind the other"
			}
			return Unknown, f
		}
		total = total.(Size).Plus(along)
	}
	switch {
	case vectors && e.Below:
		return Vector(total), nil
	case vectors:
		return Row(total), nil
	case e.Below:
		return Matrix(total, side), nil
	}
	return Matrix(side, total), nil
}

// scalarBesideColumn finds an array that is no row in a list that has scalars as
// well, or -1.
func scalarBesideColumn(types []ir.Type) int {
	scalars, at := false, -1
	for i, t := range types {
		scalars = scalars || IsScalar(t)
		if at < 0 && IsArray(t) && t.Kind != ir.RowVectorType {
			at = i
		}
	}
	if !scalars {
		return -1
	}
	return at
}

// extents are the sizes of a block in the direction in which blocks are put
// together, and across it; nil where it has more than two. flat says that it is a
// number or lies along the direction.
func extents(t ir.Type, below bool, one ir.Dim) (along, across ir.Dim, flat bool) {
	rows, cols := one, one
	switch {
	case IsScalar(t):
		return one, one, true
	case t.Kind == ir.VectorType:
		rows, flat = t.Dims[0], below
	case t.Kind == ir.RowVectorType:
		cols, flat = t.Dims[0], !below
	case t.Kind == ir.MatrixType:
		rows, cols = t.Dims[0], t.Dims[1]
	default:
		return nil, nil, false
	}
	if below {
		return rows, cols, flat
	}
	return cols, rows, flat
}
