package check

import (
	"bilevelc/ir"
	"bilevelc/ir/elab"
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
			arrays = arrays || elab.IsArray(c.operand(s, x).typ)
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

// concatenation types a list of arrays.
func (c *checker) concatenation(s *scope, e *lang.ListLit, vals []value) value {
	types := make([]ir.Type, len(vals))
	for i, v := range vals {
		types[i] = v.typ
	}
	t, fault := elab.Concatenation(e, types, constPoly(1))
	if fault != nil {
		c.fault(s, fault)
	}
	for i := range t.Dims {
		t.Dims[i] = c.bounded(s, dim(t, i), e.Span())
	}
	return join(t, vals...)
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
	if !elab.IsScalar(body.typ) {
		c.errorf(s, diag.NeedsScalar, e.Body.Span(), "the entries of an array are scalars, but `%s` is %s", elab.Quote(e.Body), elab.KindOf(body.typ))
		return unknownOf(body)
	}
	var dims []ir.Dim
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
	return join(elab.Array(dims...), body)
}
