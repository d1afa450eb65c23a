package runtime

import (
	"context"

	"bilevelc/runtime/sequential"
	"bilevelc/runtime/system"
)

// looksAhead reports that a run begins at the end of the path of F: where its system is too large for the method on it, nobody has chosen the method or a start, and the follower has such a path.
func (p *Problem) looksAhead(opts Options, named bool) bool {
	switch {
	case opts.Resume != nil && !opts.Resume.Ahead, opts.Resume == nil && (named || opts.Start != nil || p.IR.Start != nil), p.ties != nil:
		return false
	}
	return system.Size(p.Numeric) > system.Largest && sequential.AheadApplies(p.Numeric) == ""
}

// ahead is the end of the path of F from a start, and what it took; the start itself where F is no lower there, or it was not reached.
func (p *Problem) ahead(ctx context.Context, start []float64) ([]float64, Calls) {
	counted := p.Numeric.Counted()
	x, err := sequential.Ahead(ctx, counted, start)
	if err != nil {
		x = start
	}
	return x, counted.Calls()
}
