package bind

import (
	"bilevelc/internal/sparse"
	"bilevelc/ir"
	"bilevelc/ir/data"
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"slices"
)

// callFn elaborates a call: a function of the model or the library is inlined,
// anything else is a primitive or an intrinsic.
func (e *elaborator) callFn(x *lang.Call) value {
	if fn, library := e.function(x.Fn.Name); fn != nil {
		return e.inline(x, fn, library)
	}
	if x.Fn.Name == "dual" {
		return e.dual(x)
	}
	if v, ok := e.ofSet(x); ok {
		return v
	}
	args, ok := all(x.Args, e.operand)
	if !ok {
		return value{}
	}
	if v, ok := e.intrinsic(x, args); ok {
		return v
	}
	if p := elab.Primitive(x.Fn.Name, len(args)); p != nil {
		return e.primitive(p, x, args)
	}
	return e.unchecked(x)
}

// function finds a function written in the language.
func (e *elaborator) function(name string) (fn *lang.Fn, library bool) {
	if !e.library {
		if s := e.b.symbol(name); s != nil && s.Kind == ir.FnSymbol {
			if fn, ok := s.Decl.(*lang.Fn); ok {
				return fn, false
			}
		}
	}
	return e.b.prog.Library[name], true
}

// inline elaborates the body of a function with its parameters bound to the
// arguments. Names of dimensions in the parameters' types that nothing else
// declares stand for the arguments' sizes.
func (e *elaborator) inline(x *lang.Call, fn *lang.Fn, library bool) value {
	body := &elaborator{b: e.b, space: e.space, floor: e.floor, library: e.library || library, call: e.call,
		calls: &call{fn.Name.Name, e.at(x), e.calls}}
	if library && !e.library {
		body.call = x.Span()
	}
	args, ok := all(x.Args, e.operand)
	if !ok {
		return value{}
	}
	for k, p := range fn.Params {
		body = body.with(p.Name.Name, args[k])
	}
	for k := range fn.Params {
		t := args[k].typ
		if fn.Params[k].Type != nil && fn.Params[k].Type.Kind == lang.KindInt && elab.IsScalar(t) {
			t = elab.Int // its value has been checked to be one
		}
		if f := elab.Parameter(x, fn, k, t, body); f != nil {
			return e.fault(f)
		}
	}
	v := body.expr(fn.Body)
	if !v.bad() && !v.isScalar() {
		if f := elab.Result(fn, v.typ, body); f != nil {
			return body.fault(f)
		}
	}
	return v
}

// Own implements elab.Sizes: a name which nothing else declares is the function's own.
func (e *elaborator) Own(x lang.Expr, n ir.Dim) bool {
	name, ok := x.(*lang.Name)
	if !ok {
		return false
	}
	_, local := e.scope.find(name.Name)
	global := e.b.symbol(name.Name) != nil
	if local || global && !e.library {
		return false
	}
	e.scope = &scope{name.Name, scalarInt(n.(dim).n), e.scope}
	return true
}

// Written implements elab.Sizes.
func (e *elaborator) Written(x lang.Expr) ir.Dim {
	if n, ok := e.size(x, "a dimension"); ok {
		return dim{n: n}
	}
	return nil
}

func (e *elaborator) primitive(p *expr.Primitive, x *lang.Call, args []value) value {
	switch at := e.at(x); p.Class {
	case expr.Elementwise1:
		return e.map1(p.Op, args[0], at)
	case expr.Elementwise2:
		if _, f := elab.Combined(x, args[0].typ, args[1].typ); f != nil {
			return e.fault(f)
		}
		return e.map2(p.Op, args[0], args[1], at)
	default:
		if p.Op == expr.Sum {
			return e.itemSum(e.num(args[0]), at)
		}
		return e.itemReduce(p.Op, e.num(args[0]), at)
	}
}

// outer is the matrix u v'.
func (e *elaborator) outer(x *lang.Call, u, v value) value {
	if _, f := elab.Outer(x, u.typ, v.typ); f != nil {
		return e.fault(f)
	}
	v.typ = elab.Transposed(v.typ)
	return e.product(u, v, e.at(x))
}

// intrinsic elaborates a function that reads or makes shapes; ok is false for
// other names.
func (e *elaborator) intrinsic(x *lang.Call, args []value) (v value, ok bool) {
	switch x.Fn.Name {
	case "length", "rows", "cols":
		return e.extentOf(x, args[0]), true
	case "eye":
		return e.eye(x), true
	case "diag":
		return e.diag(x, args[0]), true
	case "ones":
		return e.filled(x, 1), true
	case "zeros":
		return e.filled(x, 0), true
	case "outer":
		return e.outer(x, args[0], args[1]), true
	}
	return value{}, false
}

// extentOf is a dimension of a value.
func (e *elaborator) extentOf(x *lang.Call, v value) value {
	n, f := elab.Extent(x, v.typ)
	if f != nil {
		return e.fault(f)
	}
	return scalarInt(n.(dim).n)
}

func (e *elaborator) eye(x *lang.Call) value {
	n, ok := e.size(x.Args[0], "the size")
	if !ok || !e.b.fits(e.at(x), "the identity matrix", n) {
		return value{}
	}
	if v, ok := e.b.eyes[n]; ok {
		return v
	}
	v := unbatched(e.b.graph.Const("", data.SparseMatrix(sparse.Diagonal(slices.Repeat([]float64{1}, n))), e.at(x)))
	e.b.eyes[n] = v
	return v
}

// filled is ones or zeros: a vector of n, or an m x n matrix.
func (e *elaborator) filled(x *lang.Call, with float64) value {
	dims := make([]int, len(x.Args))
	for k, a := range x.Args {
		n, ok := e.size(a, "the size")
		if !ok {
			return value{}
		}
		dims[k] = n
	}
	if !e.b.fits(e.at(x), x.Fn.Name, dims...) {
		return value{}
	}
	return unbatched(e.b.graph.Fill(with, shapeOf(dims), e.at(x)))
}

// diag is the diagonal matrix of a vector, or the diagonal of a matrix.
func (e *elaborator) diag(x *lang.Call, arg value) value {
	v, at := e.num(arg), e.at(x)
	t, f := elab.Diagonal(x, v.typ)
	if f != nil {
		return e.fault(f)
	}
	n := v.item().Rows
	out := shaped(t, v.space)
	if v.item().Rank == 1 && v.space == nil && v.node.Deps == 0 && !v.node.Opaque {
		out.node = e.b.graph.Const("", data.SparseMatrix(sparse.Diagonal(e.b.value(v.node).Values())), at)
		return out
	}
	if v.item().Rank == 2 {
		out.node = e.rearranged(v, out, func(i int) int { return i * (n + 1) }, at)
		return out
	}
	return e.assembled([]value{v}, out, func(_, i int) int { return i * (n + 1) }, at)
}
