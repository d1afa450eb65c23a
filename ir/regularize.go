package ir

import "bilevelc/ir/expr"

// Regularized is the problem with the lower objective g + a f + b/2 |y|^2, f the
// upper objective: for a convex g that is not strongly convex, the follower that
// breaks ties between its best answers in the leader's favour (a > 0), and after
// that by the least norm. The graph is shared. Facts and Blocks are those of another
// objective, and left out.
func (p *Problem) Regularized(a, b float64) *Problem {
	q := *p
	q.Facts, q.Blocks = Facts{}, nil
	if q.Plain == nil {
		q.Plain = p.Lower.Objective
	}
	g, at := p.Graph, p.Lower.Span
	sum := q.Plain
	add := func(weight float64, n *expr.Node) {
		sum = g.Binary(expr.Add, sum, g.Binary(expr.Mul, g.Number(weight), n, at), at)
	}
	if a != 0 {
		add(a, p.Upper.Objective)
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
		add(b/2, g.Reduce(expr.Sum, g.Binary(expr.Mul, n, n, at), at))
	}
	q.Lower.Objective = sum
	return &q
}
