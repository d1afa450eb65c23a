package autodiff

import (
	"fmt"
	"strings"

	"bilevelc/ir/expr"
)

// Op is the operation of a node: one of package expr's, or one that only
// gradients need.
type Op uint8

// Operations beyond those of package expr. A node whose Op is at least
// Broadcast is one of these; otherwise expr.Op(op) gives its meaning.
const (
	// Broadcast repeats a scalar over the node's shape.
	Broadcast Op = 200 + iota
	// ProdExcept is out[i] = product of arg[j] over j != i, the gradient of Prod.
	ProdExcept
	// Number is a literal: Node.Number.
	Number
	// Data is a maximal subexpression that depends on data only: Node.Data.
	Data
)

func (op Op) String() string {
	if op >= Broadcast {
		return [...]string{"broadcast", "prodexcept", "number", "data"}[op-Broadcast]
	}
	return expr.Op(op).String()
}

// Node is one operation of the gradient graph. Args index Graph.Nodes and are
// smaller than the node's own index.
type Node struct {
	Op    Op
	Args  []int
	Shape expr.Shape

	Number         float64    // Op Number
	Data           *expr.Node // Op Data: its Deps is 0; its value comes from the builder
	Lower          bool       // Op Var: a variable of the lower level
	Offset         int        // Op Var: first entry within x or y
	Index          []int      // Gather, ScatterAdd, as in package expr
	TransA, TransB bool       // MatVec, MatMul
}

// Partial is the gradient in one variable: entries Offset to Offset+Len of the
// gradient in x (or y) are the entries, row-major, of node Node.
type Partial struct {
	Offset, Len int
	Node        int
}

// Graph is a scalar expression with its gradients.
type Graph struct {
	Nodes  []Node
	Value  int       // index of the value's node, a scalar
	DX, DY []Partial // by ascending Offset; variables that do not occur are absent
	Dx, Dy int       // lengths of x and y

	builder *expr.Builder
}

// Builder is the builder that owns the Data nodes' expressions and computes
// their values.
func (g *Graph) Builder() *expr.Builder { return g.builder }

// String dumps the graph, one node a line.
func (g *Graph) String() string {
	var b strings.Builder
	for i := range g.Nodes {
		fmt.Fprintf(&b, "%%%d = %s\n", i, g.Nodes[i].String())
	}
	fmt.Fprintf(&b, "value %%%d\n", g.Value)
	for level, partials := range [][]Partial{g.DX, g.DY} {
		for _, p := range partials {
			fmt.Fprintf(&b, "d/d%c[%d:%d] %%%d\n", "xy"[level], p.Offset, p.Offset+p.Len, p.Node)
		}
	}
	return b.String()
}

// String gives the node as it stands in a dump.
func (n *Node) String() string {
	var b strings.Builder
	b.WriteString(n.Op.String())
	switch {
	case n.Op == Number:
		fmt.Fprintf(&b, " %g", n.Number)
	case n.Op == Data && n.Data.Name != "":
		fmt.Fprintf(&b, " %s", n.Data.Name)
	case n.Op == Data:
		fmt.Fprintf(&b, " #%d", n.Data.ID)
	case n.Op == Op(expr.Var):
		level := "x"
		if n.Lower {
			level = "y"
		}
		fmt.Fprintf(&b, " %s[%d:%d]", level, n.Offset, n.Offset+n.Shape.Len())
	}
	for k, a := range n.Args {
		fmt.Fprintf(&b, " %%%d", a)
		if k == 0 && n.TransA || k == 1 && n.TransB {
			b.WriteString("'")
		}
	}
	fmt.Fprintf(&b, " : %s", n.Shape)
	return b.String()
}
