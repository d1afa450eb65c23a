package curvature

import (
	"bilevelc/ir"
	"bilevelc/ir/expr"
)

// ConvexInY reports that f, a function of x and y in the graph of p, is shown to be convex in y at a point x of X (len p.Upper.Dim), over the box of y that the rows imply; with x nil, at all x of X.
func ConvexInY(p *ir.Problem, f *expr.Node, x []float64, opts Options) bool {
	at := *p
	if x != nil {
		at.X.Lo, at.X.Hi = x, x
	}
	at.Lower.Objective = f
	proof, last := newProver(&at, opts).proveConvex(f)
	return proof != nil || last.convex
}
