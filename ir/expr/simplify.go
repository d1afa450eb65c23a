package expr

import (
	"math"
	"slices"

	"bilevelc/ir/data"
	"bilevelc/lang/diag"
)

// This file holds the local identities that the builder applies. Each keeps
// the value and the domain: 0 * e stays, because e may be undefined.

// foldEntries bounds a constant that is computed while the graph is built;
// longer ones wait for Value. It bounds building time only.
const foldEntries = 4096

// Number returns the value of a scalar constant.
func (n *Node) Number() (float64, bool) {
	if n.Op != Const || n.Value == nil || n.Shape.Rank != 0 {
		return 0, false
	}
	return n.Value.Dense[0], true
}

func isNumber(n *Node, v float64) bool {
	w, ok := n.Number()
	return ok && w == v
}

// fold computes a node over small unnamed constants and numbers. Named data
// keeps its expression, so that later passes see its structure. Values that
// are not finite are not folded: the node stays for the trace.
func (b *Builder) fold(n *Node) *Node {
	if n.Deps != 0 || n.Opaque || n.Shape.Len() > foldEntries {
		return nil
	}
	args := make([]*data.Array, len(n.Args))
	for i, a := range n.Args {
		if a.Op != Const || a.Value.Sparse != nil || len(a.Value.Dense) > foldEntries ||
			(a.Name != "" && a.Shape.Rank != 0) {
			return nil
		}
		args[i] = a.Value
	}
	v := apply(n, args)
	if slices.ContainsFunc(v.Dense, func(e float64) bool { return math.IsNaN(e) || math.IsInf(e, 0) }) {
		return nil
	}
	return b.Const("", v, n.Span)
}

func (b *Builder) simplifyUnary(op Op, x *Node) *Node {
	switch {
	case op == Neg && x.Op == Neg:
		return x.Args[0]
	case op == Log && x.Deps != 0:
		return b.logOf(x)
	}
	return nil
}

// logOf is log x where x is made of exponentials, so that it is known to be positive, without them: of e^u and of positive numbers, their sums, products and quotients. It overflows nowhere, and is convex in what
// the exponents are affine in. nil for others.
func (b *Builder) logOf(x *Node) *Node {
	var made *Node
	switch x.Op {
	case Const:
		if x.Value == nil || x.Value.Sparse != nil || slices.ContainsFunc(x.Value.Dense, func(c float64) bool { return !(c > 0) }) {
			return nil
		}
		if c, ok := x.Number(); ok {
			return b.Number(math.Log(c))
		}
		made = b.make(&Node{Op: Log, Args: []*Node{x}, Shape: x.Shape, Span: x.Span})
	case Exp:
		made = x.Args[0]
	case Sum:
		if u := b.logOf(x.Args[0]); u != nil {
			made = b.Reduce(LogSumExp, u, x.Span)
		}
	case Dot:
		u, v := b.logOf(x.Args[0]), b.logOf(x.Args[1])
		if u == nil || v == nil {
			return nil
		}
		made = b.Reduce(LogSumExp, b.Binary(Add, u, v, x.Span), x.Span)
	case Add, Mul, Div:
		u, v := b.logOf(x.Args[0]), b.logOf(x.Args[1])
		switch {
		case u == nil || v == nil:
			return nil
		case x.Op == Mul:
			made = b.Binary(Add, u, v, x.Span)
		case x.Op == Div:
			made = b.Binary(Sub, u, v, x.Span)
		default: // log(e^u + e^v) = v + log(1 + e^(u - v)), which is convex where u is and v is affine
			if _, one := x.Args[0].Number(); one || x.Args[0].Op == Exp && x.Args[1].Op != Exp {
				u, v = v, u
			}
			above := b.Unary(Log1pExp, b.Binary(Sub, u, v, x.Span), x.Span)
			made = b.Binary(Add, above, v, x.Span)
		}
	}
	if made == nil || made.Shape != x.Shape {
		return nil
	}
	return made
}

func (b *Builder) simplifyBinary(op Op, x, y *Node, shape Shape, at diag.Span) *Node {
	xWhole, yWhole := x.Shape == shape, y.Shape == shape
	switch op {
	case Add:
		if isNumber(x, 0) && yWhole {
			return y
		}
		if isNumber(y, 0) && xWhole {
			return x
		}
		if y.Op == Neg {
			return b.rebuild(Sub, x, y.Args[0], shape, at)
		}
	case Sub:
		if isNumber(y, 0) && xWhole {
			return x
		}
		if isNumber(x, 0) && yWhole {
			return b.Unary(Neg, y, at)
		}
		if y.Op == Neg {
			return b.rebuild(Add, x, y.Args[0], shape, at)
		}
	case Mul:
		if isNumber(x, 1) && yWhole {
			return y
		}
		if isNumber(y, 1) && xWhole {
			return x
		}
		if isNumber(x, -1) && yWhole {
			return b.Unary(Neg, y, at)
		}
		if x == y && x.Op == Abs && x.Deps != 0 { // |u| |u| = u u
			return b.rebuild(Mul, x.Args[0], x.Args[0], shape, at)
		}
	case Div:
		if isNumber(y, 1) && xWhole {
			return x
		}
	case Pow:
		if isNumber(y, 1) && xWhole {
			return x
		}
		if isNumber(y, 0) {
			// u^0 = 1 also at u = 0, where the rule for the gradient of a
			// power would divide by 0.
			return b.Fill(1, shape, at)
		}
		return b.smoothPower(x, y, shape, at)
	}
	return nil
}

// rebuild is Binary for operands whose shapes were checked.
func (b *Builder) rebuild(op Op, x, y *Node, shape Shape, at diag.Span) *Node {
	return b.make(&Node{Op: op, Args: []*Node{x, y}, Shape: shape, Span: at})
}

func (b *Builder) simplifyReduce(op Op, x *Node, at diag.Span) *Node {
	if x.Shape.Rank == 0 {
		return x // the sum, product, maximum, log-sum-exp of one number
	}
	if op != Sum {
		return nil
	}
	switch x.Op {
	case Neg:
		return b.Unary(Neg, b.Reduce(Sum, x.Args[0], at), at)
	case Mul:
		u, v := x.Args[0], x.Args[1]
		if u.Shape.Rank == 1 && v.Shape.Rank == 1 {
			return b.Dot(u, v, at)
		}
		if u.Shape.Rank == 0 || v.Shape.Rank == 0 { // sum(s v) = s sum(v)
			if v.Shape.Rank == 0 {
				u, v = v, u
			}
			return b.Binary(Mul, u, b.Reduce(Sum, v, at), at)
		}
	case Pow:
		if isNumber(x.Args[1], 2) && x.Shape.Rank == 1 && x.Args[0].Shape.Rank == 1 {
			return b.Dot(x.Args[0], x.Args[0], at)
		}
	}
	return nil
}

func (b *Builder) simplifyGather(x *Node, index []int, out Shape, at diag.Span) *Node {
	if out == x.Shape && isIdentity(index) {
		return x
	}
	if x.Op == Gather { // one gather through both
		through := make([]int, len(index))
		for k, i := range index {
			through[k] = -1
			if i >= 0 {
				through[k] = x.Index[i]
			}
		}
		return b.Gather(x.Args[0], through, out, at)
	}
	return nil
}
