package ir

import "bilevelc/ir/expr"

// Regularized is the problem with the lower objective g + a f + b/2 |y|^2, f the
// upper objective: for a convex g that is not strongly convex, the follower that
// breaks ties between its best answers in the leader's favour (a > 0), and after
// that by the least norm. The graph is shared. Facts and Blocks are those of another
// objective, and left out; the error says that f reads multipliers, which follow
// from the lower level.
func (p *Problem) Regularized(a, b float64) (*Problem, error) {
	q := *p
	q.Facts, q.Blocks = Facts{}, nil
	if q.Plain == nil {
		q.Plain = p.Lower.Objective
	}
	g, at := p.Graph, p.Lower.Span
	sum := q.Plain
	add := func(weight float64, n *expr.Node) error {
		scaled, err := g.Binary(expr.Mul, g.Number(weight), n, at)
		if err == nil {
			sum, err = g.Binary(expr.Add, sum, scaled, at)
		}
		return err
	}
	if a != 0 {
		if err := add(a, p.Upper.Objective); err != nil {
			return nil, err
		}
	}
	if p.Restated != nil {
		restated := *p.Restated
		restated.Alpha, restated.Modulus = 0, 0
		q.Restated = &restated
	}
	// The graph may hold further variables, those of followers that are solved apart.
	for _, v := range p.Lower.Vars {
		if v.Hidden || v.Shape.Len() == 0 {
			continue
		}
		n := g.Var(v.Name, true, v.Offset, v.Shape, v.Span)
		square, err := g.Binary(expr.Mul, n, n, at)
		if err == nil && n.Shape.Rank > 0 {
			square, err = g.Reduce(expr.Sum, square, at)
		}
		if err == nil {
			err = add(b/2, square)
		}
		if err != nil {
			return nil, err
		}
	}
	q.Lower.Objective = sum
	return &q, nil
}
