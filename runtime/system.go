package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"bilevelc/internal/must"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/named"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/system"
	"bilevelc/runtime/tolerance"
	"bilevelc/runtime/tree"
)

// SystemMethod is the name that a document has for what the system is solved with.
const SystemMethod = system.Method

// solveSystem is Solve on the KKT system of p. The result is the point itself, exact at kinks and ties.
func (p *Problem) solveSystem(ctx context.Context, opts Options) (_ *Result, err error) {
	defer must.Catch(&err)
	watch := stopwatch{last: time.Now()}
	_, linear := p.systemOf()
	if opts.open { // by the work that one takes, however many variables there are
		opts.automatic = true
	}
	automatic := opts.automatic
	if c := opts.Resume; c != nil {
		must.Do(usage(c.fitsSystem(p, opts)))
		opts.Starts, automatic = len(c.Starts), c.Automatic
		if s := c.Search; s != nil {
			if opts.Gap = s.Gap; opts.Search == SearchBudget && opts.Nodes == 0 { // nothing else is asked for
				opts.Nodes, opts.Search = s.Nodes, s.Kind
			}
		}
	}
	opts.Method = SystemMethod
	opts = must.Get(p.resolve(opts))
	opts.automatic = automatic && opts.Starts == outer.MostStarts()
	opts.Oracle, opts.Solver = system.Oracle, system.Solver
	p = p.counted()
	var first, given []float64 // where the first start is, and where the caller said
	near := false              // it is the solution of a problem like this one
	checkpoint := func(state *tree.State) *Checkpoint {
		return &Checkpoint{Model: p.IR.Name, Digest: p.Digest(), Method: SystemMethod, Oracle: system.Oracle, Solver: system.Solver, Seed: opts.Seed,
			Settings: map[string]any{}, Start: given, Starts: make([]outer.StartState, max(1, opts.Starts)), Automatic: opts.automatic,
			Search: &SearchState{Gap: opts.Gap, Nodes: opts.Nodes, Kind: opts.Search, Tree: state}}
	}
	_, sign := sense(&p.IR.Upper)
	choices := system.Options{Linear: linear, Favour: p.tieRule() != "", Sign: sign, Starts: opts.Starts, Automatic: opts.automatic, Small: p.small(), FirstStart: opts.FirstStart,
		Seed: opts.Seed, Threads: opts.Threads, Cost: p.callCost(), Search: opts.Search, Gap: opts.Gap, Nodes: opts.Nodes, Model: p.IR.Name, Digest: p.Digest(), Observer: opts.Observer}
	choices.Open = opts.Start == nil && p.IR.Start == nil && opts.Near == nil && (opts.Resume == nil || opts.Resume.Start == nil)
	choices.Begin = func() ([]float64, error) {
		if first, given, err = p.start(opts); err != nil {
			return nil, err
		}
		if r := opts.Near; r != nil && opts.Resume == nil && r.HasPoint() {
			if x, err := p.upperPoint(r.Upper.Variables); err == nil {
				first, near = x, true
			}
		}
		return first, nil
	}
	if c := opts.Resume; c != nil && c.Search != nil {
		choices.Resume = c.Search.Tree
	}
	if opts.Keep != nil {
		choices.Keep = func(state *tree.State) { opts.Keep(checkpoint(state)) }
		choices.KeepEvery = cmp.Or(opts.KeepEvery, defaultEvery)
	}
	run, err := system.Solve(ctx, p.Numeric, choices)
	if whole, ok := errors.AsType[*system.WholeNumbers](err); ok {
		err = p.continuous(whole.Why, false)
	}
	must.Do(err)
	solved, certified := watch.lap(), 0.0
	describe := func() *Result { // the best point, verified
		r := p.newResult(opts)
		r.Lower.Curvature = ""
		r.Settings = map[string]any{}
		r.Phases = p.phases
		r.Phases.Solve = solved
		r.Trace, r.Iterations = run.Trace, run.Steps
		if run.Start != nil && (given != nil || p.IR.Start != nil) {
			if note := p.moved(first, run.Start); note != "" {
				r.Notes = append(r.Notes, note)
			}
		}
		if len(run.Ends) > 1 {
			r.Starts = run.Ends
			r.Notes = append(r.Notes, startNotes(r.Starts, sign)...)
		}
		if run.Covered > 0 {
			r.Notes = append(r.Notes, fmt.Sprintf("no start was made from %d more points: over the rows of both levels f leads from each of them to no lower value", run.Covered))
		}
		r.Status, r.Reason, r.endless = run.Status, run.Reason, run.Endless
		if r.Global = run.Global; r.Global == nil && run.Smooth != nil && (run.Curved == nil || r.endless) && run.Best != nil && r.Status != Unbounded {
			p.noBound(r, opts, cmp.Or(run.Why, run.Reason))
		}
		r.tree = run.Proof
		r.Phases.Bound = run.BoundTimes
		end := func() *Checkpoint {
			if run.Tree == nil {
				return checkpoint(nil)
			}
			return checkpoint(run.Tree.State)
		}
		r.rewind = func() (*Checkpoint, error) { return end(), nil }
		if r.Status == Interrupted || r.Status == LimitReached || run.Tree != nil && run.Tree.Outcome == tree.LimitReached {
			r.Checkpoint = end()
		}
		r.Calls = p.Numeric.Calls()
		if run.Best == nil {
			x := run.Start
			if x == nil {
				x = make([]float64, p.IR.Upper.Dim)
			}
			p.blank(r, x)
			p.explainFailure(r, run.Err)
			r.Time = r.Phases.Total()
			return r
		}
		if near && run.Global == nil || near && run.Best == run.First {
			r.Notes = append(r.Notes, followed)
		}
		p.describeSystem(ctx, r, run)
		r.Calls = p.Numeric.Calls()
		must.Do(p.confirm(ctx, r))
		if r.Status == Unbounded {
			p.explainFailure(r, nil)
		}
		certified += watch.lap()
		r.Phases.Certify = certified
		r.Time = r.Phases.Total()
		return r
	}
	r := describe()
	looking, cancel := withGrace(ctx)
	defer cancel()
	refused := func(r *Result) bool {
		return r.HasPoint() && (run.Status == Solved && r.Status == NumericalFailure || r.rough())
	}
	for next := r; refused(next) && looking.Err() == nil && run.Refuse(ctx, next.Reason); {
		before := next.Verification
		if next = describe(); next.Verification != nil && before != nil {
			*next.Verification = next.Verification.Add(*before)
		}
		if refused(next) {
			continue
		}
		// Where the follower's own answer at the x that was refused is better for the leader, another way goes on from there.
		if at, err := p.Eval(looking, r.Upper.Variables, Options{Seed: opts.Seed, offSystem: true}); err != nil || !at.HasPoint() || sign*float64(at.Upper.Objective-next.Upper.Objective) >= -tolerance.SolveAccuracy*math.Abs(float64(next.Upper.Objective)) {
			r = next
		}
	}
	return r, nil
}

// fitsSystem reports a difference that would make a resumed run on the system another one.
func (c *Checkpoint) fitsSystem(p *Problem, opts Options) error {
	err := c.fitsRun(p, opts)
	switch {
	case err != nil:
		return err
	case c.Oracle != system.Oracle || c.Solver != system.Solver || len(c.Settings) > 0 || len(c.Starts) == 0:
		return errors.New("the checkpoint is not one of a run on the KKT system")
	case c.Search != nil && opts.Gap != 0 && opts.Gap != c.Search.Gap:
		return fmt.Errorf("the checkpoint is of a search to the gap %g, not %g", cmp.Or(c.Search.Gap, tolerance.Target), opts.Gap)
	}
	return nil
}

// describeSystem fills a result with the best point of a run on the system.
func (p *Problem) describeSystem(ctx context.Context, r *Result, run *system.Run) {
	best := run.Best
	pt := system.PointAt(p.Numeric, run.System, best.Z, best.Multipliers)
	must.Do(p.describeFor(context.WithoutCancel(ctx), r, pt, pt.Lower.ErrorBound))
	p.describeOwnAnswer(ctx, r, pt)
	if best.Multipliers != nil && p.Numeric.Coupled != nil {
		r.Upper.Multipliers = named.Families(p.IR.Coupled, best.Multipliers.Coupled)
	}
	if best.Multipliers != nil || len(best.Leaves) > 0 {
		var residual float64
		r.Certificate, residual = run.Certificate()
		r.Stationarity.Measure, r.Stationarity.Value, r.Stationarity.Delta = system.Measure, Number(residual), 0
	} else { // F falls on from here, or it ended before there was a certificate
		r.Certificate = &certify.Certificate{}
		r.Stationarity.Measure, r.Stationarity.Value = noMeasure, Number(math.NaN())
	}
	r.Certificate.Lower = p.lowerCertificate(pt, pt.Lower.ErrorBound)
	if run.Ray != nil {
		r.Certificate.Ray = system.Ray(p.Numeric, run.System, run.Ray)
		return
	}
	if best.SecondOrder == kkt.Fails && (run.Global == nil || !run.Global.Proved) {
		r.Notes = append(r.Notes, "F curves the wrong way along the branch at this point, and no better point was found along it")
	}
	p.describeExactTies(ctx, r, run, pt)
}

// describeOwnAnswer says, where rows of a follower with one answer hold within a tolerance only, what F is at its answer with these
// rows held as they are at x, if that is something else. The system's rows hold next to the terms of x in them; beside these the answer may be small, and what they leave open of it large.
func (p *Problem) describeOwnAnswer(ctx context.Context, r *Result, pt *oracle.Point) {
	if pt.Lower.Residuals.Primal == 0 || p.ties != nil || p.exactTies != "" || p.IR.Transformed != nil {
		return
	}
	h := make([]float64, p.Numeric.Rows.Len())
	p.Numeric.Rows.Residual(h, pt.X, pt.Lower.Y)
	if p.withinTolerance(pt, h) == "" && !(p.leftByRows(pt, h) > tolerance.Target*math.Abs(float64(r.Upper.Objective))) {
		return
	}
	looking, cancel := withGrace(ctx)
	defer cancel()
	own, err := p.Evaluate(looking, pt.X)
	if err != nil {
		return
	}
	if f := float64(r.Upper.Objective); math.Abs(own.F-f) > own.Accuracy+tolerance.Target*math.Max(math.Abs(f), math.Abs(own.F)) {
		r.Notes = append(r.Notes, fmt.Sprintf("at the follower's answer to this x with its rows held to rounding F is %s", Number(own.F).Text()))
	}
}

// leftByRows is what F may be off, to first order, as y is where rows are off by more than their rounding: beside large terms of x that of a few roundings may be as large as y.
func (p *Problem) leftByRows(pt *oracle.Point, h []float64) float64 {
	off, rounding := 0.0, p.answerRounding(pt.X, pt.Lower.Y)
	for i, kind := range p.Numeric.Rows.Kind {
		if length, over := linalg.RowNorm(p.Numeric.Rows.B, i), kind.Over(h[i]); length > 0 && over > rounding[i] {
			off = math.Max(off, over/length)
		}
	}
	if off == 0 {
		return 0
	}
	slope := make([]float64, p.Numeric.AnswerLen())
	p.Numeric.F.GradY(slope, pt.X, p.Numeric.Answer(pt.Lower.Y, pt.Lower.Lambda))
	return off * linalg.Norm(slope[:p.Numeric.Dy])
}

// onSystem reports that a result was made on the KKT system.
func (r *Result) onSystem() bool { return r.Lower.Solver == system.Solver }
