package outer

import (
	"bilevelc/internal/ablation"
	"context"
	"errors"
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
	if ablation.Off("relax") {
		return nil
	}
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
	lowest, err := m.close(ctx, run, r, least)
	if err != nil || lowest == nil || !(lowest.F < s.Center.F) {
		return err
	}
	now, err := run.Gradient(ctx, lowest.X)
	if err != nil {
		return ignoring(err)
	}
	s.LastStep, s.Center = distance(now.X, s.Center.X), *now
	m.rescale(run)
	if s.Joint, err = m.joint(ctx, run); err == nil && s.Joint != "" {
		s.Joint += fmt.Sprintf("; without the follower's objective f is no less than %.10g near there", least.F)
	}
	return err
}

// The price of the follower's loss: at first what makes it worth a share of what F is above
// the relaxation; twice that where a round has not brought the two together by half, and
// half of it while they are one, until that was too little once: rounds take the shorter
// steps the higher it is.
const (
	firstPrice  = 0.1
	closeRounds = 60 // since F was last lower
	// closed is the part of what the first round was above the relaxation at which an x
	// counts as one whose answer is that of the relaxation, and at which rounds end.
	closed = 1e-9
)

// close leads from a minimizer of the relaxation to an x where its y is the follower's
// answer, by a price on the follower's loss (relaxation.Penalize), and on from there while F
// falls. It returns the lowest point of F on the way; nil where there is none.
func (m *goldstein) close(ctx context.Context, run *Run, r *relaxation.Relaxation, at *relaxation.Point) (*Sample, error) {
	p := run.h.Problem()
	var lowest *Sample
	price, enough, first, before, last := 0.0, 0.0, 0.0, math.Inf(1), math.Inf(1)
	stood := math.Inf(1)           // F is to be below it for the multipliers at x to be new
	var others []relaxation.Spared // of them, not yet tried; the first one is at work
	var tried map[int]bool         // rows that they go without
	for round := 0; round < closeRounds; round++ {
		x := clone(at.X)
		if err := run.Project(x, x); err != nil {
			return lowest, ignoring(err)
		}
		now, err := run.Value(ctx, x)
		if err != nil {
			return lowest, ignoring(err)
		}
		if lowest == nil || now.F < lowest.F {
			if lowest != nil && lowest.F-now.F > math.Max(closed*first, 10*run.noise(now)) {
				round = 0
			}
			lowest = now
		}
		answer, err := run.h.Value(ctx, x)
		if err != nil {
			return lowest, ignoring(err)
		}
		loss, above := p.G.Value(at.X, at.Y)-answer.Lower.Value, math.Abs(now.F-p.F.Value(at.X, at.Y))
		if first == 0 {
			first = above
		}
		lambda := answer.Lower.Lambda
		one := above <= math.Max(closed*first, 10*run.noise(now))
		switch {
		case one && price == 0:
			return lowest, nil
		case one && math.Abs(now.F-last) <= math.Max(closed*first, 10*run.noise(now)):
			// The tangent is one of as many as the follower has multipliers there, and F may
			// fall along another (Pang, Razaviyayn and Alvarado 2017).
			if now.F < stood {
				stood, others, tried = now.F-math.Max(closed*first, 10*run.noise(now)), nil, map[int]bool{}
			} else if len(others) > 0 {
				lambda, others = others[0].Lambda, others[1:]
			}
			n := r.Normal(ctx, x, answer.Lower.Y, lambda, run.radius(m.Settings.Delta, x))
			if n == nil || n.Norm <= m.Settings.Epsilon*n.Terms {
				return lowest, nil
			}
			for _, s := range n.Spared {
				if !tried[s.Row] {
					tried[s.Row], others = true, append(others, s)
				}
			}
			if len(others) == 0 {
				return lowest, nil
			}
			lambda = others[0].Lambda
		case price == 0:
			if !(loss > 0) {
				return lowest, nil
			}
			price = firstPrice * above / loss
		case one && price/2 > enough:
			price /= 2
		case !one && above > before/2:
			enough = price
			price *= 2
		}
		before, last = above, now.F
		r.Penalize(price, x, answer.Lower.Y, lambda)
		if at, err = r.Minimize(ctx, at.X, at.Y); err != nil || at == nil {
			return lowest, err
		}
	}
	return lowest, nil
}

// joint reports that the center is stationary for f over the rows of both levels, within
// the target; empty where it is not.
func (m *goldstein) joint(ctx context.Context, run *Run) (string, error) {
	if ablation.Off("joint") {
		return "", nil
	}
	if run.projector.Everywhere() {
		return "", nil
	}
	n, err := m.normal(ctx, run, m.state.Center.X)
	if err != nil || n == nil || !(n.Norm <= math.Max(m.target(run), m.Settings.Epsilon*n.Terms)) {
		return "", err
	}
	var end stuck
	if err := run.descending(ctx, m.state.Center.X, m.state.Center.F, n.Norm); errors.As(err, &end) {
		return "", nil
	} else if err != nil {
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
	return r.Normal(ctx, x, at.Lower.Y, at.Lower.Lambda, run.radius(m.Settings.Delta, x)), nil
}
