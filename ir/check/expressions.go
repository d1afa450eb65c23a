package check

import (
	"slices"
	"strconv"

	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// maxDepth bounds the nesting of expressions through lets and calls, and with
// it the stack of this recursive pass (some 20 MB). One expression alone nests
// up to 500 brackets, which the parser sees to; operators in a row do not
// count.
const maxDepth = 4_000

// expr checks one expression and records its type.
func (c *checker) expr(s *scope, e lang.Expr) value {
	c.meter.Step()
	if c.depth >= maxDepth {
		c.errorf(s, diag.NestedTooDeep, e.Span(), "this is nested too deeply").Detail =
			"expressions may be nested " + strconv.Itoa(maxDepth) + " deep, through lets and functions"
		return unknownValue
	}
	c.depth++
	v := c.form(s, e)
	c.depth--
	c.record(s, e, v.typ)
	return v
}

// operand is expr where a number or an array is needed: a condition is an
// error.
func (c *checker) operand(s *scope, e lang.Expr) value {
	return c.numeric(s, e, c.expr(s, e))
}

// numeric reports the value of e where it is a condition.
func (c *checker) numeric(s *scope, e lang.Expr, v value) value {
	if v.typ.Kind == ir.BoolType {
		c.errorf(s, diag.Condition, e.Span(), "`%s` is a condition, not a number", elab.Quote(e)).Detail =
			"comparisons stand in conditions after `if`, and as the relation of a constraint"
		return unknownValue
	}
	if v.typ.Kind == ir.SetType || v.typ.Kind == ir.LabelType || v.typ.Kind == ir.TextType {
		c.notNumber(s, e, v)
		return unknownValue
	}
	return v
}

func (c *checker) form(s *scope, e lang.Expr) value {
	switch e := e.(type) {
	case *lang.Number:
		return c.number(e)
	case *lang.Text:
		return value{typ: labelType}
	case *lang.Name:
		return c.name(s, e)
	case *lang.Paren:
		return c.expr(s, e.X)
	case *lang.ListLit:
		return c.list(s, e)
	case *lang.Unary:
		return c.unary(s, e)
	case *lang.Binary:
		return c.binary(s, e)
	case *lang.Transpose:
		return c.transpose(s, e)
	case *lang.Index:
		return c.index(s, e)
	case *lang.Call:
		return c.call(s, e)
	case *lang.Comprehension:
		return c.comprehension(s, e)
	case *lang.IfExpr:
		return c.branch(s, e)
	}
	return unknownValue // *lang.Bad: the parser reported it
}

func (c *checker) number(e *lang.Number) value {
	v := value{typ: elab.Real, num: &e.Value}
	if e.Int {
		if n, err := strconv.ParseInt(e.Text, 10, 64); err == nil {
			v.typ, v.size = elab.Int, constPoly(n)
		}
	}
	return v
}

// list checks [a, b, c]: scalars make a vector, lists a matrix, and arrays are put
// together.
func (c *checker) list(s *scope, e *lang.ListLit) value {
	if len(e.Elems) == 0 {
		c.errorf(s, diag.RaggedList, e.Span(), "an empty list has no shape").Fix = "write `zeros(0)` for a vector without entries, `zeros(0, n)` for a matrix without rows"
		return unknownValue
	}
	if elab.IsMatrix(e) {
		return c.rows(s, e)
	}
	v, types := c.entries(s, e)
	if slices.ContainsFunc(types, elab.IsArray) {
		t, fault := elab.Concatenation(e, types, constPoly(1))
		if fault != nil {
			c.fault(s, fault)
		}
		for i := range t.Dims {
			t.Dims[i] = c.bounded(s, dim(t, i), e.Span())
		}
		return join(t, v)
	}
	if slices.ContainsFunc(types, isUnknown) {
		return unknownOf(v)
	}
	return join(elab.Vector(constPoly(int64(len(e.Elems)))), v)
}

// entries checks the entries of one list: what they contribute to it, and their types, nil
// where all are numbers. Those are not looked at one by one: a literal may hold very many.
func (c *checker) entries(s *scope, e *lang.ListLit) (out value, types []ir.Type) {
	for i, x := range e.Elems {
		if _, plain := x.(*lang.Number); plain {
			continue
		}
		v := c.operand(s, x)
		if types == nil {
			types = slices.Repeat([]ir.Type{elab.Real}, len(e.Elems))
		}
		types[i], out = v.typ, join(out.typ, out, v)
	}
	return out, types
}

// rows checks a list of lists.
func (c *checker) rows(s *scope, e *lang.ListLit) value {
	out, ok := value{}, true
	width := -1
	for i, x := range e.Elems {
		row, isList := x.(*lang.ListLit)
		if !isList {
			c.errorf(s, diag.RaggedList, x.Span(), "row %d of this matrix is not a list", i+1).Detail =
				"a list of lists is a matrix, row by row"
			return unknownValue
		}
		v, types := c.entries(s, row)
		out = join(out.typ, out, v)
		for k, t := range types {
			if ok = ok && elab.IsScalar(t); elab.IsArray(t) {
				c.errorf(s, diag.RaggedList, row.Elems[k].Span(), "the entries of a list are scalars, but `%s` is %s", elab.Quote(row.Elems[k]), elab.KindOf(t))
			}
		}
		if width < 0 {
			width = len(row.Elems)
		}
		if len(row.Elems) != width {
			c.errorf(s, diag.RaggedList, row.Span(), "row %d has %s, row 1 has %d", i+1, diag.Count(len(row.Elems), "entry", "entries"), width).Detail =
				"the rows of a matrix have the same length"
			ok = false
		}
	}
	if !ok {
		return unknownOf(out)
	}
	return join(elab.Matrix(constPoly(int64(len(e.Elems))), constPoly(int64(width))), out)
}

// branch checks `if c then a else b`.
func (c *checker) branch(s *scope, e *lang.IfExpr) value {
	c.condition(s, e.Cond)
	in := c.child(s)
	in.guarded = true
	a, b := c.operand(in, e.Then), c.operand(in, e.Else)
	if isUnknown(a.typ) || isUnknown(b.typ) {
		return unknownOf(a, b)
	}
	t, fault := elab.Branches(e, a.typ, b.typ)
	if fault != nil {
		return c.fault(s, fault, a, b)
	}
	return c.sized(s, e, join(t, a, b))
}

// condition checks what stands after `if`: comparisons of scalars and their
// combinations, over indices and data only.
func (c *checker) condition(s *scope, e lang.Expr) {
	v := c.expr(s, e)
	switch {
	case isUnknown(v.typ):
	case v.typ.Kind != ir.BoolType:
		c.errorf(s, diag.Condition, e.Span(), "`%s` is %s, not a condition", elab.Quote(e), elab.KindOf(v.typ)).Fix =
			"compare it, as in `" + elab.Quote(e) + " != 0`"
	case v.deps != 0 && !c.reporting:
		d := c.errorf(s, diag.ConditionOnVariables, e.Span(), "the condition `%s` depends on %s", elab.Quote(e), c.readText(s, e, v.deps))
		d.Detail = "what jumps with a variable is not differentiable; conditions may use indices, params and data"
		d.Fix = "blend the cases smoothly, as in `sigmoid(u / eps) * a + sigmoid(-u / eps) * b`"
	}
}
