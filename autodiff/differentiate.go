package autodiff

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"

	"bilevelc/ir/expr"

	"gorgonia.org/gorgonia"
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
func Differentiate(b *expr.Builder, root *expr.Node, dx, dy int) (*Graph, error) {
	if root.Shape.Rank != 0 {
		return nil, fmt.Errorf("autodiff: a scalar is needed, not a %s", root.Shape)
	}
	for _, n := range variable(root) {
		if !n.Op.Info().Smooth {
			return nil, fmt.Errorf("autodiff: %s at %v is not smooth", n.Op, n.Span)
		}
	}
	// With n nodes one attempt disagrees with probability below n^2 2^-32; more
	// than a few in a row mean something else.
	const attempts = 4
	engine.Lock()
	defer engine.Unlock()
	last, err := differentiate(b, root, dx, dy, "0")
	if err != nil {
		return nil, err
	}
	for i := 1; i <= attempts; i++ {
		next, err := differentiate(b, root, dx, dy, fmt.Sprint(i))
		if err != nil {
			return nil, err
		}
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
			{Op: Number, Number: 1},
		}
		g.Nodes[1].Shape = expr.ScalarShape()
		g.add(root.Lower, Partial{Offset: root.Offset, Len: 1, Node: 1})
		return g, nil
	}
	t, err := translate(root, salt)
	if err != nil {
		return nil, err
	}
	grads, err := gorgonia.Grad(t.root, t.vars...)
	if err != nil {
		return nil, fmt.Errorf("autodiff: internal error: %w", err)
	}
	r := reader{graph: g, leaf: t.leaf, done: map[*gorgonia.Node]int{}, of: t.graph}
	if g.Value, err = r.read(t.root); err != nil {
		return nil, err
	}
	for i, v := range t.vars {
		leaf := t.leaf[v]
		k, err := r.read(grads[i])
		if err != nil {
			return nil, err
		}
		g.add(leaf.Lower, Partial{Offset: leaf.Offset, Len: leaf.Shape.Len(), Node: k})
	}
	for _, ps := range [][]Partial{g.DX, g.DY} {
		sort.Slice(ps, func(i, j int) bool { return ps[i].Offset < ps[j].Offset })
	}
	return g, nil
}

func (g *Graph) add(lower bool, p Partial) {
	if lower {
		g.DY = append(g.DY, p)
	} else {
		g.DX = append(g.DX, p)
	}
}

// variable returns the nodes under root that depend on a variable, in
// topological order.
func variable(root *expr.Node) []*expr.Node {
	var out []*expr.Node
	for _, n := range expr.Reachable(root) {
		if n.Deps != 0 {
			out = append(out, n)
		}
	}
	return out
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
