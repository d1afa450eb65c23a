// Package system solves a problem on its follower's KKT system, where that is one of linear rows and pairs:
//
//	start     where the caller says, and further starts where f is not convex
//	pieces    a local solution from each (package pieces, part by part where the whole is large; in the leader's space package reduced)
//	search    a bound, a proof or a better point (package tree)
//
// One that is smooth but not linear is solved on systems that are linearized at one point after another (package sequential).
package system

import (
	"context"
	"errors"
	"math"
	"strings"
	"time"

	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/document"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/qp"
	"bilevelc/runtime/relaxation"
	"bilevelc/runtime/sequential"
	"bilevelc/runtime/status"
	"bilevelc/runtime/tolerance"
	"bilevelc/runtime/tree"
)

// The names that a document has for what the system is solved with.
const (
	Method = "pieces"
	Oracle = "adjoint"
	Solver = "activeset"
)

// Options are the choices of a run.
type Options struct {
	Linear bool    // the system is one of linear rows and pairs (kkt.Applies); else one that sequential.Applies to
	Favour bool    // what the follower leaves open is decided in the leader's favour
	Sign   float64 // of F in the user's own sense: -1 where it is maximized
	// Begin is where the first start is. An error of it is the run's.
	Begin      func() ([]float64, error)
	Open       bool // nobody has chosen it
	Starts     int
	Automatic  bool // as many starts as the stopping rule asks for, Starts at most
	Small      bool // many starts cost little; else as many as a quarter of a second's work has room for
	FirstStart int  // as runtime.Options has it
	Seed       uint64
	Threads    int
	Cost       float64 // numbers that a call of f or g reads at most

	Search        Search
	Gap           float64 // 0: tolerance.Target
	Nodes         int64
	Resume        *tree.State // of the search
	Model, Digest string      // of the problem, for the statement of a proof

	Observer  func(Progress)
	Keep      func(*tree.State) // is given the state of a search that goes on, every so often
	KeepEvery time.Duration
}

// WholeNumbers is the error of a run with integer variables that the search cannot take, and of which it is the only way.
type WholeNumbers struct{ Why string }

func (e *WholeNumbers) Error() string { return e.Why }

// Run is what one run on the KKT system has come to. Values of F are minimized, but for those of the documents' types, which are in the user's own sense.
type Run struct {
	// System is that of the problem; where it is not linear, the one of the search, and in the end the one linearized at Best.
	System  *kkt.System
	Smooth  *sequential.Solver // the local solver where the system is not linear
	Curved  *kkt.System        // for the search where only constraints of the leader are not; nil where there is none, and Why says why
	Why     string
	Best    *kkt.Point
	First   *kkt.Point // of the first start
	Ends    []document.StartResult
	Covered int       // points that no start was made from, as f leads from each to no lower value over the rows of both levels
	Start   []float64 // of the first, in X and where the follower has an answer
	Steps   int
	Trace   []document.TracePoint
	Ray     []float64 // along which F falls without end from Best; nil where none is known

	Tree       *tree.Result     // nil before the search
	root       *tree.Result     // of its first relaxation alone, where starts were to come; nil else
	Global     *document.Global // what it says; nil where there was none
	Proof      *Proof           // of its bound
	BoundTimes []float64        // seconds to each point of Global.Trace

	Err     error // what ended the run before there was a certificate; nil where nothing did
	Status  status.Status
	Reason  string
	Endless bool // F was found to fall on and on: no other way finds more

	n         *problem.Problem
	opts      Options
	kept      []kept
	local     localSolver
	solver    *pieces.Solver // on the whole system; nil until something needs it, and where that is too large
	parted    *parted        // the local solver of a system that is too large as a whole; nil where it is another one
	seen      visited
	draw      func(k int) []float64  // points all over X, from 1 on
	projector *qp.Projector          // of starts onto X, where the follower has an answer
	leader    *qp.Projector          // of draws onto X alone
	within    *problem.Set           // X, with the box that its rows leave where it has some
	above     *relaxation.Relaxation // the high-point relaxation, and f at the minimizer of it that the first start has led to; nil where there is none
	floor     float64
	lowest    *kkt.Point      // of the follower's answers to starts of a system that is not linear, where nothing else is asked of them; nil before
	err       error           // why there is no better point
	spends    func(f float64) // of a start that may be given up: told of what it has come to, NaN where that is not known
	refused   error           // by Begin
	searching time.Time
	times     map[int64]float64 // seconds of the search, by its nodes
}

// Solve solves a problem whose calls are counted. The error is one of Begin, or a *WholeNumbers.
func Solve(ctx context.Context, n *problem.Problem, opts Options) (*Run, error) {
	run := &Run{n: n, opts: opts}
	err := run.prepare()
	if err != nil {
		run.Err, run.Status, run.Reason = err, status.NumericalFailure, err.Error()
		return run, nil
	}
	if EachSmooth(n) && !opts.Linear && run.Curved == nil && opts.Search != SearchNone {
		err = run.enumerateSmooth(ctx)
	} else if n.Integer != nil {
		err = run.integers()
	} else if err = run.locally(ctx); err == nil && run.Smooth == nil {
		err = run.takeBestAnswer(ctx)
	}
	if run.refused != nil {
		return nil, run.refused
	}
	search := run.Smooth == nil
	if run.Curved != nil {
		run.System, search = run.Curved, true
	}
	if !search {
		if s := run.withoutF(err); s != nil && ctx.Err() == nil {
			run.System = s
			if failed := run.feasible(ctx); failed != nil || run.Best != nil {
				err = failed
			}
		}
	} else if err == nil || run.Best != nil && errors.Is(err, pieces.ErrStalled) && ctx.Err() == nil || run.Best == nil && run.local != nil && ctx.Err() == nil && run.searchable(err) {
		if run.Best == nil && ctx.Err() == nil && run.pointFirst() {
			if failed := run.feasible(ctx); failed != nil || run.Best != nil {
				err = failed
			}
		}
		if run.Tree == nil && (err == nil || !errors.As(err, new(*pieces.Unbounded))) {
			if failed := run.global(ctx); failed != nil || run.Best != nil {
				err = failed
			}
		}
	}
	fallen := run.falls(err)
	if run.Smooth != nil {
		if failed := run.linearized(); err == nil {
			err = failed
		}
	}
	if fallen && run.Best != nil {
		run.Best.F = run.System.Value(run.Best.Z)
		run.Best.Branch, run.Best.Biactive = run.System.BranchAt(run.Best.Z)
	}
	if _, ok := errors.AsType[*WholeNumbers](err); ok {
		return nil, err
	}
	run.Err = err
	run.Status, run.Reason = run.status(ctx, err)
	run.Endless = run.Status == status.Unbounded || errors.Is(err, pieces.ErrEndless)
	return run, nil
}

// searchable reports that a search may find a point where local solves have found none: a branch that the leader's constraints leave empty, a start
// at which the follower has no answer.
func (run *Run) searchable(err error) bool {
	return !errors.As(err, new(*pieces.Unbounded)) && !errors.As(err, new(*qp.EmptySetError)) && !errors.Is(err, pieces.ErrEndless)
}

// falls takes the point and the ray of a solve that found F to improve without end, and the point of one that followed it far, and reports whether there was one.
func (run *Run) falls(err error) bool {
	var unbounded *pieces.Unbounded
	var endless *pieces.Endless
	switch {
	case errors.As(err, &unbounded):
		run.Ray = unbounded.Ray
		run.Best = &kkt.Point{Z: unbounded.Z}
	case run.Tree != nil && run.Tree.Outcome == tree.Unbounded:
		run.Ray = run.Tree.Ray
		run.Best = &kkt.Point{Z: run.Tree.Best.Z}
	case errors.As(err, &endless):
		run.Best = &kkt.Point{Z: endless.Z}
	default:
		return false
	}
	return true
}

// locally finds the local solutions from all starts.
func (run *Run) locally(ctx context.Context) (err error) {
	defer must.Catch(&err)
	first, err := run.opts.Begin()
	if err != nil {
		run.refused = err
		return err
	}
	n := run.n
	run.projector = qp.NewProjector(n.X, n.Rows, n.Dx, n.Dy)
	run.projector.Attend(ctx)
	run.leader = qp.NewProjector(n.X, &problem.Rows{A: sparse.Empty(n.Dx), B: sparse.Empty(0)}, n.Dx, 0)
	run.leader.Attend(ctx)
	if run.within = n.X; len(n.X.Kind) > 0 {
		within := *n.X
		within.Lo, within.Hi = n.X.Ranges(n.Dx)
		run.within = &within
	}
	most, bounds := run.opts.Starts, false // a search is to come that has bounds; else starts are all there is to look with, and go on beyond the stopping rule as long as they cost little
	if run.opts.Automatic {
		most = 1
		of := run.System
		if run.Smooth != nil {
			of = run.Curved
		}
		bounds = of != nil && of.Objective != nil && tree.Applies(of) == ""
		if !bounds || !of.Convex() { // branches may have several minima
			most = outer.MostStarts()
		}
	}
	draw := outer.Starts(first, run.within, run.opts.Seed)
	skipped := max(run.opts.FirstStart, 1) - 1
	for k := range skipped {
		draw(k)
	}
	next := func(k int) (start, error) {
		x := make([]float64, len(first))
		return start{x: x}, run.projector.Project(x, draw(skipped+k))
	}
	var seen visited
	if run.opts.Automatic && most > 1 && run.Smooth == nil && run.System.Objective != nil && run.parted == nil && (run.opts.Small || run.solver != nil) {
		whole := must.Get(run.Whole())
		_, eliminated := run.local.(*leaderSpace)
		directions := run.directions()
		if bounds { // the search looks at other answers
			directions = nil
		}
		next = seen.apart(ctx, run.System, whole.Follower(), !eliminated, directions, next)
	}
	// Further starts, as the search, take no more than about a second that nobody asked for, nor does one of them.
	share := int64(math.MaxInt64)
	switch {
	case !run.opts.Automatic:
	case !run.opts.Small:
		share = tolerance.Second / 4
	case run.Smooth != nil || run.System.Objective == nil || run.parted != nil:
		share = tolerance.Second
	}
	for k := range most {
		before := run.work()
		if k > 0 && run.opts.Automatic && (before >= share || run.atFloor() && run.Smooth == nil && factorWork(run.System) >= tolerance.Second) {
			break
		}
		if proved := k > 0 && must.Get(run.rootProves(ctx)); proved {
			return run.err
		}
		at, err := next(k)
		if stalled := (*qp.StalledError)(nil); k > 0 && errors.As(err, &stalled) {
			run.Ends = append(run.Ends, document.StartResult{Objective: document.Number(math.NaN()), Status: status.NumericalFailure, Reason: err.Error()})
			continue
		}
		if err != nil {
			return err
		}
		if k > 0 && run.opts.Automatic && run.covers(ctx, at) {
			if run.Covered++; len(run.Ends) == 1 && outer.Enough(1+run.Covered, 1, 1+run.Covered) {
				break
			}
			continue
		}
		ended := false
		if k == 0 || run.Best == nil {
			err = run.begun(ctx, k, at, &seen)
		} else {
			ended, err = run.try(ctx, at, run.Best.F, &seen, func() bool { return run.work()-before >= share })
		}
		if err != nil {
			return err
		}
		if ended || run.opts.Automatic && most > 1 && seen.enough(len(run.Ends)) && (bounds || run.work() >= tolerance.Second/4) {
			break
		}
	}
	run.seen, run.draw = seen, outer.AdditiveRecurrence(first, run.within, run.opts.Seed)
	if !bounds || run.Smooth == nil && searchedInFull(run.System) > tolerance.Second && !must.Get(run.rootProves(ctx)) { // else a search may decide
		must.Do(run.screen(ctx))
	}
	return run.err
}

// begun takes what start k leads to. An error is the end of the run.
func (run *Run) begun(ctx context.Context, k int, at start, seen *visited) error {
	sign, x := run.opts.Sign, at.x
	if k == 0 {
		run.Start = x
	}
	var point *kkt.Point
	var err error
	if at.side != nil {
		point, err = run.solver.Improve(ctx, at.z, at.side)
	}
	if at.side == nil || err != nil && ctx.Err() == nil && !errors.As(err, new(*pieces.Unbounded)) && !errors.Is(err, pieces.ErrEndless) && (point == nil || !errors.Is(err, pieces.ErrStalled)) {
		point, err = run.from(ctx, k, x)
	}
	if errors.Is(err, sequential.ErrNotFinite) {
		for inside := range run.projector.Insides(x) {
			if point, err = run.from(ctx, k, inside); !errors.Is(err, sequential.ErrNotFinite) {
				break
			}
		}
	}
	if unbounded := (*pieces.FollowerError)(nil); errors.As(err, &unbounded) && unbounded.Status == activeset.Unbounded && ctx.Err() == nil {
		if at, failed := run.admitted(ctx, x); at != nil && failed == nil {
			point, err = run.from(ctx, k, at)
		}
	}
	end := document.StartResult{Objective: document.Number(math.NaN()), Status: status.Solved}
	switch {
	case ctx.Err() != nil:
		if point != nil && run.Best == nil {
			run.Best = point
		}
		return context.Cause(ctx)
	case point == nil || err != nil && !errors.Is(err, pieces.ErrStalled):
		end.Status, end.Reason = status.NumericalFailure, err.Error()
		if run.Best == nil {
			run.err = err
		}
		if errors.Is(err, pieces.ErrEndless) {
			run.Best = nil // nothing is known of a minimum
			return err
		}
		if _, ok := errors.AsType[*pieces.Unbounded](err); ok {
			end.Status = status.Unbounded
			run.Ends = append(run.Ends, end)
			return err
		}
	default:
		end.Objective, end.Reason = document.Number(sign*point.F), stationary(point)
		if err != nil {
			end.Status, end.Reason = status.NumericalFailure, err.Error()
		}
		if k == 0 {
			run.First = point
		}
		if better(point, err, run.Best, run.err) {
			run.Best, run.err = point, err
		}
		seen.note(point)
		if err == nil {
			run.keepEnd(point)
		}
	}
	run.Ends = append(run.Ends, end)
	return nil
}

// better reports that a point, with what kept it from a certificate, takes the place of the best one: it has a lower F, and one without a certificate one that is lower by more than rounding.
func better(point *kkt.Point, err error, best *kkt.Point, of error) bool {
	switch {
	case best == nil:
		return true
	case (err == nil) == (of == nil):
		return point.F < best.F
	}
	rounding := tolerance.Sign * math.Max(math.Abs(point.F), math.Abs(best.F))
	if err != nil {
		return point.F < best.F-rounding
	}
	return point.F <= best.F+rounding
}

// working is told of work between steps.
func (run *Run) working() {
	if run.spends != nil {
		run.spends(math.NaN())
	}
}

// observe passes a step on.
func (run *Run) observe(step pieces.Step) {
	if run.spends != nil {
		run.spends(step.F)
	}
	sign := run.opts.Sign
	run.Steps++
	best := step.F
	if run.Best != nil {
		best = math.Min(best, run.Best.F)
	}
	calls := run.n.Calls()
	now := document.TracePoint{Iteration: run.Steps, Objective: document.Number(sign*step.F + 0), Best: document.Number(sign*best + 0), Measure: document.Number(step.Measure), Calls: calls.Total()}
	if n := len(run.Trace); n == 0 || sign*float64(now.Best) <= sign*float64(run.Trace[n-1].Best) {
		run.Trace = append(run.Trace, now)
	}
	if run.opts.Observer != nil {
		run.opts.Observer(Progress{Start: len(run.Ends) + 1, Starts: max(1, run.opts.Starts), Iteration: step.Round, Objective: sign * step.F, Best: sign * best,
			Measure: step.Measure, Calls: calls})
	}
}

// status is how the run ended.
func (run *Run) status(ctx context.Context, err error) (status.Status, string) {
	var follower *pieces.FollowerError
	switch {
	case run.err == nil && run.Best != nil && run.Global != nil && run.Global.Proved: // whatever has ended since
		return status.Solved, run.Global.Reason()
	case status.LimitOf(ctx) != "":
		return status.LimitReached, string(status.LimitOf(ctx))
	case ctx.Err() != nil:
		return status.Interrupted, "interrupted"
	case errors.As(err, new(*pieces.Unbounded)), run.Tree != nil && run.Tree.Outcome == tree.Unbounded:
		return status.Unbounded, status.NoBound(run.opts.Sign < 0)
	case errors.Is(err, pieces.ErrEndless):
		return status.NumericalFailure, err.Error()
	case run.Best == nil && run.Tree != nil && run.Tree.Outcome == tree.Infeasible:
		return status.Infeasible, run.noPoint()
	case run.Best == nil && errors.As(err, new(*qp.EmptySetError)):
		return status.Infeasible, err.Error()
	case run.Best == nil && errors.As(err, &follower) && follower.Status == activeset.Unbounded:
		return status.NumericalFailure, (&oracle.UnboundedError{}).Error()
	case run.Best == nil && (err == nil || run.opts.Nodes > 0 && run.Tree != nil && run.Tree.Outcome == tree.LimitReached): // the limit was asked for, and what is known is the bound
		return status.LimitReached, "no point was found within the budget of the search"
	case run.Best == nil:
		return status.NumericalFailure, err.Error()
	case errors.Is(run.err, pieces.ErrStalled):
		return status.NumericalFailure, run.err.Error()
	}
	if run.n.Integer != nil { // a local claim at fixed whole numbers says nothing of others
		if g := run.Global; g != nil && g.Why != "" && !strings.HasPrefix(g.Why, status.Spent) {
			return status.LimitReached, "the search for the best whole numbers ended without a proof: " + g.Why
		}
		return status.LimitReached, "the search for the best whole numbers ended with its budget"
	}
	return status.Solved, stationary(run.Best)
}

// noPoint says what a search that has no point has shown.
func (run *Run) noPoint() string {
	var follower *pieces.FollowerError
	switch {
	case run.n.Integer != nil:
		return "no whole numbers of the upper level satisfy its constraints and leave the follower an answer"
	case run.n.Coupled != nil:
		return "no x leaves the follower an answer with which the constraints of the upper level hold"
	case errors.As(run.err, &follower) && follower.Status == activeset.Unbounded:
		return "no x in the upper level's set leaves the follower an answer: where it has a feasible y, its objective has no bound"
	}
	return "no x in the upper level's set leaves the follower an answer"
}

// Progress is one iteration of one start, as an Observer sees it. Objective
// and Best are in the user's own sense.
type Progress struct {
	Start     int // from 1
	Starts    int
	Iteration int
	Objective float64
	Best      float64 // of this start
	Step      float64 // length of the last step
	Measure   float64 // stationarity, or an estimate of it
	Calls     problem.Calls
	Tree      *TreeProgress // of the search for the global optimum; nil before it
}

// TreeProgress is how far the search for the global optimum has come; Bound is in the user's own sense.
type TreeProgress struct {
	Nodes, Open int64
	Bound, Gap  float64
}
