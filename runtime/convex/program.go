// Package convex solves sparse strictly convex quadratic programs
//
//	minimize 1/2 y'Hy + c'y  subject to  lo <= y <= hi,  B_i y = r_i or B_i y >= r_i,
//
// exactly: a primal-dual interior-point method (Mehrotra 1992) on the sparse
// quasi-definite KKT system finds the active set, which a primal-dual
// active-set method (Hintermueller, Ito, Kunisch 2003; Kunisch, Rendl 2003)
// confirms by solves on faces; from a good guess the latter is all there is.
// Multipliers follow the convention grad = B'lambda + z, with lambda >= 0 on
// inequalities and z >= 0 at lower, <= 0 at upper bounds.
//
// Momentum is the extrapolation of the accelerated gradient methods of other packages.
package convex

import (
	"sync"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
)

// Program is the structure of quadratic programs that differ in numbers only:
// patterns, and the symbolic factorization of their KKT systems. It is
// immutable and may be shared.
type Program struct {
	n, m    int
	hessian *sparse.CSR // the pattern of H: both triangles and the diagonal
	b       *sparse.CSR // m x n
	bt      *sparse.CSR // its transpose
	equal   []bool
	skip    []bool         // equalities that depend on others: they take no part
	kkt     *linalg.Saddle // the pattern of the KKT matrix

	combined     sync.Once
	combinations [][]float64
}

// NewProgram analyzes the structure: the pattern of H (symmetric, with the
// diagonal) and the rows, of which equal says whether they are equalities.
// Equalities that depend on others are found here (Skipped), once.
func NewProgram(hessian, b *sparse.CSR, equal []bool) *Program {
	p := &Program{n: hessian.Rows, m: b.Rows, hessian: hessian, b: b, bt: b.T(), equal: equal, kkt: linalg.NewSaddle(hessian, b), skip: make([]bool, b.Rows)}
	for _, i := range p.dependent(make([]int8, p.n), equal) {
		p.skip[i] = true
	}
	return p
}

// Skipped lists the equalities that depend on the others. Whether they agree
// with them is for the caller to see from the solution's residuals.
func (p *Program) Skipped() []int {
	return each.WhereBelow(len(p.skip), func(i int) bool { return p.skip[i] })
}

// Combinations are, for each of the rows Skipped, the coefficients (len m) by which
// the equalities that take part combine to it, to within the sine tolerance; nil where
// they do not. They follow from the rows alone and are found once, with the tolerance
// of the first call.
func (p *Program) Combinations(tolerance float64) [][]float64 {
	p.combined.Do(func() {
		skipped := p.Skipped()
		p.combinations = make([][]float64, len(skipped))
		s, identity := p.NewSolver(), make([]float64, p.hessian.NNZ())
		for _, t := range p.kkt.Diagonal {
			identity[p.kkt.Lower[t]] = 1
		}
		if !s.Load(identity) || !s.Span() {
			return
		}
		rest := make([]float64, p.n)
		for k, i := range skipped {
			coef := make([]float64, p.m)
			if s.Depends(i, -1, tolerance, coef, rest) {
				p.combinations[k] = coef
			}
		}
	})
	return p.combinations
}

// Where a variable is: free, or on a bound.
const (
	Lower int8 = iota - 1
	Free
	Upper
	Pinned // its two bounds are one
)

// dependent lists rows of the active ones that depend on the other active rows on the free columns.
func (p *Program) dependent(state []int8, active []bool) []int {
	rows := each.WhereBelow(p.m, func(i int) bool { return active[i] && !p.skip[i] })
	return linalg.Dependent(p.b, rows, func(j int) bool { return state[j] != Free })
}
