package check

import (
	"bilevelc/ir"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// blocks are the values of the entries of a list where one of them is an array,
// so that they are put together; nil for a list of scalars. Numbers are not
// looked at one by one: a literal may hold very many.
func (c *checker) blocks(s *scope, e *lang.ListLit) []value {
	arrays := false
	for _, x := range e.Elems {
		switch x.(type) {
		case *lang.Number:
		default:
			arrays = arrays || isArray(c.operand(s, x).typ)
		}
	}
	if !arrays {
		return nil
	}
	vals := make([]value, len(e.Elems))
	for i, x := range e.Elems {
		vals[i] = c.operand(s, x)
	}
	return vals
}

// concatenation types [u; v], one below the other, and [u, v], side by side: a
// vector is a column, a row vector a row. Vectors below each other make a
// vector, row vectors side by side a row vector, anything else a matrix.
func (c *checker) concatenation(s *scope, e *lang.ListLit, vals []value) value {
	out := join(realType, vals...)
	along, across := 0, 1 // of the extents below: which adds up, which agrees
	if !e.Below {
		along, across = 1, 0
	}
	if !e.Below {
		if at, mixed := scalarBesideColumn(vals); mixed {
			d := c.errorf(s, diag.RaggedList, e.Elems[at].Span(), "the entries of a list are scalars, but `%s` is %s", quote(e.Elems[at]), kindOf(vals[at].typ))
			d.Fix = "`[a; b]` puts numbers and vectors one below the other"
			return unknownOf(vals...)
		}
	}
	vectors, total := true, constPoly(0)
	var side *poly
	for i, v := range vals {
		if isUnknown(v.typ) {
			return unknownOf(vals...)
		}
		n, flat, ok := extents(v.typ, e.Below)
		if !ok {
			c.errorf(s, diag.RaggedList, e.Elems[i].Span(), "`%s` is %s and cannot stand in a list of arrays", quote(e.Elems[i]), kindOf(v.typ))
			return unknownOf(vals...)
		}
		vectors = vectors && flat
		total = total.add(n[along])
		if side != nil && compare(side, n[across]) == differ {
			d := c.errorf(s, diag.ElementwiseShapes, e.Elems[i].Span(), "these blocks do not fit %s", map[bool]string{true: "below each other", false: "side by side"}[e.Below])
			d.Detail = sizeOf(e.Elems[0], vals[0].typ) + ", " + sizeOf(e.Elems[i], v.typ) + differNote(side, n[across])
			if vals[0].typ.Kind == ir.VectorType && v.typ.Kind == ir.VectorType && !e.Below {
				d.Fix = "vectors are columns; `[u; v]` puts one behind the other"
			}
			return unknownOf(vals...)
		}
		if side == nil {
			side = n[across]
		}
	}
	total = c.bounded(s, total, e.Span())
	switch {
	case vectors && e.Below:
		out.typ = vectorType(total)
	case vectors:
		out.typ = rowType(total)
	case e.Below:
		out.typ = matrixType(total, side)
	default:
		out.typ = matrixType(side, total)
	}
	return out
}

// scalarBesideColumn finds an array that is no row in a list that has scalars as
// well.
func scalarBesideColumn(vals []value) (at int, mixed bool) {
	scalars := false
	at = -1
	for i, v := range vals {
		scalars = scalars || isScalar(v.typ)
		if isArray(v.typ) && v.typ.Kind != ir.RowVectorType && at < 0 {
			at = i
		}
	}
	return at, scalars && at >= 0
}

// extents are the rows and columns of a block. flat says that it is a number or
// lies along the direction in which blocks are put together.
func extents(t ir.Type, below bool) (n [2]*poly, flat, ok bool) {
	one := constPoly(1)
	switch {
	case isScalar(t):
		return [2]*poly{one, one}, true, true
	case t.Kind == ir.VectorType:
		return [2]*poly{dim(t, 0), one}, below, true
	case t.Kind == ir.RowVectorType:
		return [2]*poly{one, dim(t, 0)}, !below, true
	case t.Kind == ir.MatrixType:
		return [2]*poly{dim(t, 0), dim(t, 1)}, false, true
	}
	return n, false, false
}

// arrayOf types [i in 1..n, j in 1..m: e]: one entry for each combination of
// the indices, whose ranges do not depend on each other.
func (c *checker) arrayOf(s *scope, e *lang.Comprehension) value {
	in := c.binders(s, e.Binders, e.Cond != nil)
	if e.Cond != nil {
		c.errorf(s, diag.VaryingSize, e.Cond.Span(), "an array has an entry for each combination of its indices, without a condition").Fix =
			"write the cases with `if c then a else b`"
	}
	body := c.operand(in, e.Body)
	if isUnknown(body.typ) {
		return unknownOf(body)
	}
	if !isScalar(body.typ) {
		c.errorf(s, diag.NeedsScalar, e.Body.Span(), "the entries of an array are scalars, but `%s` is %s", quote(e.Body), kindOf(body.typ))
		return unknownOf(body)
	}
	var dims []*poly
	for i := range e.Binders {
		b := &e.Binders[i]
		if set := c.namedSet(s, b.Lo); b.Hi == nil && set != nil {
			dims = append(dims, set.size)
			continue
		}
		v := in.names[b.Name.Name]
		if b.Hi == nil {
			if set := c.expr(in, b.Lo); set.typ.Kind == ir.VectorType {
				dims = append(dims, dim(set.typ, 0))
				continue
			}
		}
		if v.size == nil || !v.size.bare() {
			return unknownOf(body)
		}
		a := v.size.terms[0].powers[0].atom
		if a.lo == nil || a.hi == nil {
			return unknownOf(body)
		}
		n := a.hi.sub(a.lo).plus(1)
		if mentions(n, in) {
			c.errorf(s, diag.VaryingSize, b.Span(), "the range of `%s` moves with another index, so that this is no array", b.Name.Name)
			return unknownOf(body)
		}
		dims = append(dims, c.bounded(s, n, b.Span()))
	}
	return join(arrayType(dims...), body)
}
