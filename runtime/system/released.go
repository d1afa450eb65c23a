package system

import (
	"cmp"
	"context"
	"math"
	"slices"

	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/tolerance"
)

// released begins starts beside the best point of a smooth system, where such starts came to several values: each at the nearest x at which one of the follower's rows that hold with force there ceases to have any, on the linearized system with the
// other pairs as they are. Entries of x that act on the follower by way of such a row alone, the price of what it does not buy, are what F does not react to: no local solution moves them, and a draw releases one of them only with some others held.
// The nearest come first, and the first again where F is lower. It takes as much work as the starts before, and a second's at most.
func (run *Run) released(ctx context.Context) (err error) {
	defer must.Catch(&err)
	if different, _ := run.seen.different(); run.Best == nil || run.err != nil || different < 2 {
		return nil
	}
	programs, begin := int64(0), run.work()
	share := min(begin, tolerance.Second)
	if !run.opts.Small {
		share = min(begin, tolerance.Second/4)
	}
	spent := func() bool { return run.work()-begin+programs > share }
	for lowest := math.Inf(1); run.Best.F < lowest && !spent() && ctx.Err() == nil; {
		lowest = run.Best.F - tolerance.Sign*math.Abs(run.Best.F)
		s := must.Get(run.Smooth.At(run.Best))
		type edge struct {
			x        []float64
			distance float64
		}
		var edges []edge
		solver, err := activeset.New(nearest(s, s.X(run.Best.Z), func(int) float64 { return 1 }))
		if err != nil {
			return nil
		}
		held := slices.Clone(run.Best.Branch)
		for k, side := range run.Best.Branch {
			if side != kkt.SlackZero || spent() {
				continue
			}
			var b activeset.Bounds
			held[k] = kkt.BothZero
			s.Bounds(&b, held)
			held[k] = side
			sol := solver.Solve(ctx, &b, nil, activeset.Options{})
			if programs += sol.Work; sol.Status == activeset.Optimal {
				edges = append(edges, edge{s.X(s.Unscaled(sol.Z)), sol.Value})
			}
		}
		slices.SortStableFunc(edges, func(a, b edge) int { return cmp.Compare(a.distance, b.distance) })
		for _, e := range edges {
			if run.projector.Project(e.x, e.x) != nil {
				continue
			}
			if ended := must.Get(run.try(ctx, start{x: e.x}, lowest, &run.seen, spent)); ended || run.Best.F < lowest {
				break
			}
		}
	}
	return nil
}

// nearest is the program of the relaxation's point whose x is nearest to the given one, squares of distances in its units times weights.
func nearest(s *kkt.System, x []float64, weight func(j int) float64) *activeset.Program {
	p, square := *s.Relaxation, make([]float64, s.N)
	p.C = make([]float64, s.N)
	for j, t := range x {
		square[j] = weight(j)
		p.C[j] = -square[j] * (t / s.ColScale[j])
	}
	p.Q = sparse.Diagonal(square)
	return &p
}
