package bind

import (
	"fmt"
	"math"
	"slices"

	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// elaborator elaborates expressions in one scope: the model itself, or the body of
// an inlined function, at one iteration space.
type elaborator struct {
	b     *binder
	scope *scope
	space *space // of the innermost comprehension, or nil
	// floor is the innermost space that leaves out tuples of the spaces around
	// it. Values from further out are taken there first, so that what a
	// condition guards is not evaluated where it does not hold.
	floor *space

	library bool  // in a body of the standard library
	calls   *call // of functions that are being inlined
}

// call is an inlined call of a function of the model.
type call struct {
	name   string
	at     diag.Span
	caller *call
}

// errorf reports an error; inside the body of a function it shows the calls
// that lead there.
func (e *elaborator) errorf(code diag.Code, at diag.Span, format string, args ...any) *diag.Diagnostic {
	d := e.b.errorf(code, at, format, args...)
	for c := e.calls; c != nil; c = c.caller {
		if c.at != at {
			d.Related = append(d.Related, diag.Related{Span: c.at, Message: fmt.Sprintf("in this call of `%s`", c.name)})
		}
	}
	return d
}

// fault reports a rule that an expression breaks. That it breaks it is found here only
// where sizes are undecided without data; its code says so.
func (e *elaborator) fault(f *elab.Fault) value {
	summary := f.Summary
	if e.library {
		summary = fmt.Sprintf("`%s` does not take these arguments: %s", e.libraryCall().name, summary)
	}
	d := e.errorf(diag.BindShapes, e.at(f.At), "%s", summary)
	d.Detail, d.Fix, d.Related = f.Detail, f.Fix, append(d.Related, f.Related...)
	return value{}
}

// libraryCall is the call of the library that a body of it is inlined for.
func (e *elaborator) libraryCall() *call {
	c := e.calls
	for c.caller != nil && c.caller.at == c.at {
		c = c.caller
	}
	return c
}

// unchecked is binder.unchecked as a value.
func (e *elaborator) unchecked(n lang.Node) value {
	e.b.unchecked(e.at(n))
	return value{}
}

// scope is a list of local names, the innermost first.
type scope struct {
	name  string
	value value
	next  *scope
}

func (s *scope) find(name string) (value, bool) {
	for ; s != nil; s = s.next {
		if s.name == name {
			return s.value, true
		}
	}
	return value{}, false
}

func (s *scope) local(name string) bool {
	_, ok := s.find(name)
	return ok
}

// top elaborates in the scope of the model.
func (b *binder) top() *elaborator { return &elaborator{b: b} }

// within returns the elaborator of a deeper space that may leave out tuples of
// the current one.
func (e *elaborator) within(s *space) *elaborator {
	inner := *e
	if inner.space = s; !s.covers() {
		inner.floor = s
	}
	return &inner
}

// with returns the elaborator with one more local name.
func (e *elaborator) with(name string, v value) *elaborator {
	inner := *e
	inner.scope = &scope{name, v, e.scope}
	return &inner
}

// at is the place that messages about n point to.
func (e *elaborator) at(n lang.Node) diag.Span {
	if e.library { // at the call of it
		return e.calls.at
	}
	return n.Span()
}

// expr elaborates an expression. Errors are reported here and give a bad
// value.
func (e *elaborator) expr(x lang.Expr) value {
	e.b.meter.Step()
	e.b.expand(1)
	switch x := x.(type) {
	case *lang.Number:
		if x.Int && math.Abs(x.Value) < exactInt {
			return scalarInt(int(x.Value))
		}
		v := unbatched(e.b.graph.Number(x.Value))
		v.beyond = x.Int
		return v
	case *lang.Paren:
		return e.expr(x.X)
	case *lang.Name:
		return e.name(x)
	case *lang.ListLit:
		return e.list(x)
	case *lang.Unary:
		return e.unary(x)
	case *lang.Binary:
		return e.binary(x)
	case *lang.Transpose:
		return e.transposed(e.expr(x.X), e.at(x))
	case *lang.Index:
		return e.index(x)
	case *lang.Call:
		return e.callFn(x)
	case *lang.Comprehension:
		return e.comprehension(x)
	case *lang.IfExpr:
		return e.ifExpr(x)
	case *lang.Text:
		return written(x.Value)
	case *lang.Bad, nil:
		return value{} // the parser has reported it
	}
	panic(fmt.Sprintf("bind: no meaning for %T", x))
}

// operand elaborates an expression that is not a condition, nor a label that is written out.
func (e *elaborator) operand(x lang.Expr) value {
	v := e.expr(x)
	if v.isCondition() || v.set != nil && v.set.written() {
		return e.unchecked(x)
	}
	return v
}

// all elaborates expressions; ok is false where one of them is bad.
func all(list []lang.Expr, elaborate func(lang.Expr) value) (values []value, ok bool) {
	values, ok = make([]value, len(list)), true
	for k, x := range list {
		values[k] = elaborate(x)
		ok = ok && !values[k].bad()
	}
	return values, ok
}

// numeric elaborates an expression that is a number, as a node of the graph.
func (e *elaborator) numeric(x lang.Expr) value { return e.num(e.operand(x)) }

func (e *elaborator) name(x *lang.Name) value {
	if v, ok := e.scope.find(x.Name); ok {
		if v.space != nil && v.space.level() < e.floor.level() {
			return e.lift(v, e.floor, e.at(x))
		}
		return v
	}
	if !e.library {
		if v, ok := e.b.known[x.Name]; ok {
			return v
		}
		if v, ok := e.b.vars[x.Name]; ok {
			return v
		}
		if s := e.b.symbol(x.Name); s != nil && s.Kind == ir.LetSymbol {
			return e.b.let(s)
		}
	}
	if x.Name == "inf" && !e.library { // in the bounds of a box only: the checker sees to that
		return unbatched(e.b.graph.Number(math.Inf(1)))
	}
	if x.Name == "pi" {
		return unbatched(e.b.graph.Number(math.Pi))
	}
	return e.unchecked(x)
}

// let elaborates a let once, in the scope of the model.
func (b *binder) let(s *ir.Symbol) value {
	v, done := b.lets[s]
	if !done {
		v = b.top().expr(s.Decl.(*lang.Let).Value)
		b.lets[s] = v
	}
	return v
}

// list is a literal: of numbers a vector, of rows a matrix.
func (e *elaborator) list(x *lang.ListLit) value {
	items, ok := all(x.Elems, e.numeric)
	if !ok {
		return value{}
	}
	if elab.IsMatrix(x) {
		return e.stack(items, expr.MatrixShape(len(items), items[0].item().Rows), e.at(x))
	}
	if slices.ContainsFunc(items, func(v value) bool { return !v.isScalar() }) {
		return e.concatenation(items, x)
	}
	return e.stack(items, expr.VectorShape(len(items)), e.at(x))
}

// stack puts equal items behind each other into one of the given shape.
func (e *elaborator) stack(items []value, item expr.Shape, at diag.Span) value {
	var s *space
	known := true
	for _, v := range items {
		s = join(s, v.space)
		known = known && v.node.Op == expr.Const && v.node.Value != nil && v.node.Value.Sparse == nil && v.space == nil
	}
	if !known {
		size := item.Len() / len(items)
		return e.assembled(items, shaped(arrayOver(plain(item.Dims())), s), func(k, j int) int { return k*size + j }, at)
	}
	vals := make([]float64, 0, item.Len())
	for _, v := range items {
		vals = append(vals, v.node.Value.Dense...)
	}
	return unbatched(e.b.graph.Const("", expr.NewArray(item, vals), at))
}

// assembled is out with the entries of its items, entry j of item k at a place of its own.
func (e *elaborator) assembled(items []value, out value, place func(k, j int) int, at diag.Span) value {
	n, shape, entries := out.space.size(), out.space.shape(out.item()), out.item().Len()
	e.b.fits(at, "the array", n, entries)
	for k, v := range items {
		v = e.lift(e.num(v), out.space, at)
		size := v.item().Len()
		index := make([]int, 0, n*size)
		for t := range n {
			for j := range size {
				index = append(index, t*entries+place(k, j))
			}
		}
		if len(index) > 0 {
			out.node = e.plus(out.node, e.b.graph.ScatterAdd(v.node, index, shape, at), at)
		}
	}
	if out.node == nil {
		out.node = e.b.graph.Fill(0, shape, at)
	}
	return out
}

func (e *elaborator) unary(x *lang.Unary) value {
	if x.Op == lang.Not {
		return e.not(e.condition(x.X), e.at(x))
	}
	v := e.operand(x.X)
	if v.bad() {
		return v
	}
	return e.map1(expr.Neg, v, e.at(x))
}

func (e *elaborator) binary(x *lang.Binary) value {
	switch x.Op {
	case lang.Mul:
		return e.chain(x)
	case lang.And, lang.Or:
		return e.logic(x)
	}
	u, v := e.expr(x.X), e.expr(x.Y)
	switch {
	case u.bad() || v.bad():
		return value{}
	case u.isCondition() || v.isCondition():
		return e.unchecked(x)
	case x.Op.Precedence() == lang.CompareLevel && (u.set != nil || v.set != nil):
		return e.compareLabels(x, u, v)
	case x.Op.Precedence() == lang.CompareLevel:
		return e.compare(x, u, v)
	}
	if _, f := elab.Arithmetic(x, u.typ, v.typ, false); f != nil {
		return e.fault(f)
	}
	return e.map2(elab.Operations[x.Op], u, v, e.at(x))
}

// constant returns the entries of a value that depends on data only. ok is
// false where it depends on variables or on data that was not supplied; only
// the first is an error, which is reported.
func (e *elaborator) constant(v value, at diag.Span, what string) (vals []float64, ok bool) {
	if v.bad() {
		return nil, false
	}
	v = e.num(v)
	if v.node.Deps != 0 {
		e.errorf(diag.NotFixed, at, "%s depends on variables", what).Detail =
			"Conditions, ranges, indices and sizes are fixed when the model is bound: they may use params, data and indices."
		return nil, false
	}
	if v.node.Opaque {
		return nil, false
	}
	return e.b.value(v.node).Values(), true
}

// fixedNumber is the value of an expression of the model that is a number before it is
// solved. known is false after an error, and, without one, where ok.
func (b *binder) fixedNumber(x lang.Expr, what string) (v float64, known, ok bool) {
	e := b.top()
	return e.fixed(e.numeric(x), x.Span(), what)
}

// fixed is fixedNumber of an expression at a place, elaborated to n.
func (e *elaborator) fixed(n value, at diag.Span, what string) (v float64, known, ok bool) {
	if vals, known := e.constant(n, at, what); known {
		return vals[0], true, true
	}
	return 0, false, !n.bad() && n.node.Deps == 0
}

// rounded reports a value of integers that may not be exact.
func (e *elaborator) rounded(v value, at diag.Span, what string) bool {
	if v.beyond {
		e.errorf(diag.BindNotInteger, at, "%s overflows the integers on the way: beyond 2^53 they are not exact", what)
	}
	return v.beyond
}

// integers returns a value as integers, one or one a tuple of its space. An
// unknown value (data not supplied) gives ok and a nil list.
func (e *elaborator) integers(v value, at diag.Span, what string) (ints []int, ok bool) {
	if v.bad() {
		return nil, false
	}
	if v.isInt() {
		return v.ints, true
	}
	if v.isCondition() || !v.isScalar() && v.space != nil {
		e.errorf(diag.BindShapes, at, "%s must be an integer, not %s", what, v.describe())
		return nil, false
	}
	vals, ok := e.constant(v, at, what)
	if !ok {
		return nil, v.node.Deps == 0 && v.node.Opaque
	}
	ints = make([]int, len(vals))
	if e.rounded(v, at, what) {
		return nil, false
	}
	for k, f := range vals {
		if f != math.Trunc(f) || math.Abs(f) >= exactInt {
			e.errorf(diag.BindNotInteger, at, "%s must be an integer, not %v", what, f)
			return nil, false
		}
		ints[k] = int(f)
	}
	return ints, true
}

// size is an integer that is the same for all tuples, such as a dimension.
func (e *elaborator) size(x lang.Expr, what string) (int, bool) {
	v := e.expr(x)
	if v.bad() {
		return 0, false
	}
	ints, ok := e.integers(v, e.at(x), what)
	if !ok {
		return 0, false
	}
	if ints == nil {
		return e.b.filler(), true
	}
	if len(ints) == 0 {
		return 0, true
	}
	for _, i := range ints {
		if i != ints[0] {
			e.vary(e.at(x), "%s changes with the index: it is %d and %d", what, ints[0], i)
			return 0, false
		}
	}
	if ints[0] < 0 {
		e.errorf(diag.BindNegative, e.at(x), "%s is negative: %d", what, ints[0])
		return 0, false
	}
	return ints[0], true
}
