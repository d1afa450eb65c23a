package autodiff

import (
	"gorgonia.org/gorgonia"

	"bilevelc/internal/must"
	"bilevelc/ir/expr"
)

// slopes builds the derivative of a function of one argument, which the table
// of package expr states, from Gorgonia's nodes.
type slopes struct {
	graph *gorgonia.ExprGraph
	shape expr.Shape // of the function's argument and value
}

var _ expr.Algebra = (*slopes)(nil)

// slope is the derivative of op at u, where the value is z.
func slope(op expr.Op, shape expr.Shape, u, z *gorgonia.Node) *gorgonia.Node {
	return op.Info().Slope(&slopes{u.Graph(), shape}, u, z).(*gorgonia.Node)
}

// joined applies one of Gorgonia's operations.
func joined(f func(a, b *gorgonia.Node) (*gorgonia.Node, error), a, b expr.Term) expr.Term {
	return must.Get(f(a.(*gorgonia.Node), b.(*gorgonia.Node)))
}

// Number repeats v over the shape.
func (s *slopes) Number(v float64) expr.Term {
	c := s.graph.Constant(gorgonia.NewF64(v))
	if s.shape.Rank == 0 {
		return c
	}
	return apply(Broadcast, s.shape, nil, []*gorgonia.Node{c}, expr.ScalarShape())
}

func (s *slopes) Add(a, b expr.Term) expr.Term { return joined(gorgonia.Add, a, b) }
func (s *slopes) Sub(a, b expr.Term) expr.Term { return joined(gorgonia.Sub, a, b) }
func (s *slopes) Mul(a, b expr.Term) expr.Term { return joined(gorgonia.HadamardProd, a, b) }
func (s *slopes) Div(a, b expr.Term) expr.Term { return joined(gorgonia.HadamardDiv, a, b) }

// Apply is a function of one argument, Gorgonia's own where it has it right.
func (s *slopes) Apply(op expr.Op, u expr.Term) expr.Term {
	return function(op, s.shape, u.(*gorgonia.Node))
}

// function applies a function of one argument.
func function(op expr.Op, shape expr.Shape, u *gorgonia.Node) *gorgonia.Node {
	if f, ok := unaries[op]; ok {
		return must.Get(f(u))
	}
	return apply(Op(op), shape, nil, []*gorgonia.Node{u}, shape)
}
