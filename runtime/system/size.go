package system

import (
	"slices"

	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Largest is the number of unknowns and multipliers up to which a system is solved with dense factors of them all: what package activeset is made for.
const Largest = 1200

// largestTied is the number of unknowns and rows of the relaxation up to which a linear system is solved as a whole where there is no other way to be exact: the follower may have several answers, or x
// whole entries. Its tableau is a quarter of a gigabyte.
const largestTied = 8000

// relaxed is the number of unknowns and rows of the relaxation: the follower's stationarity, and its rows but for bounds.
func relaxed(p *problem.Problem) int {
	n := Size(p) + p.Dy + len(p.X.Kind)
	for i := range p.Rows.Kind {
		if j, _ := p.Rows.Bound(i); j < 0 {
			n++
		}
	}
	return n
}

// mostRead is the number of variables up to which f is read for a search that takes a system part by part: its gradients along as many axes are kept dense, in less than a tenth of a gigabyte.
const mostRead = 3000

// mostCrowded is that bound where kinks crowd: batteries that trade on predicted prices take 12 s with 9e5 of them, and 86 s with 1.7e6, where the bundle takes 31.
const mostCrowded = 1 << 20

// byBlocks says that a system that is not linear is solved in the leader's space: the follower is strongly convex, and its blocks are small enough for dense factors each.
// One whose Hessian is the same everywhere has, in predict-then-optimize problems, so many kinks that subproblems of large ones take longer than all of the bundle.
func byBlocks(p *problem.Problem) bool {
	held := p.Dx * (p.Dy + p.Rows.Len())
	if !(p.Facts.StrongConvexity > 0) || p.Integer != nil || p.Dx > Largest || held > tolerance.MostNumbers || p.Facts.QuadraticInY && p.Facts.FixedHessian && held > mostCrowded {
		return false
	}
	owner, size := make([]int, p.Dy), make([]int, max(1, len(p.Blocks)))
	for k, block := range p.Blocks {
		size[k] = len(block)
		for _, j := range block {
			owner[j] = k
		}
	}
	if len(p.Blocks) == 0 {
		size[0] = p.Dy
	}
	for i := range p.Rows.Len() {
		if cols, _ := p.Rows.B.Row(i); len(cols) > 0 {
			size[owner[cols[0]]]++
		}
	}
	return slices.Max(size) <= Largest
}

// TooLarge says that a system is not solved as a whole; linear says that it is one of linear rows and pairs.
func TooLarge(p *problem.Problem, linear bool) bool {
	if !linear && byBlocks(p) {
		return false
	}
	if linear && (!(p.Facts.StrongConvexity > 0) || p.Integer != nil) {
		return relaxed(p) > largestTied
	}
	return Size(p) > Largest
}
