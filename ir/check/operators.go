package check

import (
	"math"

	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

func (c *checker) unary(s *scope, e *lang.Unary) value {
	if e.Op == lang.Not {
		return c.logical(s, e.X, c.expr(s, e.X), "not")
	}
	v := c.operand(s, e.X)
	if v.size != nil {
		v.size = v.size.scale(minusOne)
	}
	if v.num != nil {
		n := -*v.num
		v.num = &n
	}
	return v
}

// logical checks an operand of and, or, not.
func (c *checker) logical(s *scope, e lang.Expr, v value, op string) value {
	if v.typ.Kind != ir.BoolType && !isUnknown(v.typ) {
		c.errorf(s, diag.Condition, e.Span(), "`%s` joins conditions, but `%s` is %s", op, elab.Quote(e), elab.KindOf(v.typ)).Fix =
			"compare it, as in `" + elab.Quote(e) + " != 0`"
		return unknownValue
	}
	return v
}

// binary checks x op y. A sum of many terms leans to the left as deep as it is
// long, so the left operands are taken in a loop.
func (c *checker) binary(s *scope, e *lang.Binary) value {
	spine := []*lang.Binary{e}
	for {
		left, ok := spine[len(spine)-1].X.(*lang.Binary)
		if !ok {
			break
		}
		spine = append(spine, left)
	}
	v := c.expr(s, spine[len(spine)-1].X)
	for i := len(spine) - 1; i >= 0; i-- {
		v = c.operate(s, spine[i], v)
		c.record(s, spine[i], v.typ)
	}
	return v
}

// operate checks one operator whose left operand is x.
func (c *checker) operate(s *scope, e *lang.Binary, x value) value {
	if e.Op == lang.And || e.Op == lang.Or {
		in := c.child(s)
		in.guarded = true // the left side may decide
		y := c.expr(in, e.Y)
		return join(elab.Bool, c.logical(s, e.X, x, e.Op.String()), c.logical(s, e.Y, y, e.Op.String()))
	}
	y := c.expr(s, e.Y)
	if e.Op.Precedence() == lang.CompareLevel && (x.typ.Kind == ir.LabelType || y.typ.Kind == ir.LabelType) {
		return c.compareLabels(s, e, x, y)
	}
	x, y = c.numeric(s, e.X, x), c.numeric(s, e.Y, y)
	if isUnknown(x.typ) || isUnknown(y.typ) {
		return unknownOf(x, y)
	}
	if e.Op.Precedence() == lang.CompareLevel {
		return c.comparison(s, e, x, y)
	}
	t, fault := elab.Arithmetic(e, x.typ, y.typ, y.num != nil && *y.num >= 0)
	if fault != nil {
		return c.fault(s, fault, x, y)
	}
	v := applied(t, elab.Operations[e.Op].Info(), site{at: e.Span(), what: e.Op.String()}, x, y)
	c.symbolic(s, e, &v, x, y)
	c.fold(s, e, &v, x, y)
	return v
}

// symbolic computes the symbolic value of arithmetic on ints. A quotient is a
// real, but keeps it: a size may be written by means of it.
func (c *checker) symbolic(s *scope, e *lang.Binary, v *value, x, y value) {
	if !elab.IsScalar(v.typ) || x.size == nil || y.size == nil {
		return
	}
	if p := combine(e.Op, x.size, y.size); p != nil {
		v.size = c.bounded(s, p, e.Span())
	} else if v.typ.Kind == ir.IntType {
		v.size = c.opaque(s, e.Span())
	}
}

// side is one of an operator, with its value.
type side struct {
	e lang.Expr
	v value
}

// comparison checks a relation inside a condition.
func (c *checker) comparison(s *scope, e *lang.Binary, x, y value) value {
	for _, o := range []side{{e.X, x}, {e.Y, y}} {
		if !elab.IsScalar(o.v.typ) {
			c.errorf(s, diag.Condition, o.e.Span(), "`%s` compares scalars, but `%s` is %s", e.Op, elab.Quote(o.e), elab.KindOf(o.v.typ))
			return unknownValue
		}
	}
	return join(elab.Bool, x, y)
}

func (c *checker) transpose(s *scope, e *lang.Transpose) value {
	v := c.operand(s, e.X)
	if v.typ.Kind == ir.ArrayType {
		c.errorf(s, diag.NeedsScalar, e.Span(), "`%s` has %d dimensions and no transpose", elab.Quote(e.X), len(v.typ.Dims))
		return unknownOf(v)
	}
	v.typ = elab.Transposed(v.typ)
	return v
}

// fold computes numbers that the text alone fixes, and reports those that do
// not exist.
func (c *checker) fold(s *scope, e *lang.Binary, v *value, x, y value) {
	if (e.Op == lang.Div || e.Op == lang.ElemDiv) && y.num != nil && *y.num == 0 {
		c.errorf(s, diag.NotReal, e.Y.Span(), "division by zero")
		return
	}
	if x.num == nil || y.num == nil {
		return
	}
	n := elab.Operations[e.Op].Info().Eval2(*x.num, *y.num)
	if math.IsNaN(n) || math.IsInf(n, 0) {
		c.errorf(s, diag.NotReal, e.Span(), "`%s` is not a real number", elab.Quote(e))
		return
	}
	v.num = &n
}
