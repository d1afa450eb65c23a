package autodiff

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"gorgonia.org/gorgonia"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/ir/expr"
)

func init() {
	// Gorgonia would otherwise rewrite expressions while they are built
	// (log(1+u) to log1p and the like); the language has its own stable
	// primitives, and a rewrite would change what the user wrote.
	gorgonia.UseNonStable()
}

// engine is held by whoever uses Gorgonia, whose hashes and pools of nodes are state
// of the whole process that it does not guard.
var engine sync.Mutex

// Differentiate gives the value of the scalar root and its gradients in x
// (len dx) and y (len dy). Errors: root is not a scalar, or reads a variable
// through an operation that is not smooth; anything else is a bug, and names
// this pass.
//
// Gorgonia shares nodes by a hash of 32 bits without comparing their
// arguments, so that two different expressions may, very rarely, be taken for
// one. The graph is therefore made twice with differently named leaves, which
// changes every hash, and accepted where both agree.
func Differentiate(b *expr.Builder, root *expr.Node, dx, dy int) (g *Graph, err error) {
	defer must.Catch(&err)
	must.Be(root.Shape.Rank == 0, "autodiff: a scalar is needed, not a %s", root.Shape)
	for _, n := range variable(root) {
		must.Be(n.Op.Info().Smooth, "autodiff: %s at %v is not smooth", n.Op, n.Span)
	}
	// With n nodes one attempt disagrees with probability below n^2 2^-32; more
	// than a few in a row mean something else.
	const attempts = 4
	engine.Lock()
	defer engine.Unlock()
	last := must.Get(differentiate(b, root, dx, dy, "0"))
	for i := 1; i <= attempts; i++ {
		next := must.Get(differentiate(b, root, dx, dy, fmt.Sprint(i)))
		if equalGraphs(last, next) {
			return next, nil
		}
		last = next
	}
	return nil, errors.New("autodiff: internal error: two derivations of one gradient disagree")
}

// differentiate makes the graph once; salt goes into the names of the leaves.
func differentiate(b *expr.Builder, root *expr.Node, dx, dy int, salt string) (g *Graph, err error) {
	defer func() {
		if r := recover(); r != nil {
			g, err = nil, fmt.Errorf("autodiff: internal error: %v", r)
		}
	}()
	g = &Graph{Dx: dx, Dy: dy, builder: b}
	if root.Deps == 0 {
		g.Nodes = []Node{{Op: Data, Data: root, Shape: root.Shape}}
		return g, nil
	}
	if root.Op == expr.Var {
		g.Nodes = []Node{
			{Op: Op(expr.Var), Shape: root.Shape, Lower: root.Lower, Offset: root.Offset},
			{Op: Number, Number: 1, Shape: scalar},
		}
		*g.level(root.Lower) = []Partial{{Offset: root.Offset, Len: 1, Node: 1}}
		return g, nil
	}
	parts, constants := partsOf(root)
	places := map[bool]map[int]int{false: {}, true: {}} // of the partials of each level, by offset
	for k, part := range parts {
		value := g.differentiate(part, salt, places)
		if k > 0 {
			value = g.operation(expr.Add, g.Value, value)
		}
		g.Value = value
	}
	for _, c := range constants {
		g.Nodes = append(g.Nodes, Node{Op: Data, Data: c.node, Shape: c.node.Shape})
		op := expr.Add
		if c.minus {
			op = expr.Sub
		}
		g.Value = g.operation(op, g.Value, len(g.Nodes)-1)
	}
	for _, ps := range [][]Partial{g.DX, g.DY} {
		slices.SortFunc(ps, func(a, b Partial) int { return a.Offset - b.Offset })
	}
	return g, nil
}

// differentiate adds a sum of terms and its gradient, and returns its value.
func (g *Graph) differentiate(terms []term, salt string, places map[bool]map[int]int) (value int) {
	t := translate(terms, salt)
	grads := must.Get(gorgonia.Grad(t.root, t.vars...))
	r := reader{graph: g, leaf: t.leaf, done: map[*gorgonia.Node]int{}, of: t.graph}
	value = r.read(t.root)
	for i, v := range t.vars {
		k := r.read(grads[i])
		leaf := t.leaf[v]
		level := g.level(leaf.Lower)
		at, there := places[leaf.Lower][leaf.Offset]
		if !there {
			places[leaf.Lower][leaf.Offset] = len(*level)
			*level = append(*level, Partial{Offset: leaf.Offset, Len: leaf.Shape.Len(), Node: k})
			continue
		}
		(*level)[at].Node = g.operation(expr.Add, (*level)[at].Node, k)
	}
	return value
}

// operation adds an elementwise operation on two nodes of one shape.
func (g *Graph) operation(op expr.Op, a, b int) int {
	g.Nodes = append(g.Nodes, Node{Op: Op(op), Args: []int{a, b}, Shape: g.Nodes[a].Shape})
	return len(g.Nodes) - 1
}

// level is the gradient in y, or in x.
func (g *Graph) level(lower bool) *[]Partial {
	if lower {
		return &g.DY
	}
	return &g.DX
}

// term is one of those that a root is the sum of.
type term struct {
	node  *expr.Node
	minus bool
}

// partNodes is how many nodes Gorgonia is given at once, where a sum can be taken apart: it looks each up
// among all of its graph, and takes two of them for one with probability n^2 2^-33. What parts have in
// common, beside the variables, each part computes; compiled programs share it.
const partNodes = 1 << 10

// partsOf takes a root of more nodes apart into sums of at least so many, and terms of data alone.
func partsOf(root *expr.Node) (parts [][]term, constants []term) {
	nodes := variable(root)
	if len(nodes) <= partNodes {
		return [][]term{{{node: root}}}, nil
	}
	users := map[*expr.Node]int{}
	for _, n := range nodes {
		for _, a := range n.Args {
			users[a]++
		}
	}
	var part []term
	size, seen := 0, map[*expr.Node]bool{}
	var count func(n *expr.Node)
	count = func(n *expr.Node) {
		if n.Deps == 0 || seen[n] {
			return
		}
		seen[n] = true
		size++
		for _, a := range n.Args {
			count(a)
		}
	}
	for stack := []term{{node: root}}; len(stack) > 0; {
		t := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		n := t.node
		switch {
		case n.Deps == 0:
			constants = append(constants, t)
			continue
		case n != root && users[n] > 1:
		case n.Op == expr.Neg:
			stack = append(stack, term{n.Args[0], !t.minus})
			continue
		case n.Op == expr.Add || n.Op == expr.Sub:
			stack = append(stack, term{n.Args[1], t.minus != (n.Op == expr.Sub)}, term{n.Args[0], t.minus})
			continue
		}
		part = append(part, t)
		size++ // its addition, which a term that is there many times takes each time
		if count(n); size >= partNodes {
			parts = append(parts, part)
			part, size, seen = nil, 0, map[*expr.Node]bool{}
		}
	}
	if len(parts) > 0 { // with what is left, which may be one variable
		parts[len(parts)-1] = append(parts[len(parts)-1], part...)
		return parts, constants
	}
	return [][]term{part}, constants
}

// variable returns the nodes under roots that depend on a variable, in
// topological order.
func variable(roots ...*expr.Node) []*expr.Node {
	return each.Where(expr.Reachable(roots...), func(n *expr.Node) bool { return n.Deps != 0 })
}

// equalGraphs compares two readings of the same root. Nodes are numbered by
// the reader's traversal from the outputs, so that equal graphs have equal
// lists.
func equalGraphs(a, b *Graph) bool {
	if len(a.Nodes) != len(b.Nodes) || a.Value != b.Value || !slices.Equal(a.DX, b.DX) || !slices.Equal(a.DY, b.DY) {
		return false
	}
	for i := range a.Nodes {
		m, n := &a.Nodes[i], &b.Nodes[i]
		if m.Op != n.Op || m.Shape != n.Shape || m.Number != n.Number || m.Data != n.Data || m.Lower != n.Lower ||
			m.Offset != n.Offset || m.TransA != n.TransA || m.TransB != n.TransB || !slices.Equal(m.Args, n.Args) ||
			!slices.Equal(m.Index, n.Index) {
			return false
		}
	}
	return true
}
