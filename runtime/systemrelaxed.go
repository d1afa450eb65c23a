package runtime

import (
	"context"

	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/relaxation"
)

// from is the local solution that start k, x, leads to: of the first, the point where the leader leaves the follower no choice, if it is stationary.
func (run *systemRun) from(ctx context.Context, k int, x []float64) (*kkt.Point, error) {
	if k == 0 {
		p, err := run.relaxed(ctx, x)
		if run.noChoice = p != nil; run.noChoice || err != nil {
			return p, err
		}
	}
	return run.local.From(ctx, x)
}

// relaxed is the point of the system at the x of the high-point relaxation's minimizer, where it is stationary with the relaxation's multipliers: the follower's answer there is then the
// relaxation's, and no point of the rows of both levels near it has a lower f. x is where the search begins; nil where the answer is another, or f is quadratic (package tree has bounds for it).
func (run *systemRun) relaxed(ctx context.Context, x []float64) (*kkt.Point, error) {
	if run.smooth != nil || run.s.Objective == nil || run.s.Objective.Quadratic {
		return nil, nil
	}
	r := relaxation.New(run.s.P)
	if r == nil {
		return nil, nil
	}
	whole, err := run.whole()
	if err != nil {
		return nil, err
	}
	z, status := whole.Follower().Solve(ctx, x)
	if status != activeset.Optimal {
		return nil, nil
	}
	least, err := r.Minimize(ctx, x, run.s.Y(z))
	if err != nil || least == nil {
		return nil, err
	}
	if z, status = whole.Follower().Solve(ctx, least.X); status != activeset.Optimal {
		return nil, nil
	}
	s := run.s
	m := &kkt.Multipliers{Adjoint: make([]float64, s.Ny), Slack: least.Lower, Lambda: make([]float64, s.M), Bound: least.Bound}
	if len(least.Upper) > 0 {
		m.UpperRows = least.Upper
	}
	s.Settle(m, z)
	if residual, size := s.Residual(m, z); !(residual <= kkt.Tolerance*size) {
		return nil, nil
	}
	p := &kkt.Point{Z: z, F: s.Value(z), Multipliers: m, SecondOrder: kkt.NotChecked}
	p.Branch, p.Biactive = s.BranchAt(z)
	return p, nil
}
