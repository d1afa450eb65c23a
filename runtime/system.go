package runtime

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"bilevelc/lang/diag"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/qp"
	"bilevelc/runtime/sequential"
	"bilevelc/runtime/status"
	"bilevelc/runtime/tree"
)

// A problem whose KKT system is one of linear rows and pairs is solved on that system by default:
//
//	start     the caller's, the model's, or X's point next to 0, and further ones where f is not convex
//	pieces    a local solution from each (package pieces)
//	certify   its multipliers, verified as `verify` would
//
// The result is the point itself, exact at kinks and ties. One that is smooth but not linear is solved on systems that are linearized (systemsequential.go).

// The names that a document has for what the system is solved with.
const (
	SystemMethod = "pieces"
	systemOracle = "adjoint"
	systemSolver = "activeset"
)

// systemRun is one run on the KKT system.
type systemRun struct {
	p        *Problem
	opts     Options
	s        *kkt.System
	local    localSolver
	smooth   *sequential.Solver // the local solver where the system is not linear
	curved   *kkt.System        // for the search where only constraints of the leader are not; nil where there is none, and why says why
	why      string
	solver   *pieces.Solver // on the whole system; nil until something needs it, and where that is too large
	best     *kkt.Point
	first    *kkt.Point // of the first start
	ends     []StartResult
	given    []float64 // the caller's start
	start    []float64 // of the first, in X and where the follower has an answer
	steps    int
	notes    []string
	noChoice bool // the first start's point is a minimizer of the high-point relaxation
	near     bool // the first start is the solution of a problem like this one
	trace    []TracePoint
	err      error     // why there is no better point
	ray      []float64 // along which F falls without end from best; nil where none is known

	tree     *tree.Result // nil before the search
	globally *Global      // what it says; nil where there was none
	proof    *treeProof   // of its bound

	searching  time.Time
	times      map[int64]float64 // seconds of the search, by its nodes
	boundTimes []float64
}

// searchable reports that a search may find a point where local solves have found none: a branch that the leader's constraints leave empty, a start
// at which the follower has no answer.
func (run *systemRun) searchable(err error) bool {
	var unbounded *pieces.Unbounded
	var empty *qp.EmptySetError
	return !errors.As(err, &unbounded) && !errors.As(err, &empty) && !errors.Is(err, pieces.ErrEndless)
}

// solveSystem is Solve on the KKT system of p.
func (p *Problem) solveSystem(ctx context.Context, opts Options) (*Result, error) {
	watch := stopwatch{last: time.Now()}
	var err error
	automatic := opts.automatic
	if c := opts.Resume; c != nil {
		if err := c.fitsSystem(p, opts); err != nil {
			return nil, &UsageError{Err: err}
		}
		opts.Starts, automatic = len(c.Starts), c.Automatic
		if c.Search != nil {
			opts.Gap, opts.Nodes, opts.Search = c.Search.Gap, c.Search.Nodes, c.Search.Kind
		}
	}
	opts.Method = SystemMethod
	if opts, err = p.resolve(opts); err != nil {
		return nil, err
	}
	opts.automatic = automatic && opts.Starts == outer.MostStarts
	opts.Oracle, opts.Solver = systemOracle, systemSolver
	if opts.TimeLimit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, opts.TimeLimit, ErrTimeLimit)
		defer cancel()
	}
	counted := *p
	counted.Numeric = p.Numeric.Counted()
	p = &counted
	run := &systemRun{p: p, opts: opts}
	r := p.newResult(opts)
	r.Lower.Curvature = ""
	switch err = run.prepare(); {
	case err != nil:
	case p.Numeric.Integer != nil:
		err = run.integers()
	default:
		if err = run.locally(ctx); err == nil && run.smooth == nil {
			err = run.takeBestAnswer(ctx)
		}
	}
	var usage *UsageError
	search := run.smooth == nil
	if run.curved != nil {
		run.s, search = run.curved, true
	}
	if !search {
	} else if err == nil || run.best != nil && errors.Is(err, pieces.ErrStalled) && ctx.Err() == nil || run.best == nil && run.local != nil && ctx.Err() == nil && !errors.As(err, &usage) && run.searchable(err) {
		if failed := run.global(ctx); failed != nil || run.best != nil {
			err = failed
		}
		if err != nil && run.best == nil && ctx.Err() == nil && p.Numeric.Integer == nil && run.tree != nil && run.tree.Outcome == tree.NoBound {
			if failed := run.feasible(ctx); failed != nil || run.best != nil {
				err = failed
			}
		}
	}
	if run.smooth != nil {
		if failed := run.linearized(); err == nil {
			err = failed
		}
	}
	var faults diag.List
	if errors.As(err, &usage) || errors.As(err, &faults) {
		return nil, err
	}
	r.Settings = map[string]any{}
	r.Phases = p.phases
	r.Phases.Solve = watch.lap()
	r.Trace, r.Iterations = run.trace, run.steps
	r.Notes = append(r.Notes, run.notes...)
	if len(run.ends) > 1 {
		_, sign := sense(&p.IR.Upper)
		r.Starts = run.ends
		r.Notes = append(r.Notes, startNotes(r.Starts, sign)...)
	}
	run.falls(err)
	r.Status, r.Reason = run.status(ctx, err)
	r.endless = r.Status == Unbounded || errors.Is(err, pieces.ErrEndless)
	if r.Global = run.globally; r.Global == nil && run.smooth != nil && run.curved == nil && run.best != nil && r.Status != Unbounded {
		p.noBound(r, opts, run.why)
	}
	r.tree = run.proof
	r.Phases.Bound = run.boundTimes
	r.rewind = func() (*Checkpoint, error) { return run.checkpoint(), nil }
	if r.Status == Interrupted || r.Status == LimitReached {
		r.Checkpoint = run.checkpoint()
	}
	r.Calls = p.Numeric.Calls()
	if run.best == nil {
		x := run.start
		if x == nil {
			x = make([]float64, p.IR.Upper.Dim)
		}
		p.blank(r, x)
		p.explainFailure(r, err)
		r.Time = r.Phases.Total()
		return r, nil
	}
	if run.near && run.globally == nil || run.near && run.best == run.first {
		r.Notes = append(r.Notes, followed)
	}
	if err := p.describeSystem(ctx, r, run); err != nil {
		return nil, err
	}
	r.Calls = p.Numeric.Calls()
	if err := p.confirm(ctx, r); err != nil {
		return nil, err
	}
	if r.Status == Unbounded {
		p.explainFailure(r, nil)
	}
	r.Phases.Certify = watch.lap()
	r.Time = r.Phases.Total()
	return r, nil
}

// falls takes the point and the ray of a solve that found F to fall without end.
func (run *systemRun) falls(err error) {
	var unbounded *pieces.Unbounded
	switch {
	case errors.As(err, &unbounded):
		run.ray = unbounded.Ray
		run.best = &kkt.Point{Z: unbounded.Z}
	case run.tree != nil && run.tree.Outcome == tree.Unbounded:
		run.ray = run.tree.Ray
		run.best = &kkt.Point{Z: run.tree.Best.Z}
	default:
		return
	}
	run.best.F = run.s.Value(run.best.Z)
	run.best.Branch, run.best.Biactive = run.s.BranchAt(run.best.Z)
}

// locally finds the local solutions from all starts.
func (run *systemRun) locally(ctx context.Context) error {
	p := run.p
	first, given, err := p.start(run.opts)
	if err != nil {
		return err
	}
	run.given = given
	if near := run.opts.Near; near != nil && run.opts.Resume == nil && near.HasPoint() {
		if x, err := p.upperPoint(near.Upper.Variables); err == nil {
			first, run.near = x, true
		}
	}
	projector := qp.NewProjector(p.Numeric.X, p.Numeric.Rows, p.Numeric.Dx, p.Numeric.Dy)
	projector.Attend(ctx)
	n := run.opts.Starts
	if run.opts.automatic {
		n = 1
		of := run.s
		if run.smooth != nil {
			of = run.curved
		}
		if of == nil || of.Objective == nil || tree.Applies(of) != "" || !of.Objective.Convex { // branches may have several minima
			n = outer.MostStarts
		}
	}
	draw := outer.Starts(first, p.Numeric.X, run.opts.Seed)
	skipped := max(run.opts.FirstStart, 1) - 1
	for k := range skipped {
		draw(k)
	}
	next := func(k int) ([]float64, error) {
		x := make([]float64, len(first))
		return x, projector.Project(x, draw(skipped+k))
	}
	var seen visited
	if run.opts.automatic && n > 1 && run.smooth == nil && run.s.Objective != nil {
		whole, err := run.whole()
		if err != nil {
			return err
		}
		next = seen.apart(ctx, run.s, whole.Follower(), next)
	}
	_, sign := sense(&p.IR.Upper)
	for k := range n {
		if k > 0 && run.opts.automatic && ((run.smooth != nil || run.s.Objective == nil) && run.local.Work() >= modestWork || run.noChoice && run.smooth == nil && factorWork(run.s) >= modestWork) {
			break // as with the search: no more than about a second that nobody asked for
		}
		x, err := next(k)
		if err != nil {
			return err
		}
		if k == 0 {
			run.start = x
			if given != nil || p.IR.Start != nil {
				if note := p.moved(first, x); note != "" {
					run.notes = append(run.notes, note)
				}
			}
		}
		point, err := run.from(ctx, k, x)
		end := StartResult{Objective: Number(math.NaN()), Status: Solved}
		switch {
		case ctx.Err() != nil:
			if point != nil && run.best == nil {
				run.best = point
			}
			return context.Cause(ctx)
		case point == nil || err != nil && !errors.Is(err, pieces.ErrStalled):
			end.Status, end.Reason = NumericalFailure, err.Error()
			if run.best == nil {
				run.err = err
			}
			if errors.Is(err, pieces.ErrEndless) {
				run.best = nil // nothing is known of a minimum
				return err
			}
			var unbounded *pieces.Unbounded
			if errors.As(err, &unbounded) {
				end.Status = Unbounded
				run.ends = append(run.ends, end)
				return err
			}
		default:
			end.Objective, end.Reason = Number(sign*point.F), stationary(point)
			if err != nil {
				end.Status, end.Reason = NumericalFailure, err.Error()
			}
			if k == 0 {
				run.first = point
			}
			if run.lower(point, err) {
				run.best, run.err = point, err
			}
			seen.note(point)
		}
		run.ends = append(run.ends, end)
		if run.opts.automatic && n > 1 && seen.enough(len(run.ends)) {
			break
		}
	}
	return run.err
}

// lower reports that a point, with what kept it from a certificate, takes the place of the best one: it has a lower F, and one without a certificate one that is lower by more than rounding.
func (run *systemRun) lower(point *kkt.Point, err error) bool {
	switch {
	case run.best == nil:
		return true
	case (err == nil) == (run.err == nil):
		return point.F < run.best.F
	}
	rounding := kkt.Tolerance * math.Max(math.Abs(point.F), math.Abs(run.best.F))
	if err != nil {
		return point.F < run.best.F-rounding
	}
	return point.F <= run.best.F+rounding
}

// checkpoint is where the run goes on from.
func (run *systemRun) checkpoint() *Checkpoint {
	o := &run.opts
	c := &Checkpoint{Model: run.p.IR.Name, Digest: run.p.Digest(), Method: SystemMethod, Oracle: systemOracle, Solver: systemSolver, Seed: o.Seed,
		Settings: map[string]any{}, Start: run.given, Starts: make([]outer.StartState, max(1, o.Starts)), Automatic: o.automatic,
		Search: &SearchState{Gap: o.Gap, Nodes: o.Nodes, Kind: o.Search}}
	if run.tree != nil && run.tree.State != nil {
		c.Search.Tree = run.tree.State
	}
	return c
}

// fitsSystem reports a difference that would make a resumed run on the system another one.
func (c *Checkpoint) fitsSystem(p *Problem, opts Options) error {
	switch {
	case c.Digest != p.Digest():
		return errors.New("the checkpoint is of another model, or of other data")
	case c.Oracle != systemOracle || c.Solver != systemSolver || len(c.Settings) > 0 || len(c.Starts) == 0:
		return errors.New("the checkpoint is not one of a run on the KKT system")
	case opts.Start != nil:
		return errors.New("a run that goes on has its start already")
	case opts.Starts != 0 && opts.Starts != len(c.Starts):
		return fmt.Errorf("the checkpoint is of %d starts, not %d", len(c.Starts), opts.Starts)
	case c.Start != nil && len(c.Start) != p.IR.Upper.Dim:
		return fmt.Errorf("the checkpoint's start has %d entries, x has %d", len(c.Start), p.IR.Upper.Dim)
	}
	return nil
}

// observe passes a step on.
func (run *systemRun) observe(step pieces.Step) {
	_, sign := sense(&run.p.IR.Upper)
	run.steps++
	best := step.F
	if run.best != nil {
		best = math.Min(best, run.best.F)
	}
	calls := run.p.Numeric.Calls()
	now := TracePoint{Iteration: run.steps, Objective: Number(sign*step.F + 0), Best: Number(sign*best + 0), Measure: Number(step.Measure), Calls: calls.Total()}
	if n := len(run.trace); n == 0 || sign*float64(now.Best) <= sign*float64(run.trace[n-1].Best) {
		run.trace = append(run.trace, now)
	}
	if run.opts.Observer != nil {
		run.opts.Observer(Progress{Start: len(run.ends) + 1, Starts: max(1, run.opts.Starts), Iteration: step.Round, Objective: sign * step.F, Best: sign * best,
			Measure: step.Measure, Calls: calls})
	}
}

// status is how the run ended.
func (run *systemRun) status(ctx context.Context, err error) (Status, string) {
	var unbounded *pieces.Unbounded
	var empty *qp.EmptySetError
	var follower *pieces.FollowerError
	switch {
	case status.LimitOf(ctx) != "":
		return LimitReached, string(status.LimitOf(ctx))
	case ctx.Err() != nil:
		return Interrupted, "interrupted"
	case errors.As(err, &unbounded), run.tree != nil && run.tree.Outcome == tree.Unbounded:
		if run.p.IR.Upper.Maximize {
			return Unbounded, "F rises without bound over the upper level's set"
		}
		return Unbounded, "F falls without bound over the upper level's set"
	case run.best == nil && run.tree != nil && run.tree.Outcome == tree.Infeasible:
		return Infeasible, "no x leaves the follower an answer with which the constraints of the upper level hold"
	case run.best == nil && errors.As(err, &empty):
		return Infeasible, err.Error()
	case run.best == nil && errors.As(err, &follower) && follower.Status == activeset.Unbounded:
		return Unbounded, "the lower level falls without bound"
	case run.best == nil && err == nil:
		return LimitReached, "no point was found within the budget of the search"
	case run.best == nil:
		return NumericalFailure, err.Error()
	case errors.Is(run.err, pieces.ErrStalled):
		return NumericalFailure, run.err.Error()
	}
	if g := run.globally; g != nil && g.Proved {
		return Solved, g.Reason()
	}
	return Solved, stationary(run.best)
}

// onSystem reports that a result was made on the KKT system.
func (r *Result) onSystem() bool { return r.Lower.Solver == systemSolver }
