package bind

import (
	"fmt"

	"bilevelc/internal/each"
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// This file holds conditions: comparisons and logic over indices and data,
// and the expressions and spaces they split. A condition on data that was not
// supplied (abstract binding) is a factor that is 0 or 1, unknown which.

// compare is a comparison of numbers, u of x.X and v of x.Y.
func (e *elaborator) compare(x *lang.Binary, u, v value) value {
	if !u.isScalar() || !v.isScalar() {
		return e.unchecked(x)
	}
	out := value{typ: elab.Bool, space: join(u.space, v.space)}
	u, v = e.lift(u, out.space, e.at(x)), e.lift(v, out.space, e.at(x))
	if u.isInt() && v.isInt() {
		out.bools = each.Below(len(u.ints), func(k int) bool { return holds(x.Op, float64(u.ints[k]), float64(v.ints[k])) })
		return out
	}
	u, v = e.num(u), e.num(v)
	if e.b.reporting && u.node.Deps|v.node.Deps != 0 {
		return e.judged(x.Op, u, v, out.space, e.at(x))
	}
	if (u.node.Deps|v.node.Deps) == 0 && (u.node.Opaque || v.node.Opaque) {
		return e.unknownCondition(x, out.space)
	}
	a, ok := e.constant(u, e.at(x.X), "a condition")
	c, ok2 := e.constant(v, e.at(x.Y), "a condition")
	if !ok || !ok2 {
		return value{}
	}
	out.bools = each.Below(len(a), func(k int) bool { return holds(x.Op, a[k], c[k]) })
	return out
}

// judged is a comparison of what depends on variables, for the report: a factor
// that is 1 where it holds and 0 elsewhere, made of signs.
func (e *elaborator) judged(op lang.BinaryOp, u, v value, s *space, at diag.Span) value {
	number := func(f float64) value { return unbatched(e.b.graph.Number(f)) }
	difference := func(a, c value) value { return e.map1(expr.Sign, e.map2(expr.Sub, a, c, at), at) }
	above := func(a, c value) value { return e.map2(expr.Max, difference(a, c), number(0), at) }
	not := func(a value) value { return e.map2(expr.Sub, number(1), a, at) }
	var out value
	switch op {
	case lang.Gt:
		out = above(u, v)
	case lang.Lt:
		out = above(v, u)
	case lang.Ge:
		out = not(above(v, u))
	case lang.Le:
		out = not(above(u, v))
	default:
		out = e.map1(expr.Abs, difference(u, v), at)
		if op == lang.Eq {
			out = not(out)
		}
	}
	return unknown(out.node, s)
}

// reported is the value of an item of the report: of a condition, 1 or 0.
func (e *elaborator) reported(x lang.Expr) value {
	v := e.expr(x)
	if v.isCondition() {
		return v.factor(e)
	}
	return e.num(v)
}

func holds(op lang.BinaryOp, a, c float64) bool {
	switch op {
	case lang.Lt:
		return a < c
	case lang.Le:
		return a <= c
	case lang.Gt:
		return a > c
	case lang.Ge:
		return a >= c
	case lang.Eq:
		return a == c
	}
	return a != c
}

// unknownCondition is a fresh opaque factor for a condition, written so that its range
// shows: between 0 and 1.
func (e *elaborator) unknownCondition(x lang.Node, s *space) value {
	g, at := e.b.graph, e.at(x)
	name := fmt.Sprintf("(condition at %s, %d)", x.Span(), len(g.Nodes()))
	most := g.Binary(expr.Min, g.Opaque(name, s.shape(expr.ScalarShape()), at), g.Number(1), at)
	return unknown(g.Binary(expr.Max, most, g.Number(0), at), s)
}

func (e *elaborator) not(v value, at diag.Span) value {
	if v.bad() {
		return v
	}
	if v.unknown != nil {
		v.unknown = e.b.graph.Binary(expr.Sub, e.b.graph.Number(1), v.unknown, at)
		return v
	}
	v.bools = each.Of(v.bools, func(t bool) bool { return !t })
	return v
}

// logic is `and` and `or`. The second condition is evaluated only where it
// decides, so that it can rely on the first (i > 1 and v[i-1] > 0).
func (e *elaborator) logic(x *lang.Binary) value {
	u := e.condition(x.X)
	if u.bad() {
		return value{}
	}
	if u.unknown != nil || e.b.reporting && e.b.readsVariable(x.Y) {
		switch v := e.condition(x.Y); {
		case v.bad():
			return v
		case e.b.reporting:
			return e.joined(x, u, v)
		default:
			return e.unknownCondition(x, join(u.space, v.space))
		}
	}
	open := x.Op == lang.And // the value of u at which v decides
	if u.space == nil {
		if u.bools[0] != open {
			return u
		}
		return e.condition(x.Y)
	}
	bools := u.boolsAt(e.space)
	part := subspace(e.space, bools, open)
	if part.n == 0 {
		return u
	}
	v := e.within(part).condition(x.Y)
	if v.bad() {
		return value{}
	}
	if v.unknown != nil {
		return e.unknownCondition(x, e.space)
	}
	decided := v.boolsAt(part)
	for k, t := range part.up {
		bools[t] = decided[k]
	}
	return value{typ: elab.Bool, space: e.space, bools: bools}
}

// joined is `and` and `or` in the report, where a condition may depend on
// variables: of factors that are 0 or 1, the smaller and the larger.
func (e *elaborator) joined(x *lang.Binary, u, v value) value {
	op := expr.Min
	if x.Op == lang.Or {
		op = expr.Max
	}
	out := e.map2(op, u.factor(e), v.factor(e), e.at(x))
	return unknown(out.node, out.space)
}

// condition elaborates an expression that must be a condition.
func (e *elaborator) condition(x lang.Expr) value {
	v := e.expr(x)
	if !v.bad() && !v.isCondition() {
		return e.unchecked(x)
	}
	return v
}

// subspace is the part of s where the condition has the given value.
func subspace(s *space, bools []bool, want bool) *space {
	part := &space{parent: s, depth: s.depth + 1}
	for k, t := range bools {
		if t == want {
			part.up = append(part.up, k)
		}
	}
	part.n = len(part.up)
	return part
}

// ifExpr is `if c then a else b`: a branch is elaborated only where it is
// taken.
func (e *elaborator) ifExpr(x *lang.IfExpr) value {
	c := e.condition(x.Cond)
	if c.bad() {
		return value{}
	}
	at := e.at(x)
	if c.unknown != nil {
		mask := c.factor(e)
		rest := e.map2(expr.Sub, scalarInt(1), mask, at)
		u, v := e.numeric(x.Then), e.numeric(x.Else)
		if u.bad() || v.bad() {
			return value{}
		}
		if _, f := elab.Branches(x, u.typ, v.typ); f != nil {
			return e.fault(f)
		}
		yes := e.map2(expr.Mul, mask, u, at)
		return e.map2(expr.Add, yes, e.map2(expr.Mul, rest, v, at), at)
	}
	yes, no := 0, 0
	for _, t := range c.bools {
		if t {
			yes++
		} else {
			no++
		}
	}
	switch {
	case no == 0:
		return e.expr(x.Then)
	case yes == 0:
		return e.expr(x.Else)
	}
	bools := c.boolsAt(e.space)
	onYes, onNo := subspace(e.space, bools, true), subspace(e.space, bools, false)
	u := e.within(onYes).numeric(x.Then)
	v := e.within(onNo).numeric(x.Else)
	if u.bad() || v.bad() {
		return value{}
	}
	t, f := elab.Branches(x, u.typ, v.typ)
	if f != nil {
		return e.fault(f)
	}
	u, v = e.lift(u, onYes, at), e.lift(v, onNo, at)
	out := shaped(t, e.space)
	out.node = e.b.graph.Binary(expr.Add, e.place(u, e.space, at), e.place(v, e.space, at), at)
	return out
}

// place puts the instances of a part back into its parent, zeros elsewhere.
func (e *elaborator) place(v value, s *space, at diag.Span) *expr.Node {
	return e.b.graph.ScatterAdd(v.node, instances(v.space.to(s), v.item().Len()), s.shape(v.item()), at)
}
