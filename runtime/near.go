package runtime

import (
	"context"
	"maps"

	"bilevelc/runtime/method"
)

// following is the method that follows a known solution.
const following = "bundle"

// nearIterations are how many iterations a solution may be followed for with a curvature
// learned there: those that learn it anew over n entries of x, and as many as a descent
// from nearby takes. Where it takes more, what was learned does not hold here.
func nearIterations(n int) int { return 15 + min(n, 100) }

// follow follows the solution of opts.Near: with the curvature of F that was learned
// there, then, from the point that this has led to, without it, for as long as one
// descent of a run that looks everywhere may take. It gives nil, and what was spent, where
// that fits neither the problem nor the options, or leads to no solution: the run is then
// as without it.
func (p *Problem) follow(ctx context.Context, opts Options) (*Result, Calls, error) {
	var spent Calls
	asked := opts.MaxIter
	opts, fits := p.near(opts)
	if !fits {
		return nil, spent, nil
	}
	for again := false; ; again = true {
		r, err := p.solve(ctx, opts)
		if err != nil {
			return nil, spent, err
		}
		r.Calls, spent = r.Calls.Add(spent), spent.Add(r.Calls)
		if r.Status == Solved {
			r.Notes = append(r.Notes, followed)
			return r, spent, nil
		}
		if ctx.Err() != nil && r.HasPoint() {
			return r, spent, nil
		}
		if again || ctx.Err() != nil {
			return nil, spent, nil
		}
		opts.learned, opts.MaxIter = nil, asked
		if r.HasPoint() {
			opts.Start = r.Upper.Variables
		}
	}
}

// near makes the run one that follows the solution of opts.Near: it starts there,
// with what was learned there, and ends at the first point with a certificate, which
// is no worse than the start. It gives false where the run is one that this does not
// fit: a follower with ties, whose stages lead elsewhere, several starts, a method of
// the user's, a resumed run, or a result without a point of this problem's shape.
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
	if most := nearIterations(p.IR.Upper.Dim); opts.MaxIter == 0 || opts.MaxIter > most {
		opts.MaxIter = most
	}
	settings := method.Values{"continuation": false, "search": false}
	maps.Copy(settings, opts.Settings)
	opts.Settings = settings
	if c, err := r.Rewind(); err == nil && c != nil {
		for _, s := range c.Starts {
			if run := opts.learned; s.Run != nil && s.Run.Best != nil && (run == nil || s.Run.Best.F < run.Best.F) {
				opts.learned = s.Run
			}
		}
	}
	return opts, true
}

// followed is what a result of such a run says of itself.
const followed = "followed from an earlier solution to the nearest point with a certificate: not looked for elsewhere"
