package system

import (
	"context"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/tolerance"
	"bilevelc/runtime/tree"
)

// neighbours searches the branches of one follower after the other beside those on which the best point has the rest, biactive pairs open, and where none of these has a lower F those of two followers, then three, and so on: variable
// neighbourhood search (Hansen and Mladenovic 2001) with neighbourhoods that branch and bound decides, as those of whole numbers beside the ones that are held (Danna, Rothberg and Le Pape 2005). It takes a second's work.
func (run *Run) neighbours(ctx context.Context) (err error) {
	defer must.Catch(&err)
	s, followers, opts := run.System, run.n.Followers(), run.searchOptions()
	if run.err != nil || run.opts.Search != SearchBudget || run.n.Integer != nil || len(followers) < 2 || opts.Plain || tree.Applies(s) != "" {
		return nil
	}
	owner := run.n.Owners()
	of := each.Of(s.Pairs, func(p kkt.Pair) int { // the follower of each pair
		j, _ := run.n.Rows.B.First(p.Row)
		return owner[max(j, 0)]
	})
	left := int64(tolerance.Second)
	for many, first, without := 1, 0, 0; many < len(followers); first = (first + many) % len(followers) {
		if without += many; without >= len(followers)+many {
			many, without = many+1, 0
			continue
		}
		held := each.Below(len(of), func(k int) kkt.Fix {
			if (of[k]-first+len(followers))%len(followers) < many {
				return kkt.Open
			}
			return run.Best.Branch[k]
		})
		for _, k := range run.Best.Biactive {
			held[k] = kkt.Open
		}
		found := must.Get(tree.Solve(ctx, s, tree.Options{Gap: opts.Gap, Work: left, Held: held, Threads: opts.Threads, Incumbents: []*kkt.Point{run.Best}}))
		if left -= found.Work; left <= 0 || found.Nodes == 0 || ctx.Err() != nil {
			return nil
		}
		if b := found.Best; b != nil && b.F < run.Best.F-tolerance.Target*s.Terms(run.Best.Z) {
			if point, err := run.polish(ctx, b); err == nil && point.F < run.Best.F {
				run.Best, without = point, 0
			}
		}
	}
	return nil
}
