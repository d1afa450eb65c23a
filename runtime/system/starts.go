package system

import (
	"context"
	"math"
	"slices"

	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/reduced"
)

// visited is what the starts of a run on the KKT system have come to: the branches that they began and ended on, and the values of f.
type visited struct {
	branches map[string]bool
	values   []float64
}

func (v *visited) branch(fix []kkt.Fix) (known bool) {
	if v.branches == nil {
		v.branches = map[string]bool{}
	}
	key := make([]byte, len(fix))
	for k, f := range fix {
		key[k] = byte(f)
	}
	known = v.branches[string(key)]
	v.branches[string(key)] = true
	return known
}

// note is for the end of a start.
func (v *visited) note(p *kkt.Point) {
	v.branch(p.Branch)
	v.values = append(v.values, p.F)
}

// draws is how many points a start is chosen from: ten of them miss a tenth of X that no start has seen with a chance of a third (0.9^10).
const draws = 10

// apart are starts on branches on which no start has begun or ended: the follower's answer to each draw says which one it lies on.
// Where ten draws in a row lie on known ones, the last is taken.
func (v *visited) apart(ctx context.Context, s *kkt.System, follower *kkt.Follower, draw func(k int) ([]float64, error)) func(k int) ([]float64, error) {
	return func(k int) ([]float64, error) {
		for range draws {
			x, err := draw(k)
			if err != nil || k == 0 {
				return x, err
			}
			z, status := follower.Solve(ctx, x)
			if status != activeset.Optimal {
				continue
			}
			if fix, _ := s.BranchAt(z); !v.branch(fix) {
				return x, nil
			}
		}
		return draw(k)
	}
}

// mostDraws is how many draws are answered at most: they miss a hundredth of X with a chance of less than a hundredth (0.99^500). Many small followers take more time than what work counts.
const mostDraws = 500

// screened is the lowest of the draws at which the follower's answer gives a lower F than the best local solution; nil where none does, or the system is so small that a search decides, or many starts are cheap, or X is more than a box.
// A quarter of the work of the local solution, or of a second, answers many draws: LPs and QPs from the last basis each.
func (run *Run) screened(ctx context.Context, draw func(k int) []float64) (best []float64) {
	if !run.opts.Open || run.opts.FirstStart > 0 || run.Best == nil || run.n.Coupled != nil || len(run.n.X.Kind) > 0 || run.n.X.Extended.Len() > 0 || run.Smooth != nil || searchedInFull(run.System) <= modestWork {
		return nil
	}
	value, work := run.values(ctx)
	if value == nil {
		return nil
	}
	lowest, begin := run.Best.F-kkt.Tolerance*run.termsOfF(), work()
	for k := 1; k <= mostDraws && work()-begin < max(modestWork, run.local.Work())/4 && ctx.Err() == nil; k++ {
		x := draw(k)
		if f, ok := value(x); ok && f < lowest {
			lowest, best = f, x
		}
	}
	return best
}

// values gives F at points, of the follower's answer to each, and counts the multiplications that this has taken; nil where the local solver has no answers of its own.
func (run *Run) values(ctx context.Context) (value func(x []float64) (float64, bool), work func() int64) {
	switch local := run.local.(type) {
	case *leaderSpace:
		sampler, err := reduced.NewSampler(local.s)
		if err != nil {
			return nil, nil
		}
		return sampler.Value, sampler.Work
	case *pieces.Solver, wholeFirst:
		follower := run.solver.Follower()
		return func(x []float64) (float64, bool) {
			z, status := follower.Solve(ctx, x)
			if status != activeset.Optimal {
				return 0, false
			}
			return run.System.Value(z), true
		}, func() int64 { return follower.Work }
	}
	return nil, nil
}

// enough reports whether the stopping rule ends a run after n starts (outer.Enough). A start that came to no point counts as a minimum of its own, once.
func (v *visited) enough(n int) bool {
	values := slices.Sorted(slices.Values(v.values))
	different, lowest := 0, n
	if len(values) < n {
		different = 1
	}
	if len(values) > 0 {
		lowest = 0
	}
	for i, f := range values {
		if i == 0 || f-values[i-1] > kkt.Tolerance*math.Abs(f) {
			different++
		}
		if f-values[0] <= kkt.Tolerance*math.Abs(f) {
			lowest++
		}
	}
	return outer.Enough(n, max(1, different), lowest)
}
