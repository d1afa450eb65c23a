package elab

import (
	"fmt"

	"bilevelc/ir"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// Operations are the operations of arithmetic on numbers.
var Operations = map[lang.BinaryOp]expr.Op{
	lang.Add: expr.Add, lang.Sub: expr.Sub, lang.Mul: expr.Mul, lang.Div: expr.Div, lang.Pow: expr.Pow,
	lang.ElemMul: expr.Mul, lang.ElemDiv: expr.Div, lang.ElemPow: expr.Pow,
}

// Arithmetic types x op y of numbers, without the relations. whole says of `^` that
// the exponent is a natural number that the text fixes, to which an int is an int.
func Arithmetic(e *lang.Binary, x, y ir.Type, whole bool) (ir.Type, *Fault) {
	switch e.Op {
	case lang.Mul:
		return product(e, x, y)
	case lang.Div:
		return quotient(e, x, y)
	case lang.Pow:
		return power(e, x, y, whole)
	}
	return elementwise(e, x, y)
}

// elementwise types + - .* ./ .^: equal shapes, or a scalar with anything.
func elementwise(e *lang.Binary, x, y ir.Type) (ir.Type, *Fault) {
	t, problem := Broadcast(x, y)
	if problem == "" {
		if e.Op == lang.ElemDiv || e.Op == lang.ElemPow {
			return AsReal(t), nil
		}
		return t, nil
	}
	f := fault(diag.ElementwiseShapes, e, "the sides of `%s` have different shapes", e.Op)
	f.Detail = SizeOf(e.X, x) + ", " + SizeOf(e.Y, y) + problem
	f.Fix = transposeFix(e, x, y, func(a, b ir.Type) bool { _, p := Broadcast(a, b); return p == "" })
	if f.Fix == "" && e.Op == lang.Add && x.Kind == ir.MatrixType && y.Kind == ir.VectorType {
		f.Fix = fmt.Sprintf("write `addtorows(%[1]s, %[2]s)` to add it to each row, `addtocols(%[1]s, %[2]s)` to each column", Quote(e.X), Quote(e.Y))
	}
	return Unknown, f
}

// Broadcast is the type of an elementwise operation, or why there is none: a
// text that follows the two shapes in a message.
func Broadcast(a, b ir.Type) (t ir.Type, problem string) {
	switch {
	case a.Kind == ir.IntType && b.Kind == ir.IntType:
		return Int, ""
	case IsScalar(a) && IsScalar(b):
		return Real, ""
	case IsScalar(a):
		return b, ""
	case IsScalar(b):
		return a, ""
	case a.Kind != b.Kind:
		return a, fmt.Sprintf("; a %s and a %s do not combine", a.Kind, b.Kind)
	case len(a.Dims) != len(b.Dims):
		return a, fmt.Sprintf("; arrays of %d and of %d dimensions do not combine", len(a.Dims), len(b.Dims))
	}
	for i := range a.Dims {
		if compare(a.Dims[i], b.Dims[i]) == Differ {
			return a, difference(a.Dims[i], b.Dims[i])
		}
	}
	return a, ""
}

func difference(a, b ir.Dim) string { return a.(Size).Difference(b) }

// product types `*`, the product of linear algebra.
func product(e *lang.Binary, x, y ir.Type) (ir.Type, *Fault) {
	t, problem := Multiply(x, y)
	if problem == "" {
		return t, nil
	}
	f := fault(diag.ProductShapes, e, "`%s` cannot be multiplied by `%s`", Quote(e.X), Quote(e.Y))
	f.Detail = SizeOf(e.X, x) + ", " + SizeOf(e.Y, y) + problem
	f.Fix = productFix(e, x, y)
	return Unknown, f
}

// Multiply is the type of x * y, or why there is none, as Broadcast says it.
func Multiply(x, y ir.Type) (t ir.Type, problem string) {
	if IsScalar(x) || IsScalar(y) {
		return Broadcast(x, y)
	}
	match := func(a, b ir.Dim, t ir.Type) (ir.Type, string) {
		if compare(a, b) == Differ {
			return t, difference(a, b)
		}
		return t, ""
	}
	switch {
	case x.Kind == ir.RowVectorType && y.Kind == ir.VectorType:
		return match(x.Dims[0], y.Dims[0], Real)
	case x.Kind == ir.VectorType && y.Kind == ir.RowVectorType:
		return Matrix(x.Dims[0], y.Dims[0]), ""
	case x.Kind == ir.RowVectorType && y.Kind == ir.MatrixType:
		return match(x.Dims[0], y.Dims[0], Row(y.Dims[1]))
	case x.Kind == ir.MatrixType && y.Kind == ir.VectorType:
		return match(x.Dims[1], y.Dims[0], Vector(x.Dims[0]))
	case x.Kind == ir.MatrixType && y.Kind == ir.MatrixType:
		return match(x.Dims[1], y.Dims[0], Matrix(x.Dims[0], y.Dims[1]))
	case x.Kind == ir.VectorType && y.Kind == ir.VectorType:
		return x, "; `*` is the product of linear algebra, and two column vectors have none"
	case x.Kind == ir.RowVectorType && y.Kind == ir.RowVectorType:
		return x, "; `*` is the product of linear algebra, and two row vectors have none"
	}
	return x, "; `*` is the product of linear algebra: columns on the left, as many rows on the right"
}

// productFix looks for what was meant: a transpose on either side, or an
// elementwise product.
func productFix(e *lang.Binary, x, y ir.Type) string {
	if x.Kind == ir.VectorType && y.Kind == ir.VectorType && !Disagree(x, y) {
		return fmt.Sprintf("write `%s' * %s` for the inner product, or `%s .* %s` entry by entry",
			OperandText(e.X), OperandText(e.Y), OperandText(e.X), OperandText(e.Y))
	}
	fix := transposeFix(e, x, y, func(a, b ir.Type) bool { _, p := Multiply(a, b); return p == "" })
	if fix == "" {
		if _, p := Broadcast(x, y); p == "" {
			fix = fmt.Sprintf("write `%s .* %s` to multiply entry by entry", OperandText(e.X), OperandText(e.Y))
		}
	}
	return fix
}

// transposeFix proposes to transpose one side where that makes the operation
// legal.
func transposeFix(e *lang.Binary, x, y ir.Type, legal func(a, b ir.Type) bool) string {
	left := IsArray(x) && legal(Transposed(x), y)
	right := IsArray(y) && legal(x, Transposed(y))
	if left && right && y.Kind == ir.RowVectorType {
		left = false // a column vector is what both should rather be
	}
	switch {
	case left:
		return fmt.Sprintf("did you mean `%s %s %s`?", TransposedText(e.X), e.Op, OperandText(e.Y))
	case right:
		return fmt.Sprintf("did you mean `%s %s %s`?", OperandText(e.X), e.Op, TransposedText(e.Y))
	}
	return ""
}

// quotient types `/`, whose right side is a scalar.
func quotient(e *lang.Binary, x, y ir.Type) (ir.Type, *Fault) {
	if IsScalar(y) {
		return AsReal(x), nil
	}
	f := fault(diag.NeedsScalar, e.Y, "`/` divides by a scalar, but `%s` is %s", Quote(e.Y), KindOf(y))
	f.Detail = SizeOf(e.X, x) + ", " + SizeOf(e.Y, y)
	if _, p := Broadcast(x, y); p == "" {
		f.Fix = fmt.Sprintf("write `%s ./ %s` to divide entry by entry", OperandText(e.X), OperandText(e.Y))
	}
	return Unknown, f
}

// power types `^`, whose sides are scalars.
func power(e *lang.Binary, x, y ir.Type, whole bool) (ir.Type, *Fault) {
	if !IsScalar(x) || !IsScalar(y) {
		at, t := e.X, x
		if IsScalar(x) {
			at, t = e.Y, y
		}
		f := fault(diag.NeedsScalar, at, "`^` is the power of a scalar, but `%s` is %s", Quote(at), KindOf(t))
		if _, p := Broadcast(x, y); p == "" {
			f.Fix = fmt.Sprintf("write `%s .^ %s` to take powers entry by entry", OperandText(e.X), OperandText(e.Y))
		}
		return Unknown, f
	}
	if x.Kind == ir.IntType && y.Kind == ir.IntType && whole {
		return Int, nil
	}
	return Real, nil
}

// Relation types the i-th relation of a constraint, lhs - rhs.
func Relation(c *lang.Constraint, i int, x, y ir.Type) (ir.Type, *Fault) {
	t, problem := Broadcast(x, y)
	if problem == "" {
		return t, nil
	}
	at := lang.At{Place: c.Terms[i].Span().To(c.Terms[i+1].Span())}
	f := fault(diag.RelationShapes, at, "the sides of `%s` have different shapes", c.Ops[i])
	f.Detail = SizeOf(c.Terms[i], x) + ", " + SizeOf(c.Terms[i+1], y) + problem
	return Unknown, f
}

// Branches types `if c then x else y`.
func Branches(e *lang.IfExpr, x, y ir.Type) (ir.Type, *Fault) {
	switch {
	case x.Kind == y.Kind && !Disagree(x, y):
		return x, nil
	case IsScalar(x) && IsScalar(y):
		return Real, nil
	}
	f := fault(diag.BranchShapes, e, "the branches of `if` have different shapes")
	f.Detail = SizeOf(e.Then, x) + ", " + SizeOf(e.Else, y)
	return Unknown, f
}

// Objective reports the objective of a level that is no scalar.
func Objective(level string, o *lang.Objective, t ir.Type) *Fault {
	if IsScalar(t) {
		return nil
	}
	f := fault(diag.ObjectiveShape, o.Value, "the %s objective is %s, not a scalar", level, KindOf(t))
	f.Fix = "an objective is one number: take `sum(...)`, `sumsq(...)` or `mean(...)` of it"
	return f
}
