package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bilevelc/internal/must"
	"bilevelc/lang/diag"
	"bilevelc/runtime/document"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/qp"
	"bilevelc/runtime/status"
	"bilevelc/runtime/system"
)

// Progress is one iteration of one start, as an Observer sees it, and TreeProgress how far
// the search for the global optimum has come.
type (
	Progress     = system.Progress
	TreeProgress = system.TreeProgress
)

// Observer is told about every iteration, one call at a time.
type Observer func(Progress)

// ErrTimeLimit is the cause of a context that ends at a time limit, for callers
// who hold more than the solve to one: a run that it ends has reached a limit.
var ErrTimeLimit error = status.Time

// Solve solves the model. The error is for misuse: a *UsageError for choices
// that do not fit, a diag.List for a fault in the model's `solve` block. How
// the run ended is the result's Status, and the best point found comes with
// every one.
func (p *Problem) Solve(ctx context.Context, opts Options) (_ *Result, err error) {
	defer must.Catch(&err)
	p, done := p.borrow(ctx)
	defer done()
	if chosen, err := p.resolve(opts); err == nil && chosen.TimeLimit > 0 { // it is one for all ways that are tried; an error is told by the first of them
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, chosen.TimeLimit, ErrTimeLimit)
		defer cancel()
	}
	if p.exactTies == document.Pessimistic {
		return nil, p.unsolved()
	}
	opts = p.searching(opts)
	must.Do(p.onlyOnSystem(opts))
	onSystem, bound := "", (*Result)(nil)
	if q := p.onSystem(opts); q != nil {
		// What is too ill-conditioned for the signs of slacks and multipliers to be read off takes the other way, and so does where a system that is not linear leads nowhere.
		r, err := q.solveSystem(ctx, opts)
		_, linear := q.systemOf()
		proved := err == nil && r.Status == Infeasible && r.tree != nil // by the search, which may have what local solves have not
		if err != nil || r.Status == Solved || proved || r.Status != NumericalFailure && linear || r.endless || linear && (q != p || q.exactTies != "") || opts.Method == SystemMethod || opts.Resume != nil || ctx.Err() != nil || p.Numeric.Integer != nil {
			return r, err
		}
		onSystem = fmt.Sprintf("the solve on the KKT system ended as %s (%s)", r.Status, r.Reason)
		if q == p {
			bound = r
		}
		if r.HasPoint() { // without a certificate
			opts.Start = r.Upper.Variables
		}
	}
	if p.Numeric.Integer != nil {
		return nil, p.continuous(p.whyNot(opts), p.otherMethod(opts) != "" && p.whyNot(Options{}) == "")
	}
	if opts.Method == SystemMethod {
		return nil, &UsageError{Err: fmt.Errorf("method %s does not take this problem: %s", SystemMethod, p.whyNot(opts))}
	}
	why := p.whyNot(opts)
	if p.otherMethod(opts) != "" { // nobody has looked
		opts.Search = SearchNone
	} else if why == "" {
		why = onSystem
	}
	r, followed, err := p.follow(ctx, opts)
	if err != nil || r != nil {
		if r != nil {
			p.keepBound(r, bound)
			p.noBound(r, opts, why)
		}
		return r, err
	}
	opts, spent, moved := p.descend(ctx, opts)
	spent = spent.Add(followed)
	r = must.Get(p.solve(ctx, opts))
	if ctx.Err() != nil && !r.HasPoint() && opts.Start != nil {
		// The end came before the last stage had a point: the one before it has.
		ended := r
		if r, err = p.Eval(context.WithoutCancel(ctx), opts.Start, Options{Oracle: opts.Oracle, Solver: opts.Solver, Seed: opts.Seed, offSystem: true}); err != nil {
			return ended, nil
		}
		r.Status, r.Reason, r.Method = ended.Status, ended.Reason, ended.Method
		must.Do(p.redact(ctx, r))
	}
	r.Calls = r.Calls.Add(spent)
	if moved != "" && !slices.Contains(r.Notes, moved) {
		r.Notes = append(r.Notes, moved)
	}
	p.keepBound(r, bound)
	p.noBound(r, opts, why)
	return r, nil
}

// continuous is an error for a problem with integer variables that the search for the global optimum cannot take, for the given reason: a local solve would move
// them off the whole numbers. withoutOptions says that the search takes it where the options name no other method.
func (p *Problem) continuous(why string, withoutOptions bool) error {
	for _, v := range p.IR.Upper.Vars {
		if v.Integer {
			var diags diag.List
			d := diags.Errorf(diag.RunInteger, v.Span, "`%s` takes whole numbers only, and this run has no global search: %s", v.Name, why)
			d.Detail = "A local solve moves the leader's variables continuously; rounding what it ends at proves nothing."
			switch lo, hi := p.Numeric.X.Lo[v.Offset], p.Numeric.X.Hi[v.Offset]; {
			case withoutOptions:
				d.Fix = "leave out the method, oracle, solver and settings"
			case kkt.Applies(p.Numeric) == "" && p.Numeric.Facts.DegreeF <= 2:
				d.Fix = "`bilevelc export` writes the model for a mixed-integer solver"
			case v.Shape.Rank == 0 && v.Axes == nil:
				d.Fix = fmt.Sprintf("make a param of it, `param %s: int = %g`, and `bilevelc sweep MODEL --over %[1]s=%[2]g..%g` solves the model for each of its values", v.Name, lo, hi)
			default:
				d.Fix = "make params of its entries, and `bilevelc sweep` solves the model for each of their values"
			}
			return diags
		}
	}
	return nil
}

// solve is Solve for one problem.
func (p *Problem) solve(ctx context.Context, opts Options) (_ *Result, err error) {
	defer must.Catch(&err)
	watch := stopwatch{last: time.Now()}
	named := p.otherMethod(opts) != ""
	opts, c, h, err := p.choose(opts)
	must.Do(err)
	settings := settingsOf(c.forMethod, c.forOracle, c.forSolver)
	if opts.Resume != nil {
		must.Do(usage(opts.Resume.fits(p, opts, settings)))
	}
	start, given, err := p.start(opts)
	must.Do(err)
	r := p.newResult(opts)
	head := Checkpoint{Model: r.Model, Digest: r.Digest, Method: opts.Method, Oracle: opts.Oracle, Solver: opts.Solver,
		Seed: opts.Seed, Settings: settings, Start: given, Automatic: opts.automatic, Open: opts.open}
	runs, j, coupled, err := p.minimize(ctx, c, opts, start, head)
	if err != nil {
		if !errors.As(err, new(*outer.PanicError)) {
			err = &UsageError{Err: err}
		}
		return nil, err
	}
	best := runs.Best
	r.Status, r.Reason = best.Status, best.Reason
	n, cutOff := unfinished(runs.Runs)
	if n > 0 && ctx.Err() != nil && r.Status != Interrupted {
		limit := status.LimitOf(ctx)
		switch {
		case limit == "":
			r.Status, r.Reason = Interrupted, fmt.Sprintf("interrupted: %d of %d starts had not ended; the best one: %s, %s", n, opts.Starts, best.Status, best.Reason)
		case r.Status == Solved || r.Status == BudgetSpent:
			r.Reason += fmt.Sprintf("; the %s cut off %d of %d starts", limit, cutOff, opts.Starts)
		}
	}
	r.Settings = settings
	r.Calls = runs.Calls
	r.rewind = func() (*Checkpoint, error) { return j.final(runs.Runs) }
	if r.Status != Solved && r.Status != BudgetSpent || n > 0 {
		if r.Checkpoint, err = r.rewind(); err != nil {
			r.Notes = append(r.Notes, err.Error())
		}
	}
	r.Iterations = best.Iterations
	_, sign := sense(&p.IR.Upper)
	p.describeStarts(r, runs, start, given != nil || p.IR.Start != nil, coupled)
	r.Phases = p.phases
	r.Phases.Solve = watch.lap()
	for _, t := range best.Trace.All() {
		r.Trace = append(r.Trace, TracePoint{Iteration: t.Iteration, Objective: Number(sign*t.F + 0), Best: Number(sign*t.Best + 0),
			Step: Number(t.Step), Measure: Number(t.Measure), Calls: t.Calls})
		r.Phases.Trace = append(r.Phases.Trace, t.Seconds)
	}
	defer func() {
		r.Phases.Certify = watch.lap()
		r.Time = r.Phases.Total()
	}()
	if best.Best == nil || coupled != nil && coupled.unmet != nil && p.contradiction() == qp.Infeasible {
		if best.Best != nil {
			r.Status = Infeasible
		}
		p.blank(r, start)
		p.explainFailure(r, nil)
		return r, nil
	}
	plain := must.Get(h.WithoutPenalty(context.WithoutCancel(ctx), best.Best))
	looking, cancel := withGrace(ctx)
	defer cancel()
	if p.exact != nil && p.exact.exactTies == document.LeastNorm && !named && r.Status != Unbounded {
		own, err := p.ownAnswer(looking, r, h, runs.Runs, plain, func(pt *oracle.Point) bool {
			return coupled == nil || len(coupled.violated(p.Numeric.Coupled, pt)) == 0
		})
		switch {
		case err != nil && ctx.Err() != nil && r.Status == Solved:
			must.Do(r.cutShort(ctx, "the follower's own answers were looked for"))
		case err != nil && looking.Err() == nil:
			return nil, err
		case own:
			if r.HasPoint() {
				err = p.exact.confirm(ctx, r)
			}
			return r, err
		}
	}
	errorY := oracle.ErrorOfY(p.Numeric, plain)
	must.Do(p.describeFor(context.WithoutCancel(ctx), r, plain, errorY))
	p.describeWeights(r, coupled, best.Certificate)
	if coupled != nil {
		for i, each := range runs.Runs {
			if len(r.Starts) > 0 && each.Result == best {
				r.Starts[i].Objective = r.Upper.Objective // to the last digit, without the penalty
			}
		}
	}
	attained, err := p.describeTies(looking, r, plain.X, plain.Lower.Y)
	if err != nil {
		r.Notes = append(r.Notes, "what the follower's regularization has done is not known: "+err.Error())
	}
	if looking.Err() != nil && r.Status == Solved && p.ties != nil {
		must.Do(r.cutShort(ctx, "the follower's other answers were looked for"))
	}
	if p.ties != nil && (p.ties.rule == document.Optimistic || p.exact == nil) && r.Status == Solved && !named {
		p.within(r, plain, attained)
	}
	switch {
	case coupled != nil && coupled.unmet != nil:
		d := r.Diagnostics.Errorf(diag.RunNoPoint, coupled.unmet.Span, "%s", r.Reason)
		d.Fix = "begin where the follower's answer reacts to x, with --start, or let more starts look, with --starts"
	case r.Status != Solved && r.Status != Unbounded:
		p.explainFailure(r, nil)
	}
	r.Stationarity.Measure, r.Stationarity.Value = best.Measure.Name, Number(best.Measure.Value)
	r.Stationarity.Delta = Number(best.Measure.Delta)
	if b := best.Predicted; b != nil {
		r.Budget = &Budget{Iterations: Number(b.Iterations), Evaluations: Number(b.Evaluations), Basis: b.Basis, Actual: best.Evaluations}
	}
	r.Parameters = map[string]Number{}
	for name, v := range best.Parameters {
		r.Parameters[name] = Number(v)
	}
	if best.Sampled != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("the point drawn at random has F = %s; the best point seen is returned",
			Number(sign*(best.Sampled.F-best.Sampled.Penalty)).Text()))
	}
	r.Certificate = must.Get(p.certificate(best, h, errorY))
	must.Do(p.confirm(ctx, r))
	if r.Status == Unbounded { // a ray shows it
		p.explainFailure(r, nil)
	}
	if opts.CheckGradient && plain.Grad != nil {
		if r.Check, err = p.checkGradient(ctx, h, plain); err != nil {
			if ctx.Err() == nil {
				return nil, err
			}
			r.Notes = append(r.Notes, "the gradient was not checked: "+context.Cause(ctx).Error())
		}
	}
	r.Calls = r.Calls.Add(h.Calls())
	return r, nil
}

// start is where the first start begins: the caller's point, the model's, or
// zero, which is then projected onto X. given is the caller's.
func (p *Problem) start(opts Options) (x, given []float64, err error) {
	defer must.Catch(&err)
	switch {
	case opts.Resume != nil && opts.Resume.Start != nil:
		return opts.Resume.Start, opts.Resume.Start, nil
	case opts.Start != nil:
		x := must.Get(p.upperPoint(opts.Start))
		return x, x, nil
	case p.IR.Start != nil:
		return p.IR.Start, nil, nil
	}
	return make([]float64, p.IR.Upper.Dim), nil, nil
}
