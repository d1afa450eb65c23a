package autodiff

import (
	"fmt"

	"bilevelc/ir/expr"

	"gorgonia.org/gorgonia"
)

// translation is an expression as a Gorgonia graph.
type translation struct {
	graph *gorgonia.ExprGraph
	root  *gorgonia.Node
	vars  gorgonia.Nodes           // the variables that occur
	leaf  map[*gorgonia.Node]*Node // what a leaf stands for

	salt string
	made map[*expr.Node]*gorgonia.Node
}

// translate builds the Gorgonia graph of root, which depends on a variable.
// Subexpressions that depend on data only become leaves. A scalar operand
// that meets an array is broadcast by an operation of its own: Gorgonia's
// implicit broadcast loses track of scalars and one-element arrays.
func translate(root *expr.Node, salt string) (*translation, error) {
	t := &translation{
		graph: gorgonia.NewGraph(),
		leaf:  map[*gorgonia.Node]*Node{},
		salt:  salt,
		made:  map[*expr.Node]*gorgonia.Node{},
	}
	for _, n := range variable(root) {
		if n.Op == expr.Var {
			v := t.input("v", n, &Node{Op: Op(expr.Var), Shape: n.Shape, Lower: n.Lower, Offset: n.Offset})
			t.vars = append(t.vars, v)
			continue
		}
		made, err := t.operation(n)
		if err != nil {
			return nil, fmt.Errorf("autodiff: internal error: %s: %w", n.Op, err)
		}
		t.made[n] = made
	}
	t.root = t.made[root]
	return t, nil
}

// input makes a leaf of Gorgonia's graph.
func (t *translation) input(kind string, n *expr.Node, leaf *Node) *gorgonia.Node {
	name := fmt.Sprintf("%s%s.%d", t.salt, kind, n.ID)
	made := gorgonia.NewTensor(t.graph, gorgonia.Float64, n.Shape.Rank,
		gorgonia.WithShape(gorgoniaShape(n.Shape)...), gorgonia.WithName(name))
	t.made[n] = made
	t.leaf[made] = leaf
	return made
}

// arg is the translation of an argument: made before, or a leaf of data.
func (t *translation) arg(n *expr.Node) *gorgonia.Node {
	if made, ok := t.made[n]; ok {
		return made
	}
	return t.input("d", n, &Node{Op: Data, Data: n, Shape: n.Shape})
}

// operation translates one node whose arguments are translated.
func (t *translation) operation(n *expr.Node) (*gorgonia.Node, error) {
	args := make([]*gorgonia.Node, len(n.Args))
	shapes := make([]expr.Shape, len(n.Args))
	for i, a := range n.Args {
		args[i], shapes[i] = t.arg(a), a.Shape
	}
	switch n.Op.Info().Class {
	case expr.Elementwise1:
		return function(n.Op, n.Shape, args[0])
	case expr.Elementwise2:
		for i := range args {
			if shapes[i].Rank == 0 && n.Shape.Rank != 0 {
				wide, err := apply(Broadcast, n.Shape, nil, []*gorgonia.Node{args[i]}, shapes[i])
				if err != nil {
					return nil, err
				}
				args[i] = wide
			}
		}
		return binaries[n.Op](args[0], args[1])
	}
	switch n.Op {
	case expr.Dot:
		return gorgonia.Mul(args[0], args[1])
	case expr.MatVec:
		if n.TransA { // Gorgonia writes A' v as v A
			return gorgonia.Mul(args[1], args[0])
		}
		return gorgonia.Mul(args[0], args[1])
	case expr.MatMul:
		for i, trans := range []bool{n.TransA, n.TransB} {
			if trans {
				turned, err := gorgonia.Transpose(args[i], 1, 0)
				if err != nil {
					return nil, err
				}
				args[i] = turned
			}
		}
		return gorgonia.Mul(args[0], args[1])
	case expr.Transpose:
		return gorgonia.Transpose(args[0], 1, 0)
	}
	return apply(Op(n.Op), n.Shape, n.Index, args, shapes...)
}

// unaries are the elementwise operations of one argument whose value and rule
// in Gorgonia are right; the others are of this package (rules.go).
var unaries = map[expr.Op]func(*gorgonia.Node) (*gorgonia.Node, error){
	expr.Neg:  gorgonia.Neg,
	expr.Exp:  gorgonia.Exp,
	expr.Log:  gorgonia.Log,
	expr.Sqrt: gorgonia.Sqrt,
	expr.Tanh: gorgonia.Tanh,
	expr.Sin:  gorgonia.Sin,
	expr.Cos:  gorgonia.Cos,
}

// Every smooth operation has a translation: a function of one argument by the
// table, one of two by this one, the rest by the cases above and in rules.go.
func init() {
	for op := range expr.Primitives {
		p := &expr.Primitives[op]
		if p.Class == expr.Elementwise2 && p.Smooth && binaries[p.Op] == nil {
			panic("autodiff: no translation for " + p.Symbol)
		}
	}
}

// binaries are the elementwise operations of two arguments.
var binaries = map[expr.Op]func(a, b *gorgonia.Node) (*gorgonia.Node, error){
	expr.Add: gorgonia.Add,
	expr.Sub: gorgonia.Sub,
	expr.Mul: gorgonia.HadamardProd,
	expr.Div: gorgonia.HadamardDiv,
	expr.Pow: gorgonia.Pow,
}
