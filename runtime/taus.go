package runtime

import (
	"context"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime/named"
	"bilevelc/runtime/tolerance"
)

// descend solves the problem for one tau after another, each from the best point so
// far, and returns the options with which the last one is to be solved: its start is
// where F is lowest there of all that the stages have come to. moved says where the given start was no place to begin.
func (p *Problem) descend(ctx context.Context, opts Options) (_ Options, spent Calls, moved string) {
	if p.ties == nil || opts.Resume != nil {
		return opts, spent, ""
	}
	all := opts.Starts
	if opts.FirstStart > 1 {
		all = 1
	}
	first, _, err := p.start(opts)
	if err != nil {
		return opts, spent, "" // the run itself says what is wrong
	}
	var ends [][]float64 // of the stages, the last one first
	for tau := tolerance.MuShrink; tau > p.ties.tau*1.5; tau *= tolerance.MuShrink {
		q := p.withTau(tau)
		stage := opts
		stage.CheckGradient, stage.Keep = false, nil
		if p.Numeric.Coupled == nil && !p.small() {
			// An answer is off by about tau of what is at stake, and so a tenth of that is still seen when tau has fallen to its tenth.
			stage.gain = tolerance.MuShrink * tolerance.MuShrink * tau * p.ties.profit * p.ties.reach
		}
		at, from, calls := q.stage(ctx, stage)
		if spent = spent.Add(calls); stage.Start != nil && len(ends) == 0 {
			moved = p.moved(first, from)
		}
		if at != nil {
			ends = append([][]float64{at}, ends...)
		}
		next := p
		if ctx.Err() == nil && tau*tolerance.MuShrink > p.ties.tau*1.5 {
			next = p.withTau(tau * tolerance.MuShrink)
		}
		if len(ends) > 0 {
			best, calls := next.lowest(ctx, stage, first, ends)
			spent = spent.Add(calls)
			opts.Start, opts.Starts, opts.FirstStart = named.Variables(&p.IR.Upper, best, 1), 1, 0
		}
		if ctx.Err() != nil {
			break
		}
	}
	if opts.FirstStart == 0 && (all > 1 || opts.automatic) {
		// Where F is flat but for where the follower is about to change his mind, more
		// starts see more of it.
		opts.Starts = all
	}
	return opts, spent, moved
}

// lowest is where F is lowest at the ends of stages and on the way from the first start
// to the last of them, which comes first: that of the next tau. A leader who takes all
// that a follower will bear ends next to where the follower leaves, and a follower of a
// smaller tau leaves sooner, all at once: then F reacts to nothing, and no descent leads
// back. Where a limit has ended the stages it looks no longer than a moment.
func (p *Problem) lowest(ctx context.Context, opts Options, first []float64, ends [][]float64) ([]float64, Calls) {
	best := ends[0]
	if p.Numeric.Coupled != nil && ctx.Err() != nil {
		return best, Calls{} // F alone does not rank points that may violate constraints
	}
	_, _, h, err := p.choose(opts)
	if err != nil {
		return best, Calls{}
	}
	backs := []float64{1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}
	ctx, cancel := withGrace(ctx)
	defer cancel()
	// From as near the start as may be: of two that are as low the later counts.
	tried := slices.Clone(ends)
	for _, end := range ends {
		for _, back := range backs {
			x := each.Below(len(end), func(j int) float64 { return end[j] + back*(first[j]-end[j]) })
			tried = append(tried, x)
		}
	}
	least := math.Inf(1)
	for _, x := range tried {
		if h.Project(x, x) != nil {
			continue
		}
		pt, err := h.Value(ctx, x)
		if ctx.Err() != nil {
			break
		}
		if err == nil && pt.F <= least {
			best, least = x, pt.F
		}
	}
	return best, h.Calls()
}

// stage is solve for the point alone, from which the next tau starts: what it is worth
// is neither described nor verified. It is nil where there is none. from is where its first start began.
func (p *Problem) stage(ctx context.Context, opts Options) (at, from []float64, spent Calls) {
	opts = must.Get(p.resolve(opts))
	c, err := opts.split(opts.Settings)
	must.Do(usage(err))
	start, _, err := p.start(opts)
	must.Do(err)
	runs, _, _, err := p.minimize(ctx, c, opts, start, Checkpoint{})
	must.Do(usage(err))
	if first := runs.Runs[0].Result; first != nil {
		from = first.Start
	}
	if best := runs.Best.Best; best != nil && best.Lower != nil {
		at = append(at, best.X...)
	}
	return at, from, runs.Calls
}
