package system

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/document"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/tolerance"
	"bilevelc/runtime/tree"
)

// Search says how long the global optimum is searched for.
type Search uint8

// The three ways: for about a second of work, or a quarter of what the local solve took, whichever is more, and up to two more where it ends within them (tree.Options.More); not at all; until the gap is closed.
const (
	SearchBudget Search = iota
	SearchNone
	SearchFully
)

// global searches for the global optimum, and for a first point where the local solves have found none.
func (run *Run) global(ctx context.Context) (err error) {
	defer must.Catch(&err)
	if !run.searches() {
		return nil
	}
	sign, opts := run.opts.Sign, run.searchOptions()
	if run.System.Objective == nil { // read without f
		run.Global = &document.Global{Bound: document.Number(math.Inf(-int(sign))), Gap: document.Number(math.Inf(1)), Within: document.Number(opts.Gap),
			Why: fmt.Sprintf("the system has %d unknowns and multipliers, and the search takes at most %d that rows and products join", Size(run.n), Largest)}
		return nil
	}
	found := run.root
	if found == nil || found.Outcome != tree.Proved && !opts.Plain {
		run.searching = time.Now()
		opts.Keep = run.keep(run.searching)
		found = must.Get(tree.Solve(ctx, run.System, opts))
	}
	run.Tree = found
	if run.eachX() && (found.Outcome == tree.NoBound || found.Outcome == tree.LimitReached) && ctx.Err() == nil {
		if done, err := run.enumerate(ctx); done || err != nil {
			return err
		}
	}
	if found.Outcome == tree.NoBound && run.System.P.Integer != nil {
		return &WholeNumbers{found.Why}
	}
	if run.Best == nil && found.Best == nil && found.Outcome == tree.LimitReached && run.n.Integer != nil && run.Curved == nil {
		must.Do(run.firstWhole(ctx))
	}
	run.says(found, opts.Gap)
	// What is lower by the rounding of f's terms alone is not.
	if b := found.Best; b != nil && (run.Best == nil || run.err != nil || b.F < run.Best.F-0x1p-48*run.System.Terms(run.Best.Z)) {
		// The tree's point is the best of its branch; the local solve gives it its multipliers, or goes on from there. A run that is ended takes these few steps
		// as well: what it has found is not lost.
		switch point, err := run.polish(context.WithoutCancel(ctx), b); {
		case point != nil && (run.Best == nil || point.F < run.Best.F || err == nil && point.F <= run.Best.F+tolerance.Sign*math.Abs(run.Best.F)):
			run.Best, run.err = point, err
		case point == nil && run.Best == nil:
			return err
		}
	}
	if run.Best == nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	}
	if !found.Proved && ctx.Err() == nil && run.Smooth != nil { // starts ended for the search, which has not decided
		err = run.screen(ctx)
	} else if !found.Proved && ctx.Err() == nil {
		if searchedInFull(run.System) <= tolerance.Second && tree.Applies(run.System) == "" { // the search might have decided, and has not
			err = run.screen(ctx)
		}
		if err == nil && run.hops() {
			err = run.hop(ctx, run.local.Work)
		}
		if err == nil {
			err = run.neighbours(ctx)
		}
		if err == nil {
			err = run.takeBestAnswer(ctx)
		}
		if err == nil {
			err = run.wholeJumps(ctx)
		}
	}
	if run.Best == nil { // a start since then has found f to fall on and on
		return err
	}
	if ctx.Err() == nil {
		must.Do(run.offer(ctx, opts))
	}
	if run.close(); run.Global.Proved {
		return err
	}
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}

// says takes what a search has found for the run's.
func (run *Run) says(found *tree.Result, gap float64) {
	claim, sign := found.Claim(), run.opts.Sign
	if run.Best != nil {
		claim = min(claim, run.Best.F) // it is no higher but for rounding
	}
	run.Tree, run.BoundTimes = found, nil
	run.Global = &document.Global{Bound: document.Number(sign * claim), Gap: document.Number(math.Inf(1)), Nodes: found.Nodes, Why: found.Why, Within: document.Number(gap)}
	run.course(found, claim, sign)
	if found.State != nil {
		run.Proof = &Proof{problem: run.n, system: run.System, state: found.State, Says: tree.Statement{Bound: claim, Model: run.opts.Model, Digest: run.opts.Digest}}
	}
}

// offer gives a search that ended with its budget the best point, where that was found since and closes its gap: what is still open ends with it.
func (run *Run) offer(ctx context.Context, opts tree.Options) error {
	found, best := run.Tree, run.Best
	if best == nil || run.err != nil || found.Outcome != tree.LimitReached || found.State == nil || found.Best != nil && !(best.F < found.Best.F) ||
		!(Gap(best.F, found.Bound, tree.GapScale(best.F, found.Terms(best.Z))) <= opts.Gap) {
		return nil
	}
	opts.Resume, opts.Later, opts.Incumbents, opts.Nodes, opts.Work, opts.Keep = found.State, true, []*kkt.Point{best}, found.Nodes, 0, nil
	again, err := tree.Solve(ctx, run.System, opts)
	if err == nil && again.Proved {
		run.says(again, opts.Gap)
	}
	return err
}

// close makes what is said of the bound what it is next to the best point.
func (run *Run) close() {
	found, sign, g := run.Tree, run.opts.Sign, *run.Global
	claim := min(sign*float64(g.Bound), run.Best.F) // it is no higher but for rounding
	if g.Bound = document.Number(sign * claim); run.Proof != nil {
		run.Proof.terms, run.Proof.Local = found.Terms(run.Best.Z), stationary(run.Best) // of the solution, as the proof's verification has it, wherever the search's own best point is
		_, gap := run.Proof.Beside(run.Best.F)
		g.Gap = document.Number(gap)
	}
	if g.Proved = found.Proved && !MoreThanRounding(&g); g.Proved {
		g.Why, g.Within = "", max(g.Within, g.Gap)
	} else if found.Proved {
		g.Why = "the search's best point is proved next to the terms of its own f, and the gap is more next to those at the solution"
		if run.Best.F > found.Best.F {
			g.Why = "the search's best point, which is proved, could not be followed to one with a certificate"
		}
	}
	run.Global = &g
}

// searchOptions are those of the search.
func (run *Run) searchOptions() tree.Options {
	opts := tree.Options{Gap: run.gap(), Nodes: run.opts.Nodes, Threads: run.opts.Threads, Resume: run.opts.Resume, Observe: run.observeTree}
	if run.Best != nil {
		opts.Incumbents = []*kkt.Point{run.Best}
	}
	if run.fewX() && !run.System.Convex() || run.opts.Search == SearchBudget && run.opts.Nodes == 0 {
		opts.Work, opts.First, opts.More = tolerance.Second, 4*tolerance.Second, 2*tolerance.Second // jumps and neighbours follow an undecided search, for about a second each
		if run.local != nil {
			opts.Work = max(opts.Work, run.local.Work()/4)
		}
		_, eliminated := run.local.(*leaderSpace)
		switch {
		case run.solver != nil && run.local == localSolver(run.solver) && searchWork(run.System) > float64(opts.Work), // no larger than what the local solve has solved several of, from the same data
			eliminated && run.inFull() > tolerance.Second: // nothing is decided with less than a node for each pair, and jumps find more in the time
			opts.Work, opts.First, opts.More, opts.Plain = 16*tolerance.Second, 0, 0, true // a first relaxation takes a fifth of a dense factor or less, as its rows are short
			if run.Best != nil || run.n.Integer != nil {                                   // else all that is left is for a point
				opts.Nodes = 1
			}
		}
	}
	return opts
}

// inFull is searchedInFull by what nodes have taken, once there were some: those of sparse systems take much less than factors of dense ones.
func (run *Run) inFull() float64 {
	if r := run.root; r != nil && r.Nodes > 0 {
		return float64(r.Work) / float64(r.Nodes+r.Tried) * float64(len(run.System.Pairs))
	}
	return searchedInFull(run.System)
}

// rootProves reports that the search's first relaxation proves the best point so far, so that no further start is needed. It is solved once: where it is all that there will be of the search, and else where the starts have taken as much
// work as it does, and more than what nobody waits for.
func (run *Run) rootProves(ctx context.Context) (bool, error) {
	if run.root == nil && run.Best != nil && run.err == nil && run.searches() && run.opts.Automatic && run.opts.Search == SearchBudget && run.opts.Nodes == 0 && run.opts.Resume == nil && run.Smooth == nil &&
		run.System.Objective != nil && tree.Applies(run.System) == "" {
		opts := run.searchOptions()
		if !opts.Plain && float64(run.work()) < max(searchWork(run.System), math.Pow(tolerance.DenseOrder, 3)) {
			return false, nil
		}
		opts.Nodes, opts.Plain = 1, true
		run.searching = time.Now()
		found, err := tree.Solve(ctx, run.System, opts)
		if err != nil || ctx.Err() != nil {
			return false, err
		}
		run.root = found
	}
	return run.root != nil && run.root.Outcome == tree.Proved, nil
}

// keep gives the caller the state of a search that goes on, every so often; nil where nobody wants it.
func (run *Run) keep(last time.Time) func(state func() *tree.State) {
	o := &run.opts
	if o.Keep == nil {
		return nil
	}
	return func(state func() *tree.State) {
		if time.Since(last) < o.KeepEvery {
			return
		}
		o.Keep(state())
		last = time.Now()
	}
}

// MoreThanRounding reports that a gap is more than the one asked for, and as much again that the search leaves open to rounding.
func MoreThanRounding(g *document.Global) bool {
	return float64(g.Gap) > 2*math.Max(float64(g.Within), tolerance.Target)
}

// polish is the local solution that a point of the tree leads to, integer entries of x held.
func (run *Run) polish(ctx context.Context, b *kkt.Point) (_ *kkt.Point, err error) {
	defer must.Catch(&err)
	whole := run.n.Integer
	switch {
	case whole != nil:
	case run.Smooth != nil:
		return run.Smooth.Improve(ctx, run.System.X(b.Z), run.System.Y(b.Z), run.System.Lambda(b.Z))
	case run.parted != nil:
		return run.parted.improve(ctx, b.Z, b.Branch)
	default:
		if l, ok := run.local.(*leaderSpace); ok { // the whole system takes much more
			l.down = true
			if p, err := l.From(ctx, run.System.X(b.Z)); err == nil && p.F <= b.F+tolerance.Sign*math.Abs(b.F) {
				return p, nil
			}
		}
		solver := must.Get(run.Whole())
		return solver.Improve(ctx, b.Z, b.Branch)
	}
	held, set := *run.n, *run.n.X
	set.Lo, set.Hi = slices.Clone(set.Lo), slices.Clone(set.Hi)
	z := slices.Clone(b.Z)
	for j, is := range whole {
		if is {
			z[j] = math.Round(z[j])
			set.Lo[j], set.Hi[j] = z[j], z[j]
		}
	}
	held.X = &set
	if run.Curved != nil {
		held.Integer = nil
		smooth := must.Get(run.smooth(&held))
		run.Smooth = smooth
		return smooth.Improve(ctx, run.System.X(z), run.System.Y(z), run.System.Lambda(z))
	}
	if allWhole(run.n) && run.n.X.Extended.Extra() == 0 && run.System.Objective.Known { // all of x is held
		return run.answerAt(ctx, z, b.Branch)
	}
	s := must.Get(kkt.New(&held))
	solver := must.Get(pieces.New(s, pieces.Options{Observer: run.observe}))
	return solver.Improve(ctx, z, b.Branch)
}

// answerAt is the local solution among the follower's answers to z's x, each entry of which is held, and their multipliers: that of each part.
func (run *Run) answerAt(ctx context.Context, z []float64, branch []kkt.Fix) (*kkt.Point, error) {
	at := run.System.AtX(z)
	solver, err := newParted(at, at.Parts(), run.observe)
	if err != nil {
		return nil, err
	}
	point, err := solver.improve(ctx, z, branch)
	if point != nil {
		if point.Multipliers != nil {
			run.System.TakeX(point.Multipliers, point.Z)
		}
		for _, leaf := range point.Leaves {
			run.System.TakeX(leaf.Multipliers, point.Z)
		}
	}
	return point, err
}

// integers prepares a run with integer variables of the leader: the search finds its first point, and there is no other way.
func (run *Run) integers() error {
	why := run.Why // of a system that is not linear: it has a bound, or none is known
	if run.opts.Linear {
		why = tree.Applies(run.System)
	}
	if run.opts.Search == SearchNone {
		why = "no search was asked for"
	}
	if why == "" {
		return nil
	}
	return &WholeNumbers{why}
}

// searches reports that the global optimum is searched for: not in a part of the starts of a run, but for whole numbers, which are found by the search alone.
func (run *Run) searches() bool {
	return run.opts.Search != SearchNone && (run.opts.FirstStart == 0 || run.n.Integer != nil)
}

// gap is the one that the search is to close.
func (run *Run) gap() float64 {
	if run.opts.Gap == 0 {
		return tolerance.Target
	}
	return run.opts.Gap
}

// pointFirst reports that a point is looked for apart from f, which is phase one of branch and bound: where nothing else looks for one; where f has no bound to search by, and where it is not convex. A tree of such an f branches on the
// directions along which it curves down, too, which say nothing of where points are, and without a point no branch of it ends. Of a convex f the tree has no other branches than this one; beside curved constraints, whose tangents branches take from points that f leads to, it has.
func (run *Run) pointFirst() bool {
	switch {
	case run.System.Objective == nil:
		return false
	case !run.searches():
		return run.n.Integer == nil
	}
	return !run.System.Objective.Convex || run.Curved != nil
}

// feasible finds a point of the system without f: the first that branch and bound meets without an objective, and what a local solve makes of it; or that there is none.
func (run *Run) feasible(ctx context.Context) (err error) {
	defer must.Catch(&err)
	flat := *run.System
	flat.Objective = &kkt.Objective{Known: true, Convex: true, Quadratic: sparse.Quadratic{Lin: make([]float64, run.System.N)}}
	opts := tree.Options{Gap: 1, Nodes: run.opts.Nodes, Work: tolerance.Second, Threads: run.opts.Threads}
	if run.opts.Search == SearchFully {
		opts.Work = 0
	}
	found := must.Get(tree.Solve(ctx, &flat, opts))
	if found.Outcome == tree.Infeasible { // of any other the state is that of a search for a point alone, from which no run goes on
		run.Tree = found
		if run.searches() {
			run.Global = &document.Global{Bound: document.Number(run.opts.Sign * found.Bound), Gap: document.Number(math.Inf(1)), Nodes: found.Nodes, Why: found.Why, Within: document.Number(run.gap())}
			run.Proof = &Proof{problem: run.n, system: &flat, state: found.State, Says: tree.Statement{Bound: found.Bound, Model: run.opts.Model, Digest: run.opts.Digest}}
		}
	}
	if found.Best == nil {
		return nil
	}
	run.Best, run.err = run.polish(ctx, &kkt.Point{Z: found.Best.Z, Branch: found.Best.Branch})
	if _, ok := errors.AsType[*pieces.Unbounded](run.err); ok {
		return run.err
	}
	return nil
}

// course notes how bound and objective went, and when, where the search has more than an end. The bound is at no time above what is claimed in the end.
func (run *Run) course(found *tree.Result, claim, sign float64) {
	if len(found.Trace) < 2 {
		return
	}
	for _, t := range found.Trace {
		run.Global.Trace = append(run.Global.Trace, document.BoundPoint{Nodes: t.Nodes, Bound: document.Number(sign * math.Min(t.Bound, claim)), Best: document.Number(sign * t.Incumbent)})
		if at, ok := run.times[t.Nodes]; ok {
			run.BoundTimes = append(run.BoundTimes, at)
		}
	}
	if len(run.BoundTimes) < len(found.Trace) { // a run that went on from a checkpoint
		run.BoundTimes = nil
	}
}

// observeTree passes the progress of the search on.
func (run *Run) observeTree(now tree.Progress) {
	if run.times == nil {
		run.times = map[int64]float64{}
	}
	run.times[now.Nodes] = time.Since(run.searching).Seconds()
	if run.opts.Observer == nil {
		return
	}
	sign := run.opts.Sign
	run.opts.Observer(Progress{Start: 1, Starts: 1, Iteration: int(now.Nodes), Objective: sign * now.Incumbent, Best: sign * now.Incumbent,
		Measure: now.Gap, Calls: run.n.Calls(), Tree: &TreeProgress{Nodes: now.Nodes, Open: now.Open, Bound: sign * now.Bound, Gap: now.Gap}})
}

// Gap is the distance of an objective and a bound, to be minimized, relative to a size.
func Gap(f, bound, size float64) float64 {
	switch d := f - bound; {
	case d <= 0:
		return 0
	case math.IsInf(d, 1):
		return d
	default:
		return d / size
	}
}
