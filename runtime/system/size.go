package system

import (
	"fmt"

	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/reduced"
	"bilevelc/runtime/tolerance"
)

// Largest is the number of unknowns and multipliers up to which a system is solved with dense factors of them all: what package activeset is made for.
const Largest = 1200

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

// byBlocks says that a system that is not linear is solved in the leader's space: the follower is strongly convex, and its blocks are small enough for dense factors each, or its factors are sparse.
func byBlocks(p *problem.Problem) bool {
	return p.Facts.StrongConvexity > 0 && p.Integer == nil && p.Dx <= Largest && p.Dx*(p.Dy+p.Rows.Len()) <= tolerance.MostNumbers && (p.LargestFollower() <= Largest || reduced.Sparse(p))
}

// inLeaderSpace says that the linearized systems of one that is not linear are.
func inLeaderSpace(p *problem.Problem) bool {
	return Size(p) > tolerance.DenseOrder && byBlocks(p)
}

// TooLarge says that a system is not solved as a whole; linear says that it is one of linear rows and pairs.
func TooLarge(p *problem.Problem, linear bool) bool {
	if !linear && byBlocks(p) {
		return false
	}
	if linear && (!(p.Facts.StrongConvexity > 0) || p.Integer != nil || len(p.Duals) > 0) {
		n := relaxed(p) // of half of the square is the tableau: there is no other way to be exact where the follower may have several answers, or multipliers that f reads, or x whole entries
		return n*n/2 > tolerance.MostNumbers
	}
	return Size(p) > Largest
}

// EachPart says that F is found at whole numbers of x by one part of the follower after the other, however large the whole is: x is nothing else, and f may be read.
func EachPart(p *problem.Problem) bool {
	n := p.Dx + p.Dy
	return allWhole(p) && kkt.Applies(p) == "" && len(p.Duals) == 0 && p.Facts.DegreeF <= 2 && p.X.Extended.Extra() == 0 && n*n <= tolerance.MostNumbers && p.LargestFollower() <= Largest
}

// LargeText says how large a system is that is not solved as a whole.
func LargeText(p *problem.Problem) string {
	return fmt.Sprintf("it is too large: its relaxation has %d unknowns and rows", relaxed(p))
}
