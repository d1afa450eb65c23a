package runtime

import (
	"context"
	"maps"

	"bilevelc/runtime/method"
)

// following is the method that follows a known solution, and nearStep the length of its first step, relative to the size of x: numbers that
// have changed in their third digit move a solution about so far.
const (
	following = "bundle"
	nearStep  = 1e-3
)

// follow follows the solution of opts.Near: from there, to the nearest point with a certificate. It gives nil, and what was spent, where that
// fits neither the problem nor the options, or leads to no solution: the run is then as without it.
func (p *Problem) follow(ctx context.Context, opts Options) (*Result, Calls, error) {
	opts, fits := p.near(opts)
	if !fits {
		return nil, Calls{}, nil
	}
	r, err := p.solve(ctx, opts)
	switch {
	case err != nil:
		return nil, Calls{}, err
	case r.Status == Solved:
		r.Notes = append(r.Notes, followed)
		return r, r.Calls, nil
	case ctx.Err() != nil && r.HasPoint():
		return r, r.Calls, nil
	}
	return nil, r.Calls, nil
}

// near makes the run one that begins at the solution of opts.Near and looks nowhere else. It gives false where the run is one that this does
// not fit: a follower with ties, whose stages lead elsewhere, several starts, a method of the user's, a resumed run, or a result without a
// point of this problem's shape.
func (p *Problem) near(opts Options) (Options, bool) {
	r := opts.Near
	if r == nil || !r.HasPoint() || p.ties != nil || opts.Resume != nil || opts.Starts > 1 || opts.Method != "" && opts.Method != following {
		return opts, false
	}
	for _, s := range p.IR.Settings {
		if opts.Method == "" && s.Name == "method" && s.Word != following || opts.Starts == 0 && s.Name == "starts" && s.Value > 1 {
			return opts, false
		}
	}
	if _, err := p.upperPoint(r.Upper.Variables); err != nil {
		return opts, false
	}
	if opts.Start == nil {
		opts.Start = r.Upper.Variables
	}
	opts.Method, opts.automatic = following, false
	settings := method.Values{"continuation": false, "initial_step": nearStep}
	maps.Copy(settings, opts.Settings)
	opts.Settings = settings
	return opts, true
}

// followed is what a result of such a run says of itself.
const followed = "followed from an earlier solution to the nearest point with a certificate: not looked for elsewhere"
