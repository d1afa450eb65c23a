package check

import (
	"fmt"
	"math"
	"math/big"

	"bilevelc/ir"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

func (c *checker) unary(s *scope, e *lang.Unary) value {
	if e.Op == lang.Not {
		return c.logical(s, e.X, c.expr(s, e.X), "not")
	}
	v := c.operand(s, e.X)
	if v.size != nil {
		v.size = v.size.scale(big.NewRat(-1, 1))
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
		c.errorf(s, diag.Condition, e.Span(), "`%s` joins conditions, but `%s` is %s", op, quote(e), kindOf(v.typ)).Fix =
			"compare it, as in `" + quote(e) + " != 0`"
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
		return join(boolType, c.logical(s, e.X, x, e.Op.String()), c.logical(s, e.Y, y, e.Op.String()))
	}
	y := c.expr(s, e.Y)
	if e.Op.Precedence() == lang.CompareLevel && (x.typ.Kind == ir.LabelType || y.typ.Kind == ir.LabelType) {
		return c.compareLabels(s, e, x, y)
	}
	x, y = c.numeric(s, e.X, x), c.numeric(s, e.Y, y)
	if isUnknown(x.typ) || isUnknown(y.typ) {
		return unknownOf(x, y)
	}
	var t ir.Type
	switch e.Op {
	case lang.Lt, lang.Le, lang.Gt, lang.Ge, lang.Eq, lang.Ne:
		return c.comparison(s, e, x, y)
	case lang.Mul:
		t = c.product(s, e, x, y)
	case lang.Div:
		t = c.quotient(s, e, x, y)
	case lang.Pow:
		t = c.power(s, e, x, y)
	default:
		t = c.elementwise(s, e, x, y)
	}
	if isUnknown(t) {
		return unknownOf(x, y)
	}
	v := join(t, x, y)
	c.symbolic(s, e, &v, x, y)
	c.fold(s, e, &v, x, y)
	return c.degreeOf(e, v, x, y)
}

// symbolic computes the symbolic value of arithmetic on ints. A quotient is a
// real, but keeps it: a size may be written by means of it.
func (c *checker) symbolic(s *scope, e *lang.Binary, v *value, x, y value) {
	if !isScalar(v.typ) || x.size == nil || y.size == nil {
		return
	}
	if p := combine(e.Op, x.size, y.size); p != nil {
		v.size = c.bounded(s, p, e.Span())
	} else if v.typ.Kind == ir.IntType {
		v.size = c.opaque(s, e.Span())
	}
}

// comparison checks a relation inside a condition.
func (c *checker) comparison(s *scope, e *lang.Binary, x, y value) value {
	for _, o := range []struct {
		e lang.Expr
		v value
	}{{e.X, x}, {e.Y, y}} {
		if !isScalar(o.v.typ) {
			c.errorf(s, diag.Condition, o.e.Span(), "`%s` compares scalars, but `%s` is %s", e.Op, quote(o.e), kindOf(o.v.typ))
			return unknownValue
		}
	}
	return join(boolType, x, y)
}

// elementwise types + - .* ./ .^: equal shapes, or a scalar with anything.
func (c *checker) elementwise(s *scope, e *lang.Binary, x, y value) ir.Type {
	t, problem := broadcast(x.typ, y.typ)
	if problem == "" {
		if e.Op == lang.ElemDiv || e.Op == lang.ElemPow {
			return real2(t)
		}
		return t
	}
	d := c.errorf(s, diag.ElementwiseShapes, e.Span(), "the sides of `%s` have different shapes", e.Op)
	d.Detail = sizeOf(e.X, x.typ) + ", " + sizeOf(e.Y, y.typ) + problem
	d.Fix = c.transposeFix(e, x.typ, y.typ, func(a, b ir.Type) bool { _, p := broadcast(a, b); return p == "" })
	if d.Fix == "" && e.Op == lang.Add && x.typ.Kind == ir.MatrixType && y.typ.Kind == ir.VectorType {
		d.Fix = fmt.Sprintf("write `addtorows(%[1]s, %[2]s)` to add it to each row, `addtocols(%[1]s, %[2]s)` to each column", quote(e.X), quote(e.Y))
	}
	return unknownValue.typ
}

// real2 turns int into real and leaves the rest.
func real2(t ir.Type) ir.Type {
	if t.Kind == ir.IntType {
		return realType
	}
	return t
}

// broadcast is the type of an elementwise operation, or why there is none: a
// text that follows the two shapes in a message.
func broadcast(a, b ir.Type) (t ir.Type, problem string) {
	switch {
	case a.Kind == ir.IntType && b.Kind == ir.IntType:
		return intType, ""
	case isScalar(a) && isScalar(b):
		return realType, ""
	case isScalar(a):
		return b, ""
	case isScalar(b):
		return a, ""
	case a.Kind != b.Kind:
		return a, fmt.Sprintf("; a %s and a %s do not combine", a.Kind, b.Kind)
	}
	for i := range a.Dims {
		if compare(dim(a, i), dim(b, i)) == differ {
			return a, differNote(dim(a, i), dim(b, i))
		}
	}
	return a, ""
}

// differNote says why two sizes differ, to follow "A is n, B is m".
func differNote(a, b *poly) string {
	if note := defaultsNote(a, b); note != "" {
		return " (" + note + ")"
	}
	return fmt.Sprintf("; %s and %s are different sizes", a, b)
}

// product types `*`, the product of linear algebra.
func (c *checker) product(s *scope, e *lang.Binary, x, y value) ir.Type {
	t, inner, problem := multiply(x.typ, y.typ)
	if problem == "" {
		return t
	}
	d := c.errorf(s, diag.ProductShapes, e.Span(), "`%s` cannot be multiplied by `%s`", quote(e.X), quote(e.Y))
	d.Detail = sizeOf(e.X, x.typ) + ", " + sizeOf(e.Y, y.typ)
	if inner {
		d.Detail += problem
	} else {
		d.Detail += "; " + problem
	}
	d.Fix = c.productFix(e, x.typ, y.typ)
	return unknownValue.typ
}

// multiply is the type of x * y, or the problem; inner says that it is the
// inner sizes that differ.
func multiply(x, y ir.Type) (t ir.Type, inner bool, problem string) {
	if isScalar(x) || isScalar(y) {
		t, problem = broadcast(x, y)
		return t, false, problem
	}
	match := func(a, b *poly, t ir.Type) (ir.Type, bool, string) {
		if compare(a, b) == differ {
			return t, true, differNote(a, b)
		}
		return t, true, ""
	}
	switch {
	case x.Kind == ir.RowVectorType && y.Kind == ir.VectorType:
		return match(dim(x, 0), dim(y, 0), realType)
	case x.Kind == ir.VectorType && y.Kind == ir.RowVectorType:
		return matrixType(dim(x, 0), dim(y, 0)), false, ""
	case x.Kind == ir.RowVectorType && y.Kind == ir.MatrixType:
		return match(dim(x, 0), dim(y, 0), rowType(dim(y, 1)))
	case x.Kind == ir.MatrixType && y.Kind == ir.VectorType:
		return match(dim(x, 1), dim(y, 0), vectorType(dim(x, 0)))
	case x.Kind == ir.MatrixType && y.Kind == ir.MatrixType:
		return match(dim(x, 1), dim(y, 0), matrixType(dim(x, 0), dim(y, 1)))
	case x.Kind == ir.VectorType && y.Kind == ir.VectorType:
		return x, false, "`*` is the product of linear algebra, and two column vectors have none"
	case x.Kind == ir.RowVectorType && y.Kind == ir.RowVectorType:
		return x, false, "`*` is the product of linear algebra, and two row vectors have none"
	}
	return x, false, "`*` is the product of linear algebra: columns on the left, as many rows on the right"
}

// productFix looks for what was meant: a transpose on either side, or an
// elementwise product.
func (c *checker) productFix(e *lang.Binary, x, y ir.Type) string {
	if x.Kind == ir.VectorType && y.Kind == ir.VectorType && !disagree(x, y) {
		return fmt.Sprintf("write `%s' * %s` for the inner product, or `%s .* %s` entry by entry",
			operandText(e.X), operandText(e.Y), operandText(e.X), operandText(e.Y))
	}
	fix := c.transposeFix(e, x, y, func(a, b ir.Type) bool { _, _, p := multiply(a, b); return p == "" })
	if fix == "" {
		if _, p := broadcast(x, y); p == "" {
			fix = fmt.Sprintf("write `%s .* %s` to multiply entry by entry", operandText(e.X), operandText(e.Y))
		}
	}
	return fix
}

// transposeFix proposes to transpose one side where that makes the operation
// legal.
func (c *checker) transposeFix(e *lang.Binary, x, y ir.Type, legal func(a, b ir.Type) bool) string {
	left := isArray(x) && legal(transposed(x), y)
	right := isArray(y) && legal(x, transposed(y))
	if left && right && y.Kind == ir.RowVectorType {
		left = false // a column vector is what both should rather be
	}
	switch {
	case left:
		return fmt.Sprintf("did you mean `%s %s %s`?", transposedText(e.X), e.Op, operandText(e.Y))
	case right:
		return fmt.Sprintf("did you mean `%s %s %s`?", operandText(e.X), e.Op, transposedText(e.Y))
	}
	return ""
}

// transposedText spells the transpose of an operand.
func transposedText(e lang.Expr) string {
	if t, ok := e.(*lang.Transpose); ok {
		return operandText(t.X)
	}
	return operandText(e) + "'"
}

// operandText quotes an operand so that a postfix or an operator may follow.
func operandText(e lang.Expr) string {
	switch e.(type) {
	case *lang.Binary, *lang.Unary, *lang.IfExpr:
		return "(" + quote(e) + ")"
	}
	return quote(e)
}

// quotient types `/`, whose right side is a scalar.
func (c *checker) quotient(s *scope, e *lang.Binary, x, y value) ir.Type {
	if isScalar(y.typ) {
		return real2(x.typ)
	}
	d := c.errorf(s, diag.NeedsScalar, e.Y.Span(), "`/` divides by a scalar, but `%s` is %s", quote(e.Y), kindOf(y.typ))
	d.Detail = sizeOf(e.X, x.typ) + ", " + sizeOf(e.Y, y.typ)
	if _, p := broadcast(x.typ, y.typ); p == "" {
		d.Fix = fmt.Sprintf("write `%s ./ %s` to divide entry by entry", operandText(e.X), operandText(e.Y))
	}
	return unknownValue.typ
}

// power types `^`, whose sides are scalars. An int to a number in the text is
// an int.
func (c *checker) power(s *scope, e *lang.Binary, x, y value) ir.Type {
	for _, o := range []struct {
		e lang.Expr
		t ir.Type
	}{{e.X, x.typ}, {e.Y, y.typ}} {
		if isScalar(o.t) {
			continue
		}
		d := c.errorf(s, diag.NeedsScalar, o.e.Span(), "`^` is the power of a scalar, but `%s` is %s", quote(o.e), kindOf(o.t))
		if _, p := broadcast(x.typ, y.typ); p == "" {
			d.Fix = fmt.Sprintf("write `%s .^ %s` to take powers entry by entry", operandText(e.X), operandText(e.Y))
		}
		return unknownValue.typ
	}
	if x.typ.Kind == ir.IntType && y.typ.Kind == ir.IntType && y.num != nil && *y.num >= 0 {
		return intType
	}
	return realType
}

// transposed is the type of x'.
func transposed(t ir.Type) ir.Type {
	switch t.Kind {
	case ir.VectorType:
		return rowType(dim(t, 0))
	case ir.RowVectorType:
		return vectorType(dim(t, 0))
	case ir.MatrixType:
		return matrixType(dim(t, 1), dim(t, 0))
	}
	return t
}

func (c *checker) transpose(s *scope, e *lang.Transpose) value {
	v := c.operand(s, e.X)
	if v.typ.Kind == ir.ArrayType {
		c.errorf(s, diag.NeedsScalar, e.Span(), "`%s` has %d dimensions and no transpose", quote(e.X), len(v.typ.Dims))
		return unknownOf(v)
	}
	v.typ = transposed(v.typ)
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
	var n float64
	switch e.Op {
	case lang.Add:
		n = *x.num + *y.num
	case lang.Sub:
		n = *x.num - *y.num
	case lang.Mul, lang.ElemMul:
		n = *x.num * *y.num
	case lang.Div, lang.ElemDiv:
		n = *x.num / *y.num
	case lang.Pow, lang.ElemPow:
		n = math.Pow(*x.num, *y.num)
	}
	if math.IsNaN(n) || math.IsInf(n, 0) {
		c.errorf(s, diag.NotReal, e.Span(), "`%s` is not a real number", quote(e))
		return
	}
	v.num = &n
}
