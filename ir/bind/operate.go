package bind

import (
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/data"
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

// This file holds the elementwise operations on values, and how values of
// different spaces meet.

// num turns an integer value into a number.
func (e *elaborator) num(v value) value {
	if !v.isInt() {
		return v
	}
	if v.space == nil {
		v.node = e.b.graph.Number(float64(v.ints[0]))
	} else {
		vals := each.Of(v.ints, func(i int) float64 { return float64(i) })
		v.node = e.b.graph.Const("", data.Vector(vals), diag.Span{})
	}
	v.typ, v.ints = elab.Real, nil
	return v
}

// lift turns a number of an ancestor space into one of s.
func (e *elaborator) lift(v value, s *space, at diag.Span) value {
	if v.space == s || v.bad() {
		return v
	}
	if v.isInt() {
		v.ints, v.space = pick(v.ints, s.to(v.space)), s
		return v
	}
	size := v.item().Len()
	e.b.fits(at, "the expanded expression", s.n, size)
	v.node = e.b.graph.Gather(v.node, instances(s.to(v.space), size), s.shape(v.item()), at)
	v.space, v.product = s, nil
	return v
}

// instances are the places of the entries of instances of a size, one behind the other.
func instances(list []int, size int) []int {
	index := make([]int, len(list)*size)
	for k, t := range list {
		for j := range size {
			index[k*size+j] = t*size + j
		}
	}
	return index
}

// repeated copies a batched scalar to a batched item.
func (e *elaborator) repeated(v value, item ir.Type, at diag.Span) value {
	out := shaped(item, v.space)
	e.b.fits(at, "the expanded expression", v.space.n, out.item().Len())
	out.node = e.rearranged(v, out, func(int) int { return 0 }, at)
	return out
}

// rearranged is the node of out, a value of v's space whose entry j is entry from(j) of v.
func (e *elaborator) rearranged(v, out value, from func(j int) int, at diag.Span) *expr.Node {
	n, size := v.space.size(), out.item().Len()
	index := make([]int, 0, n*size)
	for t := range n {
		for j := range size {
			index = append(index, t*v.item().Len()+from(j))
		}
	}
	return e.b.graph.Gather(v.node, index, v.space.shape(out.item()), at)
}

// plus is the sum of two nodes; a missing one is zero.
func (e *elaborator) plus(sum, n *expr.Node, at diag.Span) *expr.Node {
	if sum == nil {
		return n
	}
	return e.b.graph.Binary(expr.Add, sum, n, at)
}

// map1 applies an elementwise operation of one argument.
func (e *elaborator) map1(op expr.Op, v value, at diag.Span) value {
	if op == expr.Neg && v.isInt() {
		v.ints = each.Of(v.ints, func(i int) int { return -i }) // -minInt cannot occur: literals and arithmetic stay within 2^53
		return v
	}
	v = e.num(v)
	v.node = e.b.graph.Unary(op, v.node, at)
	v.product = nil
	return v
}

// map2 applies an elementwise operation of two arguments, whose shapes have been
// compared.
func (e *elaborator) map2(op expr.Op, u, v value, at diag.Span) value {
	beyond := u.beyond || v.beyond
	if u.isInt() && v.isInt() {
		w, ok := e.intMap2(op, u, v)
		if ok {
			return w
		}
		beyond = op == expr.Add || op == expr.Sub || op == expr.Mul || op == expr.Pow && slices.Min(v.ints) >= 0
	}
	u, v = e.num(u), e.num(v)
	out := shaped(u.typ, join(u.space, v.space))
	out.beyond = beyond
	if u.isScalar() || !overSets(u.dims()) && !v.isScalar() {
		out.typ = v.typ
	}
	if op == expr.Mul {
		out.product = &[2]value{u, v}
	}
	if out.space != nil {
		if s, w, ok := scaledVector(u, v); ok && op == expr.Mul {
			e.b.fits(at, "the expanded expression", s.space.n, w.item().Len())
			out.node = e.b.graph.Outer(s.node, w.node, at)
			return out
		}
		u, v = e.align(u, out, at), e.align(v, out, at)
	}
	out.node = e.b.graph.Binary(op, u.node, v.node, at)
	return out
}

// scaledVector recognises a batched scalar times an unbatched vector, in
// either order: the outer product of the two.
func scaledVector(u, v value) (scalar, vector value, ok bool) {
	if u.isScalar() {
		u, v = v, u
	}
	return v, u, v.isScalar() && v.space != nil && u.item().Rank == 1 && u.space == nil
}

// align brings an operand to the space and item of the result; an unbatched
// scalar broadcasts as it is.
func (e *elaborator) align(v, out value, at diag.Span) value {
	if v.isScalar() && v.space == nil {
		return v
	}
	v = e.lift(v, out.space, at)
	if v.isScalar() && !out.isScalar() {
		v = e.repeated(v, out.typ, at)
	}
	return v
}

// exactInt bounds integers: beyond 2^53 a double no longer holds each one.
const exactInt = 1 << 53

// intMap2 is exact integer arithmetic. It does not apply where a quotient is
// not whole, a power is not an integer, or a result is beyond 2^53; the
// operation is then one of reals.
func (e *elaborator) intMap2(op expr.Op, u, v value) (value, bool) {
	s := join(u.space, v.space)
	u, v = e.lift(u, s, diag.Span{}), e.lift(v, s, diag.Span{})
	out := value{typ: elab.Int, space: s, ints: make([]int, len(u.ints))}
	for k, a := range u.ints {
		w, ok := intOp(op, a, v.ints[k])
		if !ok {
			return value{}, false
		}
		out.ints[k] = w
	}
	return out, true
}

// intOp is an operation on two integers below 2^53, where the result is another one. A
// quotient is whole where its double is: beside a whole number it is off by more than that rounds.
func intOp(op expr.Op, a, c int) (int, bool) {
	v := op.Info().Eval2(float64(a), float64(c))
	if op == expr.Pow && c < 0 || !(math.Abs(v) < exactInt) || v != math.Trunc(v) {
		return 0, false
	}
	return int(v), true
}

// transposed is v'.
func (e *elaborator) transposed(v value, at diag.Span) value {
	switch {
	case v.bad() || v.isScalar():
		return v
	case len(v.typ.Dims) == 1:
		v.typ, v.product = elab.Transposed(v.typ), nil
		return v
	}
	out := shaped(elab.Transposed(v.typ), v.space)
	if v.space == nil {
		out.node = e.b.graph.Transpose(v.node, at)
		return out
	}
	r, c := v.item().Rows, v.item().Cols
	out.node = e.rearranged(v, out, func(k int) int { return k%r*c + k/r }, at)
	return out
}

// reshape gives a node's entries, in row-major order, another shape.
func (e *elaborator) reshape(n *expr.Node, out expr.Shape, at diag.Span) *expr.Node {
	if n.Shape == out {
		return n
	}
	return e.b.graph.Gather(n, expr.Sequence(0, out.Len()), out, at)
}
