package autodiff

import (
	"bilevelc/ir/expr"

	"gorgonia.org/gorgonia"
)

// slopes builds the derivative of a function of one argument, which the table
// of package expr states, from Gorgonia's nodes. The first error stays.
type slopes struct {
	graph *gorgonia.ExprGraph
	shape expr.Shape // of the function's argument and value
	err   error
}

var _ expr.Algebra = (*slopes)(nil)

// slope is the derivative of op at u, where the value is z.
func slope(op expr.Op, shape expr.Shape, u, z *gorgonia.Node) (*gorgonia.Node, error) {
	s := &slopes{graph: u.Graph(), shape: shape}
	d := op.Info().Slope(s, u, z)
	if s.err != nil {
		return nil, s.err
	}
	return d.(*gorgonia.Node), nil
}

func (s *slopes) keep(n *gorgonia.Node, err error) expr.Term {
	if err != nil && s.err == nil {
		s.err = err
	}
	return n
}

func (s *slopes) binary(f func(a, b *gorgonia.Node) (*gorgonia.Node, error), a, b expr.Term) expr.Term {
	if s.err != nil {
		return (*gorgonia.Node)(nil)
	}
	return s.keep(f(a.(*gorgonia.Node), b.(*gorgonia.Node)))
}

// Number repeats v over the shape.
func (s *slopes) Number(v float64) expr.Term {
	if s.err != nil {
		return (*gorgonia.Node)(nil)
	}
	c := s.graph.Constant(gorgonia.NewF64(v))
	if s.shape.Rank == 0 {
		return c
	}
	return s.keep(apply(Broadcast, s.shape, nil, []*gorgonia.Node{c}, expr.ScalarShape()))
}

func (s *slopes) Add(a, b expr.Term) expr.Term { return s.binary(gorgonia.Add, a, b) }
func (s *slopes) Sub(a, b expr.Term) expr.Term { return s.binary(gorgonia.Sub, a, b) }
func (s *slopes) Mul(a, b expr.Term) expr.Term { return s.binary(gorgonia.HadamardProd, a, b) }
func (s *slopes) Div(a, b expr.Term) expr.Term { return s.binary(gorgonia.HadamardDiv, a, b) }

// Apply is a function of one argument, Gorgonia's own where it has it right.
func (s *slopes) Apply(op expr.Op, u expr.Term) expr.Term {
	if s.err != nil {
		return (*gorgonia.Node)(nil)
	}
	return s.keep(function(op, s.shape, u.(*gorgonia.Node)))
}

// function applies a function of one argument.
func function(op expr.Op, shape expr.Shape, u *gorgonia.Node) (*gorgonia.Node, error) {
	if f, ok := unaries[op]; ok {
		return f(u)
	}
	return apply(Op(op), shape, nil, []*gorgonia.Node{u}, shape)
}
