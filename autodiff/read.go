package autodiff

import (
	"strings"

	"gonum.org/v1/gonum/graph"
	"gorgonia.org/gorgonia"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/ir/expr"
)

// reader turns Gorgonia's nodes into nodes of a Graph, arguments first.
type reader struct {
	graph *Graph
	leaf  map[*gorgonia.Node]*Node
	done  map[*gorgonia.Node]int
	of    *gorgonia.ExprGraph
}

// read appends the nodes under root that are not there yet, and returns the
// index of root. The walk keeps its own stack: a chain may be long.
func (r *reader) read(root *gorgonia.Node) int {
	stack := []*gorgonia.Node{root}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		if _, ok := r.done[n]; ok {
			stack = stack[:len(stack)-1]
			continue
		}
		children := graph.NodesOf(r.of.From(n.ID()))
		ready := true
		for i := len(children) - 1; i >= 0; i-- {
			c := children[i].(*gorgonia.Node)
			if _, ok := r.done[c]; !ok {
				stack, ready = append(stack, c), false
			}
		}
		if !ready {
			continue
		}
		stack = stack[:len(stack)-1]
		args := each.Of(children, func(c graph.Node) int { return r.done[c.(*gorgonia.Node)] })
		r.done[n] = len(r.graph.Nodes)
		r.graph.Nodes = append(r.graph.Nodes, r.node(n, args))
	}
	return r.done[root]
}

// node reads one node.
func (r *reader) node(n *gorgonia.Node, args []int) Node {
	if leaf, ok := r.leaf[n]; ok {
		return *leaf
	}
	made := Node{Args: args, Shape: shapeOf(n)}
	if own, ok := n.Op().(*rule); ok {
		made.Op, made.Shape, made.Index = own.op, own.out, own.index
		return made
	}
	if len(args) == 0 {
		v := floats(n.Value())
		must.Be(len(v) == 1, "constant %s", n)
		made.Op, made.Number = Number, v[0]
		return made
	}
	// Elementwise operations end in the flag that only comparisons use.
	as, ok := operations[strings.TrimSuffix(n.Op().String(), " false")]
	must.Be(ok, "Gorgonia's operation %q is not known", n.Op())
	made.Op, made.TransA, made.TransB = Op(as.op), as.transA, as.transB
	return made
}

// shapeOf is the shape of a node. The rank comes from Gorgonia's type, since
// its shapes do not tell scalars and one-element arrays apart.
func shapeOf(n *gorgonia.Node) expr.Shape {
	t, ok := n.Type().(gorgonia.TensorType)
	if !ok {
		return expr.ScalarShape()
	}
	s := n.Shape()
	if t.Dims == 1 {
		return expr.VectorShape(s.TotalSize())
	}
	return expr.MatrixShape(s[0], s[1])
}

// operation is what one of Gorgonia's operations means here.
type operation struct {
	op             expr.Op
	transA, transB bool
}

// operations reads Gorgonia's operations by the text of Op.String.
var operations = map[string]operation{
	"+": {op: expr.Add}, "-": {op: expr.Sub}, "⊙": {op: expr.Mul}, "÷": {op: expr.Div}, "^": {op: expr.Pow},
	"neg": {op: expr.Neg}, "exp": {op: expr.Exp}, "ln": {op: expr.Log}, "sqrt": {op: expr.Sqrt},
	"tanh": {op: expr.Tanh}, "sin": {op: expr.Sin}, "cos": {op: expr.Cos},
	"a ⋅ b": {op: expr.Dot}, "a ⊗ b": {op: expr.Outer},
	"A × b": {op: expr.MatVec}, "Aᵀ × b": {op: expr.MatVec, transA: true},
	"A × B": {op: expr.MatMul}, "Aᵀ × B": {op: expr.MatMul, transA: true},
	"A × Bᵀ": {op: expr.MatMul, transB: true}, "Aᵀ × Bᵀ": {op: expr.MatMul, transA: true, transB: true},
	"Aᵀ{1, 0}": {op: expr.Transpose},
}
