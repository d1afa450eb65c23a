package qp

import (
	"context"
	"math"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/convex"
)

// separable projects onto X where it has many variables: H is a diagonal, the
// rows are sparse, and most variables end on a bound, which the dense active-set
// method would add one by one.
type separable struct {
	solver *convex.Solver
	state  []int8
	active []bool
	r      []float64
	zero   []float64
	lo, hi []float64
}

// leastSeparable is the number of variables from which the sparse projection is
// the faster one.
const leastSeparable = 64

func newSeparable(c *constraints, lo, hi []float64, n int) *separable {
	m := c.e.Rows
	s := &separable{solver: convex.NewProgram(sparse.Diagonal(make([]float64, n)), c.e.Negated(), c.equal).NewSolver(), state: make([]int8, n), active: make([]bool, m),
		r: make([]float64, m), zero: make([]float64, n), lo: lo, hi: hi}
	for i, v := range c.side {
		s.r[i] = -v
	}
	if lo == nil {
		s.lo, s.hi = make([]float64, n), make([]float64, n)
		for j := range s.lo {
			s.lo[j], s.hi[j] = math.Inf(-1), math.Inf(1)
		}
	}
	return s
}

// project minimizes 1/2 z'diag(weight) z + linear'z over the set from the guess of
// the active constraints, by their numbers in Problem, and returns those of the
// solution. It reports false where that is left to the dense method: for a proof
// that the set is empty, or for numerical reasons.
func (s *separable) project(ctx context.Context, dst, weight, linear []float64, warm []int) (active []int, ok bool) {
	n, m := len(dst), len(s.r)
	if len(s.solver.Skipped()) > 0 || !s.solver.Load(weight) {
		return nil, false // equalities that depend on each other may contradict each other
	}
	for j, lo := range s.lo {
		if lo > s.hi[j] {
			return nil, false
		}
	}
	s.solver.Set(s.lo, s.hi, s.r)
	s.solver.Linear(linear, s.zero)
	clear(s.state)
	clear(s.active)
	for _, i := range warm {
		switch {
		case i < m:
			s.active[i] = true
		case i < m+n:
			s.state[i-m] = convex.Lower
		default:
			s.state[i-m-n] = convex.Upper
		}
	}
	if ctx == nil {
		ctx = context.Background()
	}
	s.solver.Guess(s.zero, make([]float64, m), s.state, s.active)
	if !s.solver.ActiveSet(30) {
		s.solver.Guess(s.zero, make([]float64, m), make([]int8, n), make([]bool, m))
		if s.solver.Minimize(ctx) != convex.Optimal {
			return nil, false
		}
	}
	s.solver.Y(dst, s.lo, s.hi)
	state, rows := s.solver.State()
	for i, in := range rows {
		if in {
			active = append(active, i)
		}
	}
	for j, at := range state {
		switch at {
		case convex.Lower, convex.Pinned:
			active = append(active, m+j)
		case convex.Upper:
			active = append(active, m+n+j)
		}
	}
	return active, true
}
