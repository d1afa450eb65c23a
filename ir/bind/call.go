package bind

import (
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/ir"
	"bilevelc/ir/data"
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// callFn elaborates a call: a function of the model or the library is inlined,
// anything else is a primitive or an intrinsic.
func (e *elaborator) callFn(x *lang.Call) value {
	if fn, library := e.function(x.Fn.Name); fn != nil {
		return e.inline(x, fn, library)
	}
	switch x.Fn.Name {
	case "dual":
		return e.dual(x)
	case "card":
		if set := e.setOf(elab.Bare(x.Args[0])); set != nil {
			return scalarInt(set.n)
		}
		return e.unchecked(x)
	case "ord", "next", "prev":
		return e.ofElement(x)
	}
	args, ok := all(x.Args, e.operand)
	if !ok {
		return value{}
	}
	switch x.Fn.Name {
	case "length", "rows", "cols", "eye", "ones", "zeros", "diag", "outer":
		return e.structural(x, args)
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
	e.b.room(e.b.inlined(fn, library))
	body := &elaborator{b: e.b, space: e.space, floor: e.floor, library: e.library || library,
		calls: &call{fn.Name.Name, e.at(x), e.calls}}
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

// inlined is how many expressions the body of a function has at least, with the bodies of what it calls: a nest
// of calls is known to be beyond the limit before any of it is elaborated.
func (b *binder) inlined(fn *lang.Fn, library bool) int {
	n, counted := b.bodies[fn]
	if !counted {
		n = (&elaborator{b: b, library: library}).least(fn.Body)
		b.bodies[fn] = n
	}
	return n
}

// least is how many expressions are elaborated for x at least: nothing within conditions and subscripts, of
// two branches the smaller, of a comprehension one body. Where that is beyond the limit, some number that is.
func (e *elaborator) least(x lang.Expr) int {
	n := 0
	lang.Walk(x, func(x lang.Expr) bool {
		if n++; n > maxSteps {
			return false
		}
		switch x := x.(type) {
		case *lang.Index:
			return false
		case *lang.IfExpr:
			n += min(e.least(x.Then), e.least(x.Else))
			return false
		case *lang.Comprehension:
			n += e.least(x.Body)
			return false
		case *lang.Binary:
			if x.Op == lang.Mul {
				n-- // a chain is one
			}
			return x.Op != lang.And && x.Op != lang.Or
		case *lang.Call:
			if fn, library := e.function(x.Fn.Name); fn != nil {
				n += e.b.inlined(fn, library)
			} else {
				return x.Fn.Name != "dual" && x.Fn.Name != "card" // of names that are no values
			}
		}
		return true
	})
	return n
}

// Own implements elab.Sizes: a name which nothing else declares is the function's own.
func (e *elaborator) Own(x lang.Expr, n ir.Dim) bool {
	name, own := elab.OwnSize(e.b.prog, x, e.scope.local, e.library)
	if own {
		e.scope = &scope{name, scalarInt(n.(dim).n), e.scope}
	}
	return own
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
		switch v := e.num(args[0]); {
		case p.Op == expr.Sum:
			return e.itemSum(v, at)
		case v.isScalar():
			return v
		default:
			return e.itemReduce(p.Op, v, at)
		}
	}
}

// structural elaborates a function that reads or makes shapes.
func (e *elaborator) structural(x *lang.Call, args []value) value {
	types := each.Of(args, func(a value) ir.Type { return a.typ })
	var sizes []int
	t, size, f := elab.Structural(x, types, func(x lang.Expr) ir.Dim {
		n, ok := e.size(x, "the size")
		if ok {
			sizes = append(sizes, n)
		}
		return dim{n: n}
	})
	switch name, at := x.Fn.Name, e.at(x); {
	case f != nil:
		return e.fault(f)
	case size != nil:
		return scalarInt(size.(dim).n)
	case name == "diag":
		return e.diag(t, args[0], at)
	case name == "outer":
		args[1].typ = elab.Transposed(args[1].typ)
		return e.product(args[0], args[1], at)
	case len(sizes) < len(args):
		return value{}
	case name == "eye":
		return e.eye(sizes[0], at)
	default:
		e.b.fits(at, name, sizes...)
		return unbatched(e.b.graph.Fill(map[string]float64{"ones": 1, "zeros": 0}[name], expr.ShapeOf(sizes), at))
	}
}

func (e *elaborator) eye(n int, at diag.Span) value {
	v, made := e.b.eyes[n]
	if made {
		return v
	}
	e.b.fits(at, "the identity matrix", n, 3) // two indices and a number for each entry
	v = unbatched(e.b.graph.Const("", data.SparseMatrix(sparse.Diagonal(slices.Repeat([]float64{1}, n))), at))
	e.b.eyes[n] = v
	return v
}

// diag is the diagonal matrix of a vector, or the diagonal of a matrix.
func (e *elaborator) diag(t ir.Type, v value, at diag.Span) value {
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
