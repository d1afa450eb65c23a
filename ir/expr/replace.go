package expr

// Replace is root with nodes replaced: where a node is a key of with, its value
// stands in its place and the place of all that is equal to it. What is made on the
// way is added to with, so that further roots share it.
func (b *Builder) Replace(root *Node, with map[*Node]*Node) *Node {
	for _, n := range Reachable(root) {
		if with[n] != nil {
			continue
		}
		args := make([]*Node, len(n.Args))
		changed := false
		for i, a := range n.Args {
			args[i] = with[a]
			changed = changed || args[i] != a
		}
		if with[n] = n; changed {
			with[n] = b.again(n, args)
		}
	}
	return with[root]
}

// again is the operation of n on other arguments.
func (b *Builder) again(n *Node, args []*Node) *Node {
	switch n.Op.Info().Class {
	case Elementwise1:
		return b.Unary(n.Op, args[0], n.Span)
	case Elementwise2:
		return b.Binary(n.Op, args[0], args[1], n.Span)
	case Reduction:
		return b.Reduce(n.Op, args[0], n.Span)
	}
	switch n.Op {
	case Dot:
		return b.Dot(args[0], args[1], n.Span)
	case MatVec:
		return b.MatVec(args[0], n.TransA, args[1], n.Span)
	case MatMul:
		return b.MatMul(args[0], n.TransA, args[1], n.TransB, n.Span)
	case Outer:
		return b.Outer(args[0], args[1], n.Span)
	case Transpose:
		return b.Transpose(args[0], n.Span)
	case Gather:
		return b.Gather(args[0], n.Index, n.Shape, n.Span)
	case ScatterAdd:
		return b.ScatterAdd(args[0], n.Index, n.Shape, n.Span)
	}
	panic("expr: " + n.Op.String() + " has no arguments to replace")
}
