package activeset

import (
	"context"

	"bilevelc/internal/sparse"
)

// Solver solves one program with other bounds or another objective, and keeps
// factors between solves. It is not safe for concurrent use.
type Solver struct {
	program Program
}

// New prepares a program, which must not change afterwards. An error means
// that its shapes do not fit or that a number is not finite.
func New(p *Program) (*Solver, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return &Solver{program: *p}, nil
}

// SetObjective replaces the objective by 1/2 z'qz + c'z, q nil for a linear
// one. The next solve may start from a basis of the old objective.
func (s *Solver) SetObjective(q *sparse.CSR, c []float64) {
	s.program.Q, s.program.C = q, c
}

// Solve solves the program with the bounds b (nil: its own), from the working
// set warm (nil, or of another shape: from none).
func (s *Solver) Solve(ctx context.Context, b *Bounds, warm *Basis, opts Options) *Solution {
	return &Solution{Status: Failed}
}
