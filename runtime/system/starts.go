package system

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/tolerance"
	"bilevelc/runtime/tree"
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
	key := each.Of(fix, func(f kkt.Fix) byte { return byte(f) })
	known = v.branches[string(key)]
	v.branches[string(key)] = true
	return known
}

// note is for the end of a start.
func (v *visited) note(p *kkt.Point) {
	v.branch(p.Branch)
	v.values = append(v.values, p.F)
}

// start is where a start begins: at an x, or at a point of the system with this x on a branch.
type start struct {
	x, z []float64
	side []kkt.Fix // nil, and z nil: as the local solver has it
}

// apart are starts on branches on which no start has begun or ended: the follower's answer to each draw says which one it lies on. Where rows are biactive there, as at the edge of the x to which the follower has an answer, that is the branch on which
// their multipliers are 0, and the start begins on it or, once it is known and sides are asked for, on the one on which their slacks are, and multipliers may have no end. Where the follower has several answers, and the leader the choice, an answer is drawn, too:
// the vertex of the set of them in a random direction.
// Where all draws lie on known ones, the last is taken.
func (v *visited) apart(ctx context.Context, s *kkt.System, follower *kkt.Follower, sides bool, direction func() []float64, draw func(k int) (start, error)) func(k int) (start, error) {
	return func(k int) (start, error) {
		var last start
		for range tolerance.Draws {
			at, err := draw(k)
			if err != nil || k == 0 {
				return at, err
			}
			z, status := follower.Solve(ctx, at.x)
			if status != activeset.Optimal {
				continue
			}
			fix, biactive := s.BranchAt(z)
			if !v.branch(fix) {
				return at, nil
			}
			if direction != nil && !follower.Unique(ctx, z) {
				if other, err := follower.Toward(ctx, z, direction()); err == nil {
					fix, biactive = s.BranchAt(other)
					if last = (start{at.x, other, fix}); !v.branch(fix) {
						return last, nil
					}
				}
			}
			if !sides || len(biactive) == 0 {
				continue
			}
			for _, k := range biactive {
				fix[k] = kkt.SlackZero
			}
			if !v.branch(fix) {
				return start{at.x, z, fix}, nil
			}
		}
		if last.side != nil {
			return last, nil
		}
		return draw(k)
	}
}

// directions are random ones of the follower's answers; nil where they are one each, or the choice among them is not the leader's.
func (run *Run) directions() func() []float64 {
	if !run.opts.Favour || run.n.Facts.StrongConvexity > 0 {
		return nil
	}
	rng := rand.New(rand.NewPCG(run.opts.Seed, uint64(run.n.Dy)))
	return func() []float64 {
		return each.Below(run.n.Dy, func(int) float64 { return rng.NormFloat64() })
	}
}

// mostDraws is how many draws are answered at most: of one variable they see parts of a five hundredth of X, of two those of a twentieth each way. Many small followers take more time than what work counts.
const mostDraws = 500

// screen starts from draws that have no lower one close by (multi-level single linkage: Rinnooy Kan and Timmer 1987), the lowest first: each is in the valley of another local minimum, as far as draws tell.
// Where followers are not strongly convex their answers jump, and the best point and the lowest draw are first followed down by answers alone.
// A quarter of the work of the local solution, or of a second, is for answers to draws, LPs and QPs from the last basis each, and as much for the starts; where the follower is not quadratic in x and y together as many calls of f and g as the
// local solution has made are for either, and its linear algebra, or a second's; a quarter of these where the problem is not small. A draw, or a start that has come, below the best local solution is followed in any case.
// Where a smooth problem has none, as the constraints of the leader that read y keep out all that the starts have come to, the draw that violates them least is followed down first; of linear systems a search finds points.
func (run *Run) screen(ctx context.Context) (err error) {
	defer must.Catch(&err)
	if !run.opts.Automatic || !run.opts.Open || run.opts.FirstStart > 0 || run.Best == nil && (run.n.Coupled == nil || run.Smooth == nil) || run.draw == nil {
		return nil // the number of starts was chosen
	}
	if run.Covered > 0 && len(run.Ends) == 1 {
		return nil // no start was worth making
	}
	value, work, local := run.values(ctx)
	if value == nil {
		return nil
	}
	share, begin, each := local(), work(), local()/int64(max(1, len(run.Ends)))
	algebra := max(tolerance.Second, run.work())
	switch {
	case run.Smooth == nil:
		share = max(tolerance.Second, share) / 4
	case !run.opts.Small:
		share, algebra = share/4, algebra/4
	}
	var draws []sample
	for k, most := 1, algebra+run.work(); k <= mostDraws && work()-begin < share && run.work() < most && float64(k)*run.ontoWork() <= tolerance.Second/4 && ctx.Err() == nil; k++ {
		x := run.draw(k)
		if !run.onto(x) {
			continue
		}
		if drawn, ok := value(x); ok && !math.IsNaN(drawn.f) && !math.IsNaN(drawn.off) {
			draws = append(draws, drawn)
		}
	}
	if l, ok := run.local.(*leaderSpace); ok {
		l.down = true
	}
	best, lowest, spent := sample{off: math.Inf(1)}, math.Inf(1), local()
	if run.Best != nil {
		best = sample{x: run.Best.Z[:run.n.Dx], f: run.Best.F}
		if lowest = best.f - tolerance.Sign*math.Abs(best.f); run.Smooth == nil {
			lowest = best.f - tolerance.Sign*run.System.Terms(run.Best.Z)
		}
	}
	share += spent
	algebra += run.work()
	over := func() bool { return local() > share || run.work() > algebra }
	starts := apartFrom(draws, run.within, run.n.Facts.Free)
	jumps := run.Smooth == nil && !(run.n.Facts.StrongConvexity > 0) // answers do, and local solutions are those of one piece
	followed := func(at sample) sample {
		begin, from := work(), run.work()
		more := func(k int) bool { return work()-begin+int64(k)*(tree.NodeWork+int64(run.ontoWork())) < share/2 } // each takes what a node of a search takes, and a move onto X
		if calls, most := (share-local())/2, (algebra-from)/2; run.Smooth != nil {
			more = func(int) bool { return work()-begin < calls && run.work()-from < most }
		}
		return run.downhill(ctx, at, value, more)
	}
	if len(starts) > 0 && (jumps || run.Best == nil) {
		starts[0] = followed(starts[0])
	}
	if jumps && run.Best != nil {
		if down := followed(best); down.f < lowest && (len(starts) == 0 || down.below(starts[0])) {
			starts = slices.Insert(starts, 0, down)
		}
	}
	for k, x := range starts {
		if k == 0 && x.off <= best.off && x.f < lowest {
			must.Do(run.begun(ctx, len(run.Ends), start{x: x.x}, &run.seen))
			continue
		}
		if local()+each > share {
			break
		}
		ended := must.Get(run.try(ctx, start{x: x.x}, lowest, &run.seen, over))
		if ended {
			break
		}
	}
	switch {
	case run.Smooth != nil:
		return run.released(ctx)
	case factorWork(run.System) > tolerance.Second:
		return run.hop(ctx, local)
	}
	return nil
}

// hops reports that jumps go on where the search has not decided: where a factor takes no more than a second's work, and further starts were worth making, as many as there is reason for.
func (run *Run) hops() bool {
	if !run.opts.Automatic || run.opts.FirstStart > 0 || run.draw == nil || run.Covered > 0 && len(run.Ends) == 1 || factorWork(run.System) > tolerance.Second {
		return false
	}
	_, eliminated := run.local.(*leaderSpace)
	return eliminated || run.opts.Open && run.parted == nil && tree.Applies(run.System) == ""
}

// hop begins each start with a jump away from the lowest local solution so far (monotonic basin hopping: Wales and Doye 1997, Leary 2000), for systems of which no relaxation is made, and for those that the search has not
// decided. It ends where twice as many in a row have gained nothing as there were before, and twice as many as starts are at least (half of it is measured in bench/ablation), or with a second's work: four times as many multiplications in the leader's space, whose dense kernels do as many.
func (run *Run) hop(ctx context.Context, local func() int64) error {
	jump, share, last := run.jumps(), local()+tolerance.Second, 0
	if l, ok := run.local.(*leaderSpace); ok {
		l.down, share = true, share+3*tolerance.Second
		jump = outer.Jumps(run.Start, run.within, run.opts.Seed)
	}
	for k := 0; k-last < 2*max(last, outer.MostStarts()) && local()+local()/int64(len(run.Ends)) <= share; k++ {
		lowest := run.Best.F - tolerance.Sign*math.Abs(run.Best.F)
		x := jump(k, run.Best.Z[:run.n.Dx])
		if !run.onto(x) {
			continue
		}
		if ended, err := run.try(ctx, start{x: x}, lowest, &run.seen, func() bool { return local() > share }); ended || err != nil {
			return err
		}
		if run.Best.F < lowest {
			last = k + 1
		}
	}
	return nil
}

// try begins one start more, and gives it up, ended, where all that such starts may take is spent and it has not come below lowest: what others have taken says little of it.
func (run *Run) try(ctx context.Context, at start, lowest float64, seen *visited, spent func() bool) (ended bool, err error) {
	return run.bounded(ctx, lowest, spent, func(ctx context.Context) error { return run.begun(ctx, len(run.Ends), at, seen) })
}

// bounded does what may be given up where spent reports so, unless it has come below the lowest value known.
func (run *Run) bounded(ctx context.Context, lowest float64, spent func() bool, do func(ctx context.Context) error) (ended bool, err error) {
	trying, giveUp := context.WithCancel(ctx)
	defer giveUp()
	below := false
	run.spends = func(f float64) {
		if below = below || f < lowest; !below && spent() {
			giveUp()
		}
	}
	err = do(trying)
	run.spends = nil
	if ended = err != nil && ctx.Err() == nil && trying.Err() != nil; ended {
		err = nil
	}
	return ended, err
}

// work is what the local solver has taken so far, in multiplications. Steps of one that is not linear take more than their programs: a matrix of curvature by differences, with two programs of its eigenvectors, 9 n^3 in all (Golub and Van Loan, sec. 8.3),
// on x and y together where it is not solved in the leader's space, and calls of f and g, of each what it reads, and what comes with it (outer.PerCall).
func (run *Run) work() int64 {
	work := run.local.Work()
	if p := run.n; run.Smooth != nil {
		n := int64(p.Dx)
		if !inLeaderSpace(p) {
			n += int64(p.Dy)
		}
		work += int64(run.Steps)*9*n*n*n + int64(float64(p.Calls().Total())*math.Max(outer.PerCall, run.opts.Cost))
	}
	return work
}

// enough reports whether the stopping rule ends a run after n starts (outer.Enough). A start that came to no point counts as a minimum of its own, once.
func (v *visited) enough(n int) bool {
	different, lowest := v.different()
	if len(v.values) < n {
		different++
	}
	if len(v.values) == 0 {
		lowest = n
	}
	return outer.Enough(n, max(1, different), lowest)
}

// different is how many values the starts have come to, and how many of them to the lowest.
func (v *visited) different() (different, lowest int) {
	values := slices.Sorted(slices.Values(v.values))
	for i, f := range values {
		if i == 0 || f-values[i-1] > tolerance.Sign*math.Abs(f) {
			different++
		}
		if f-values[0] <= tolerance.Sign*math.Abs(f) {
			lowest++
		}
	}
	return different, lowest
}
