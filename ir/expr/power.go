package expr

import (
	"math"
	"slices"

	"bilevelc/lang/diag"
)

// Powers of functions with a kink that have none themselves. abs(u)^p, max(u, 0)^p and
// powers of norms are continuously differentiable where p > 1, and are written such that
// every part of them is: their proofs and gradients are those of one smooth function.

// smoothPower is x .^ y in such a form, or nil.
//
//	abs(u)^p    = u^p                                 p even
//	            = max(u, 0)^p + max(-u, 0)^p          p > 1
//	max(u, 0)^p = PosPow(u, p)                        p > 1, but for p = 2
//	min(u, 0)^p = (-1)^p PosPow(-u, p)                p > 2 an integer
//	sqrt(s)^p   = s^(p/2)                             p >= 2, s a sum of squares
//
// The square of a positive part stays: where it is in the lower level its kink is restated by
// rows, which makes the places known where y* has kinks. Powers above 2 have second derivatives
// without jumps, and y* no kinks; below 2 they have a pole where y* stands still.
func (b *Builder) smoothPower(x, y *Node, shape Shape, at diag.Span) *Node {
	if x.Deps == 0 || y.Deps != 0 || shape.Len() > foldEntries {
		return nil
	}
	switch x.Op {
	case Abs, Max, Min, Sqrt:
	default:
		return nil
	}
	value, err := b.Value(y)
	if err != nil {
		return nil // data was not supplied
	}
	all := func(good func(p float64) bool) bool {
		return !slices.ContainsFunc(value.Values(), func(p float64) bool { return !good(p) })
	}
	even := func(p float64) bool { return p > 0 && math.Mod(p, 2) == 0 }
	above1 := func(p float64) bool { return p > 1 && !math.IsInf(p, 1) }
	positive := func(u *Node) *Node { return b.rebuild(PosPow, u, y, shape, at) }
	negative := func(u *Node) *Node { return b.Unary(Neg, u, at) }
	switch x.Op {
	case Abs:
		u := x.Args[0]
		switch {
		case all(even):
			return b.rebuild(Pow, u, y, shape, at)
		case all(above1):
			return b.rebuild(Add, positive(u), positive(negative(u)), shape, at)
		}
	case Max:
		if u := besideZero(x); u != nil && all(func(p float64) bool { return above1(p) && p != 2 }) {
			return positive(u)
		}
	case Min:
		u := besideZero(x)
		if u == nil || !all(func(p float64) bool { return above1(p) && p > 2 && p == math.Trunc(p) }) {
			return nil
		}
		switch {
		case all(even):
			return positive(negative(u))
		case all(func(p float64) bool { return !even(p) }):
			return negative(positive(negative(u)))
		}
	case Sqrt:
		if sumOfSquares(x.Args[0]) && all(func(p float64) bool { return p >= 2 }) {
			return b.Binary(Pow, x.Args[0], b.Binary(Mul, b.Number(0.5), y, at), at)
		}
	}
	return nil
}

// besideZero is the argument of max or min whose other one is 0, and that has the shape of the
// whole, or nil.
func besideZero(n *Node) *Node {
	for i, zero := range n.Args {
		if u := n.Args[1-i]; u.Shape == n.Shape && u.Deps != 0 && isZero(zero) {
			return u
		}
	}
	return nil
}

// isZero reports a constant that is 0 in all its entries.
func isZero(n *Node) bool {
	if n.Op != Const || n.Value == nil || n.Value.Sparse != nil || len(n.Value.Dense) > foldEntries {
		return false
	}
	return !slices.ContainsFunc(n.Value.Dense, func(v float64) bool { return v != 0 })
}

// sumOfSquares reports an expression that is at least 0 and smooth wherever it is defined.
func sumOfSquares(n *Node) bool {
	switch n.Op {
	case Const:
		v, ok := n.Number()
		return ok && v >= 0
	case Dot:
		return n.Args[0] == n.Args[1] && !kinked(n.Args[0])
	case Mul:
		return n.Args[0] == n.Args[1] && !kinked(n.Args[0]) || sumOfSquares(n.Args[0]) && sumOfSquares(n.Args[1])
	case Pow:
		p, ok := n.Args[1].Number()
		return ok && p > 0 && math.Mod(p, 2) == 0 && !kinked(n.Args[0])
	case Sum:
		return sumOfSquares(n.Args[0])
	case Add:
		return sumOfSquares(n.Args[0]) && sumOfSquares(n.Args[1])
	}
	return false
}

// kinked reports an operation that is not smooth itself.
func kinked(n *Node) bool { return n.Deps != 0 && !n.Op.Info().Smooth }
