package runtime

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"bilevelc/runtime/kkt"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/tree"
)

// Search says how long the global optimum is searched for.
type Search uint8

// The three ways: for about a second of work, or a quarter of what the local solve took, whichever is more; not at all; until the gap is closed.
const (
	SearchBudget Search = iota
	SearchNone
	SearchFully
)

// searches are the names of the three ways.
var searches = [...]string{SearchBudget: "budget", SearchNone: "local", SearchFully: "global"}

// ParseSearch is the way of a name; "" is the first one.
func ParseSearch(name string) (Search, error) {
	if name == "" {
		return SearchBudget, nil
	}
	if k := slices.Index(searches[:], name); k >= 0 {
		return Search(k), nil
	}
	return SearchBudget, &UsageError{Err: fmt.Errorf("a search is %s, not %q", strings.Join(searches[:], ", "), name)}
}

// modestWork is the budget of a search, or of further starts, that nobody asked for, in multiplications: about a second.
const modestWork = 1e9

// noBound says of a result with a point that nothing is known of the global optimum, and why: the search takes the KKT system of linear rows and pairs only.
func (p *Problem) noBound(r *Result, opts Options, why string) {
	if r.Global != nil || opts.Search == SearchNone || opts.FirstStart > 0 || !r.HasPoint() || r.Status == Unbounded {
		return
	}
	_, sign := sense(&p.IR.Upper)
	within := opts.Gap
	if within == 0 {
		within = tree.DefaultGap
	}
	r.Global = &Global{Bound: Number(math.Inf(-int(sign))), Gap: Number(math.Inf(1)), Within: Number(within), Why: why}
}

// global searches for the global optimum, and for a first point where the local solves have found none.
func (run *systemRun) global(ctx context.Context) error {
	if run.opts.Search == SearchNone || run.opts.FirstStart > 0 { // a part of the starts of a run
		return nil
	}
	_, sign := sense(&run.p.IR.Upper)
	opts := tree.Options{Gap: run.opts.Gap, Nodes: run.opts.Nodes, Threads: run.opts.Threads, Observe: run.observeTree}
	if opts.Gap == 0 {
		opts.Gap = tree.DefaultGap
	}
	if run.opts.Search == SearchBudget && run.opts.Nodes == 0 {
		opts.Work = max(modestWork, run.local.Work()/4)
		if run.local == localSolver(run.solver) && factorWork(run.s) > float64(opts.Work) {
			opts.Work, opts.Nodes = 0, 1 // no larger than what the local solve has solved several of, from the same data
		}
	}
	if run.s.Objective == nil { // read without f
		run.globally = &Global{Bound: Number(math.Inf(-int(sign))), Gap: Number(math.Inf(1)), Within: Number(opts.Gap),
			Why: fmt.Sprintf("the system has %d unknowns and multipliers, and the search takes at most %d", systemSize(run.p.Numeric), largestSystem)}
		return nil
	}
	if c := run.opts.Resume; c != nil && c.Search != nil && c.Search.Tree != nil {
		opts.Resume = c.Search.Tree
	}
	if run.best != nil {
		opts.Incumbents = []*kkt.Point{run.best}
	}
	run.searching = time.Now()
	opts.Keep = run.keep(run.searching)
	found, err := tree.Solve(ctx, run.s, opts)
	if err != nil {
		return err
	}
	run.tree = found
	if found.Outcome == tree.NoBound && run.s.P.Integer != nil {
		return run.p.continuous(found.Why)
	}
	claim := found.Claim()
	if run.best != nil {
		claim = min(claim, run.best.F) // it is no higher but for rounding
	}
	run.globally = &Global{Bound: Number(sign * claim), Gap: Number(math.Inf(1)), Nodes: found.Nodes, Why: found.Why, Within: Number(opts.Gap)}
	run.course(found, claim, sign)
	if found.State != nil {
		run.proof = &treeProof{p: run.p.Numeric, sys: run.s, state: found.State, says: tree.Statement{Bound: claim, Model: run.p.IR.Name, Digest: run.p.Digest()}}
	}
	if b := found.Best; b != nil && (run.best == nil || b.F < run.best.F || run.err != nil) {
		// The tree's point is the best of its branch; the local solve gives it its multipliers, or goes on from there. A run that is ended takes these few steps
		// as well: what it has found is not lost.
		switch point, err := run.polish(context.WithoutCancel(ctx), b); {
		case point != nil && (run.best == nil || point.F < run.best.F || err == nil && point.F <= run.best.F+kkt.Tolerance*math.Abs(run.best.F)):
			run.best, run.err = point, err
		case point == nil && run.best == nil:
			return err
		}
	}
	if run.best == nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	}
	if !found.Proved && ctx.Err() == nil && run.smooth == nil {
		if err := run.takeBestAnswer(ctx); err != nil {
			return err
		}
	}
	if run.best.F < claim {
		claim = run.best.F
		run.globally.Bound = Number(sign * claim)
		if run.proof != nil {
			run.proof.says.Bound = claim
		}
	}
	scale := gapScale(run.best.F, found)
	run.globally.Gap = Number(gapOf(run.best.F, claim, scale))
	if run.proof != nil {
		run.proof.scale, run.proof.local = scale, stationary(run.best)
	}
	run.globally.Proved = found.Proved && !moreThanRounding(run.globally)
	if found.Proved && !run.globally.Proved {
		run.globally.Why = "the search's best point, which is proved, could not be followed to one with a certificate"
	}
	if run.globally.Proved {
		run.globally.Why = ""
		run.globally.Within = max(run.globally.Within, run.globally.Gap)
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// keep gives the caller the state of a search that goes on, every so often; nil where nobody wants it.
func (run *systemRun) keep(last time.Time) func(state func() *tree.State) {
	o := &run.opts
	if o.Keep == nil {
		return nil
	}
	every := o.KeepEvery
	if every == 0 {
		every = defaultEvery
	}
	return func(state func() *tree.State) {
		if time.Since(last) < every {
			return
		}
		c := run.checkpoint()
		c.Search.Tree = state()
		o.Keep(c)
		last = time.Now()
	}
}

// moreThanRounding reports that a gap is more than the one asked for, and as much again that the search leaves open to rounding.
func moreThanRounding(g *Global) bool {
	return float64(g.Gap) > 2*math.Max(float64(g.Within), tree.DefaultGap)
}

// gapScale is what the gap of an f near that of a search's best point is relative to.
func gapScale(f float64, found *tree.Result) float64 {
	if found.Best == nil || found.Scale != math.Abs(found.Best.F) {
		return math.Max(math.Abs(f), found.Scale)
	}
	return math.Abs(f)
}

// polish is the local solution that a point of the tree leads to, integer entries of x held.
func (run *systemRun) polish(ctx context.Context, b *kkt.Point) (*kkt.Point, error) {
	whole := run.s.P.Integer
	if run.smooth != nil {
		return run.smooth.From(ctx, run.s.X(b.Z))
	}
	if whole == nil {
		solver, err := run.whole()
		if err != nil {
			return nil, err
		}
		return solver.Improve(ctx, b.Z, b.Branch)
	}
	held, set := *run.s.P, *run.s.P.X
	set.Lo, set.Hi = slices.Clone(set.Lo), slices.Clone(set.Hi)
	z := slices.Clone(b.Z)
	for j, is := range whole {
		if is {
			z[j] = math.Round(z[j])
			set.Lo[j], set.Hi[j] = z[j], z[j]
		}
	}
	held.X = &set
	s, err := kkt.New(&held)
	if err != nil {
		return nil, err
	}
	solver, err := pieces.New(s, pieces.Options{Observer: run.observe})
	if err != nil {
		return nil, err
	}
	return solver.Improve(ctx, z, b.Branch)
}

// integers prepares a run with integer variables of the leader: the search finds its first point, and there is no other way.
func (run *systemRun) integers() error {
	why := tree.Applies(run.s)
	if run.opts.Search == SearchNone {
		why = "no search was asked for"
	}
	if why == "" {
		return nil
	}
	return run.p.continuous(why)
}

// feasible finds a point of the system where f itself gives no bound to search by: the first point that branch and bound meets without an objective.
func (run *systemRun) feasible(ctx context.Context) error {
	flat := *run.s
	flat.Objective = &kkt.Objective{Quadratic: true, Convex: true, Lin: make([]float64, run.s.N)}
	found, err := tree.Solve(ctx, &flat, tree.Options{Gap: 1, Work: modestWork, Threads: run.opts.Threads})
	if err != nil {
		return err
	}
	run.tree = found
	if found.Best == nil {
		return nil
	}
	run.best, run.err = run.polish(ctx, &kkt.Point{Z: found.Best.Z, Branch: found.Best.Branch})
	var unbounded *pieces.Unbounded
	if errors.As(run.err, &unbounded) {
		return run.err
	}
	return nil
}

// course notes how bound and objective went, and when, where the search has more than an end. The bound is at no time above what is claimed in the end.
func (run *systemRun) course(found *tree.Result, claim, sign float64) {
	if len(found.Trace) < 2 {
		return
	}
	for _, t := range found.Trace {
		run.globally.Trace = append(run.globally.Trace, BoundPoint{Nodes: t.Nodes, Bound: Number(sign * math.Min(t.Bound, claim)), Best: Number(sign * t.Incumbent)})
		if at, ok := run.times[t.Nodes]; ok {
			run.boundTimes = append(run.boundTimes, at)
		}
	}
	if len(run.boundTimes) < len(found.Trace) { // a run that went on from a checkpoint
		run.boundTimes = nil
	}
}

// observeTree passes the progress of the search on.
func (run *systemRun) observeTree(now tree.Progress) {
	if run.times == nil {
		run.times = map[int64]float64{}
	}
	run.times[now.Nodes] = time.Since(run.searching).Seconds()
	if run.opts.Observer == nil {
		return
	}
	_, sign := sense(&run.p.IR.Upper)
	run.opts.Observer(Progress{Start: 1, Starts: 1, Iteration: int(now.Nodes), Objective: sign * now.Incumbent, Best: sign * now.Incumbent,
		Measure: now.Gap, Calls: run.p.Numeric.Calls(), Tree: &TreeProgress{Nodes: now.Nodes, Open: now.Open, Bound: sign * now.Bound, Gap: now.Gap}})
}

// TreeProgress is how far the search for the global optimum has come; Bound is in the user's own sense.
type TreeProgress struct {
	Nodes, Open int64
	Bound, Gap  float64
}
