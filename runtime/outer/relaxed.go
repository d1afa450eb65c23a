package outer

import (
	"context"
	"fmt"
	"math"

	"bilevelc/runtime/relaxation"
)

// At the edge of D, where the follower has no choice left, hundreds of pieces of F may
// meet, and a certificate would need as many of them as x has entries. There f itself, over
// the rows of both levels, says more with one gradient (relaxation.Normal); and where the
// leader gains from leaving the follower no choice the minimizer of f over these rows, which
// is found without the follower, is one of F. A run on a problem with such an edge looks
// there first. What that costs is one solve of both levels' rows.

// relax looks at the minimizer of f over the rows of both levels, and begins there where F
// is lower than at the start.
func (m *goldstein) relax(ctx context.Context, run *Run) error {
	s := &m.state
	p := run.h.Problem()
	if !m.Settings.Continuation || run.projector.Everywhere() || p.Dx+p.Dy < ApproachFrom {
		return nil
	}
	r := relaxation.New(p)
	if r == nil {
		return nil
	}
	at, err := run.h.Value(ctx, s.Center.X)
	if err != nil {
		return ignoring(err)
	}
	least, err := r.Minimize(ctx, s.Center.X, at.Lower.Y)
	if err != nil || least == nil {
		return err
	}
	x := make([]float64, len(least.X))
	if err := run.Project(x, least.X); err != nil {
		return ignoring(err)
	}
	now, err := run.Gradient(ctx, x)
	if err != nil {
		return ignoring(err)
	}
	if now.F < s.Center.F {
		s.LastStep, s.Center = distance(now.X, s.Center.X), *now
		m.rescale(run)
		if s.Joint, err = m.joint(ctx, run); err != nil {
			return err
		}
		if s.Joint != "" {
			s.Joint += fmt.Sprintf("; without the follower's objective the leader finds %.10g there", least.F)
		}
	}
	return nil
}

// joint reports that the center is stationary for f over the rows of both levels, within
// the target; empty where it is not.
func (m *goldstein) joint(ctx context.Context, run *Run) (string, error) {
	if run.projector.Everywhere() {
		return "", nil
	}
	n, err := m.normal(ctx, run, m.state.Center.X)
	if err != nil || n == nil || !(n.Norm <= math.Max(m.target(run), m.Settings.Epsilon*n.Terms)) {
		return "", err
	}
	return fmt.Sprintf("stationary within radius %.2g over the rows of both levels, where f falls along no answer of the follower: measure %.2g", n.Radius, n.Norm), nil
}

// normal is the certificate over the rows of both levels at x; nil where there is none.
func (m *goldstein) normal(ctx context.Context, run *Run, x []float64) (*relaxation.Normal, error) {
	r := relaxation.New(run.h.Problem())
	if r == nil {
		return nil, nil
	}
	at, err := run.h.Value(ctx, x)
	if err != nil {
		return nil, ignoring(err)
	}
	return r.Normal(ctx, x, at.Lower.Y, m.Settings.Delta*run.size(x)), nil
}
