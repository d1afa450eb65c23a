package elab

import (
	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

type form struct {
	name string
	args int
}

// primitives holds the operations that are called by name: max of two is entry by
// entry, max of one is of all entries.
var primitives = map[form]*expr.Primitive{}

func init() {
	arity := map[expr.Class]int{expr.Elementwise1: 1, expr.Elementwise2: 2, expr.Reduction: 1}
	for i := range expr.Primitives {
		if p := &expr.Primitives[i]; p.Name != "" && arity[p.Class] > 0 {
			primitives[form{p.Name, arity[p.Class]}] = p
		}
	}
}

// Primitive is the operation of a name and number of arguments, or nil.
func Primitive(name string, args int) *expr.Primitive { return primitives[form{name, args}] }

// Reductions are the words that a comprehension starts with.
var Reductions = map[string]expr.Op{
	"sum": expr.Sum, "prod": expr.Prod, "max": expr.MaxAll, "min": expr.MinAll,
}

// Combined types a primitive of two arguments, which acts entry by entry.
func Combined(e *lang.Call, x, y ir.Type) (ir.Type, *Fault) {
	t, problem := Broadcast(x, y)
	if problem == "" {
		return t, nil
	}
	f := fault(diag.ElementwiseShapes, e, "the arguments of `%s` have different shapes", e.Fn.Name)
	f.Detail = SizeOf(e.Args[0], x) + ", " + SizeOf(e.Args[1], y) + problem
	return Unknown, f
}

// Argument is an argument of the wrong kind.
func Argument(e *lang.Call, i int, t ir.Type, want string) *Fault {
	return fault(diag.ArgumentType, e.Args[i], "`%s` takes %s, but `%s` is %s", e.Fn.Name, want, Quote(e.Args[i]), KindOf(t))
}

// Structural types a function that reads or makes shapes, or, where it reads a size, gives
// that. written is the value of a size that is an argument.
func Structural(e *lang.Call, args []ir.Type, written func(x lang.Expr) ir.Dim) (t ir.Type, size ir.Dim, f *Fault) {
	switch e.Fn.Name {
	case "length", "rows", "cols":
		size, f = extent(e, args[0])
		return Int, size, f
	case "eye":
		n := written(e.Args[0])
		return Matrix(n, n), nil, nil
	case "ones", "zeros":
		dims := each.Of(e.Args, written)
		return Array(dims...), nil, nil
	case "diag":
		t, f = diagonal(e, args[0])
	default:
		t, f = outer(e, args...)
	}
	return t, nil, f
}

// extent is the size that length, rows or cols reads.
func extent(e *lang.Call, t ir.Type) (ir.Dim, *Fault) {
	switch vector := t.Kind == ir.VectorType || t.Kind == ir.RowVectorType; {
	case e.Fn.Name == "length" && vector || e.Fn.Name == "rows" && t.Kind == ir.MatrixType:
		return t.Dims[0], nil
	case e.Fn.Name == "length":
		return nil, Argument(e, 0, t, "a vector")
	case t.Kind != ir.MatrixType:
		return nil, Argument(e, 0, t, "a matrix")
	}
	return t.Dims[1], nil
}

// diagonal types diag(v), the diagonal matrix, and diag(A), the diagonal.
func diagonal(e *lang.Call, t ir.Type) (ir.Type, *Fault) {
	switch {
	case t.Kind == ir.VectorType:
		return Matrix(t.Dims[0], t.Dims[0]), nil
	case t.Kind != ir.MatrixType:
		return Unknown, Argument(e, 0, t, "a vector or a square matrix")
	case compare(t.Dims[0], t.Dims[1]) == Differ:
		f := fault(diag.ArgumentType, e.Args[0], "`diag` of a matrix takes a square one")
		f.Detail = SizeOf(e.Args[0], t)
		return Unknown, f
	}
	return Vector(t.Dims[0]), nil
}

// outer types outer(u, v), the matrix u v'.
func outer(e *lang.Call, args ...ir.Type) (ir.Type, *Fault) {
	for i, t := range args {
		if t.Kind != ir.VectorType {
			return Unknown, Argument(e, i, t, "two vectors")
		}
	}
	return Matrix(args[0].Dims[0], args[1].Dims[0]), nil
}
