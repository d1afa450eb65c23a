package autodiff

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/ir/expr"
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

// translate builds the Gorgonia graph of a sum of terms, which depend on variables.
// Subexpressions that depend on data only become leaves. A scalar operand
// that meets an array is broadcast by an operation of its own: Gorgonia's
// implicit broadcast loses track of scalars and one-element arrays.
func translate(terms []term, salt string) *translation {
	t := &translation{
		graph: gorgonia.NewGraph(),
		leaf:  map[*gorgonia.Node]*Node{},
		salt:  salt,
		made:  map[*expr.Node]*gorgonia.Node{},
	}
	roots := each.Of(terms, func(t term) *expr.Node { return t.node })
	for _, n := range variable(roots...) {
		if n.Op == expr.Var {
			v := t.input("v", n, &Node{Op: Op(expr.Var), Shape: n.Shape, Lower: n.Lower, Offset: n.Offset})
			t.vars = append(t.vars, v)
			continue
		}
		t.made[n] = t.operation(n)
	}
	for _, term := range terms {
		made := t.made[term.node]
		switch {
		case t.root != nil && term.minus:
			t.root = must.Get(gorgonia.Sub(t.root, made))
		case t.root != nil:
			t.root = must.Get(gorgonia.Add(t.root, made))
		case term.minus:
			t.root = must.Get(gorgonia.Neg(made))
		default:
			t.root = made
		}
	}
	return t
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
func (t *translation) operation(n *expr.Node) *gorgonia.Node {
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
				args[i] = apply(Broadcast, n.Shape, nil, []*gorgonia.Node{args[i]}, shapes[i])
			}
		}
		return must.Get(binaries[n.Op](args[0], args[1]))
	}
	if build, ok := products[n.Op]; ok {
		return must.Get(build(n, args))
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

// products are the operations on whole arrays that Gorgonia has and
// differentiates; the others are of this package (adjoints).
var products = map[expr.Op]func(n *expr.Node, args []*gorgonia.Node) (*gorgonia.Node, error){
	expr.Dot: func(_ *expr.Node, args []*gorgonia.Node) (*gorgonia.Node, error) {
		return gorgonia.Mul(args[0], args[1])
	},
	expr.MatVec: func(n *expr.Node, args []*gorgonia.Node) (*gorgonia.Node, error) {
		if n.TransA { // Gorgonia writes A' v as v A
			return gorgonia.Mul(args[1], args[0])
		}
		return gorgonia.Mul(args[0], args[1])
	},
	expr.MatMul: func(n *expr.Node, args []*gorgonia.Node) (*gorgonia.Node, error) {
		for i, trans := range []bool{n.TransA, n.TransB} {
			if trans {
				args[i] = must.Get(gorgonia.Transpose(args[i], 1, 0))
			}
		}
		return gorgonia.Mul(args[0], args[1])
	},
	expr.Transpose: func(_ *expr.Node, args []*gorgonia.Node) (*gorgonia.Node, error) {
		return gorgonia.Transpose(args[0], 1, 0)
	},
}

// Every smooth operation has a derivative: a function of one argument in its row,
// one of two arguments in binaries, the rest in products or adjoints.
func init() { require() }

func require() {
	expr.Require("autodiff: a function of two arguments", binaries,
		func(p *expr.Primitive) bool { return p.Class == expr.Elementwise2 && p.Smooth })
	if adjoints[Broadcast] == nil {
		panic("autodiff: a scalar that is broadcast has no derivative")
	}
	whole := map[expr.Op]bool{}
	for op := range products {
		whole[op] = true
	}
	for op := range adjoints {
		if op < Broadcast {
			whole[expr.Op(op)] = true
		}
	}
	expr.Require("autodiff: an operation on arrays", whole, func(p *expr.Primitive) bool {
		return p.Op == expr.PosPow || p.Smooth && (p.Class == expr.Reduction || p.Class == expr.Product || p.Class == expr.Structural)
	})
}

// binaries are the elementwise operations of two arguments.
var binaries = map[expr.Op]func(a, b *gorgonia.Node) (*gorgonia.Node, error){
	expr.Add: gorgonia.Add,
	expr.Sub: gorgonia.Sub,
	expr.Mul: gorgonia.HadamardProd,
	expr.Div: gorgonia.HadamardDiv,
	expr.Pow: gorgonia.Pow,
	expr.PosPow: func(a, b *gorgonia.Node) (*gorgonia.Node, error) {
		s := shapeOf(a)
		return apply(Op(expr.PosPow), s, nil, []*gorgonia.Node{a, b}, s, s), nil
	},
}
