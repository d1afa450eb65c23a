package curvature

import (
	"math"

	"bilevelc/ir/expr"
)

// Gradient encloses the gradient in y of a scalar expression at one point, entry by entry
// (len y): interval arithmetic, forward to the values of all subexpressions and backward to
// their derivatives, with every operation rounded outwards (Moore 1966; Rump 2010). Data that
// an expression computes from data alone count as they were computed. The whole line where
// nothing is known, as outside of a domain.
func Gradient(graph *expr.Builder, root *expr.Node, x, y []float64) []Interval {
	s := newStudy(graph, root, expr.DependsY, at(x, y), &budget{left: math.Inf(1)})
	s.coarse = true // nothing is assembled from what curves
	return s.differentiate(true).gradient
}

// Apart bounds the distance of v from anything in a; +Inf where v is no number.
func (a Interval) Apart(v float64) float64 {
	if d := max(addUp(a.Hi, -v), addUp(v, -a.Lo)); d >= 0 {
		return d
	}
	return math.Inf(1)
}
