package elab

import (
	"fmt"
	"strings"

	"bilevelc/ir"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// written spells a type that a function declares, as messages show it.
func written(t *lang.TypeExpr) string {
	return "a " + strings.Join(strings.Fields(t.Span().Text()), " ")
}

// Sizes sees to the sizes that the types of a function write.
type Sizes interface {
	// Own takes a size that is a name of the function's own, and binds it to n, which it
	// meets first.
	Own(x lang.Expr, n ir.Dim) bool
	// Written is the value of another, or nil where it is not known.
	Written(x lang.Expr) ir.Dim
}

// fitsWritten reports whether a type is the one that a function declares, which may
// leave sizes out.
func fitsWritten(want *lang.TypeExpr, got ir.Type, sizes Sizes) bool {
	kinds := map[lang.TypeKind]ir.TypeKind{
		lang.KindInt: ir.IntType, lang.KindVector: ir.VectorType, lang.KindMatrix: ir.MatrixType,
	}
	switch {
	case want.Kind == lang.KindReal:
		return IsScalar(got)
	case got.Kind != kinds[want.Kind]:
		return false
	}
	for i, x := range want.Dims {
		if i >= len(got.Dims) {
			break
		}
		if sizes.Own(x, got.Dims[i]) {
			continue
		}
		if n := sizes.Written(x); n != nil && compare(n, got.Dims[i]) == Differ {
			return false
		}
	}
	return true
}

// overEntries is how norms of vectors are written of all entries of a matrix.
var overEntries = map[string]string{"norm1": "sum(abs(%s))", "norm2": "sqrt(sumsq(%s))", "norminf": "max(abs(%s))"}

// Parameter fits an argument of a call to what the function says of its i-th parameter.
func Parameter(e *lang.Call, fn *lang.Fn, i int, got ir.Type, sizes Sizes) *Fault {
	p := &fn.Params[i]
	if p.Type == nil || fitsWritten(p.Type, got, sizes) {
		return nil
	}
	f := fault(diag.ArgumentType, e.Args[i], "`%s` takes %s as `%s`", fn.Name.Name, written(p.Type), p.Name.Name)
	f.Detail = fmt.Sprintf("but `%s` is %s", Quote(e.Args[i]), KindOf(got))
	if got.Kind == ir.RowVectorType && p.Type.Kind == lang.KindVector {
		f.Fix = fmt.Sprintf("did you mean `%s`?", TransposedText(e.Args[i]))
	} else if all := overEntries[fn.Name.Name]; all != "" && got.Kind == ir.MatrixType {
		f.Fix = fmt.Sprintf("over all entries it is `"+all+"`", Quote(e.Args[i]))
	}
	f.Related = []diag.Related{{Span: p.Span(), Message: "the parameter is declared here"}}
	return f
}

// Result compares what a function is declared to give with its body.
func Result(fn *lang.Fn, got ir.Type, sizes Sizes) *Fault {
	if fn.Result == nil || fitsWritten(fn.Result, got, sizes) {
		return nil
	}
	f := fault(diag.DeclaredType, fn.Body, "`%s` is declared to give %s", fn.Name.Name, written(fn.Result))
	f.Detail = "but its body is " + KindOf(got)
	return f
}
