package runtime

import (
	"context"

	"bilevelc/internal/must"
)

// follow follows the solution of opts.Near off the KKT system: from where that is, in one descent. It gives nil, and what was spent, where
// that fits neither the problem nor the options, or leads to no solution: the run is then as without it.
func (p *Problem) follow(ctx context.Context, opts Options) (_ *Result, _ Calls, err error) {
	defer must.Catch(&err)
	opts, fits := p.near(opts)
	if !fits {
		return nil, Calls{}, nil
	}
	r := must.Get(p.solve(ctx, opts))
	if r.Status == Solved {
		r.Notes = append(r.Notes, followed)
		return r, r.Calls, nil
	}
	if ctx.Err() != nil && r.HasPoint() {
		return r, r.Calls, nil
	}
	return nil, r.Calls, nil
}

// near makes the run one that starts at the solution of opts.Near. It gives false where the run is one that this does not
// fit: a follower with ties, whose stages lead elsewhere, several starts, a start or a method of
// the user's, a resumed run, or a result without a point of this problem's shape.
func (p *Problem) near(opts Options) (Options, bool) {
	r := opts.Near
	if r == nil || !r.HasPoint() || p.ties != nil || opts.Resume != nil || opts.Starts > 1 || opts.Method != "" {
		return opts, false
	}
	for _, s := range p.IR.Settings {
		if s.Name == "method" || opts.Starts == 0 && s.Name == "starts" && s.Value > 1 {
			return opts, false
		}
	}
	if _, err := p.upperPoint(r.Upper.Variables); err != nil {
		return opts, false
	}
	if opts.Start == nil {
		opts.Start = r.Upper.Variables
	}
	opts.Starts, opts.automatic = 1, false
	return opts, true
}

// followed is what a result of such a run says of itself.
const followed = "followed from an earlier solution to the nearest point with a certificate: not looked for elsewhere"
