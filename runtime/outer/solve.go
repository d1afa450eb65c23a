package outer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"bilevelc/internal/each"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/qp"
	"bilevelc/runtime/status"
)

// FinishGrace is how long a run may go on once its context has ended, to bring its best
// point, its measure and its verification into order.
const FinishGrace = 100 * time.Millisecond

// solving is one run on its way.
type solving struct {
	run    *Run
	method Method
	name   string
	opts   Options
	result *Result
	last   *snapshot // before the iteration at work
}

// Solve runs a method on h. The error is for a misuse of the API, or a
// *PanicError; everything else that can happen on the way is a Status.
//
// When ctx ends Solve returns within abandonGrace, whatever the run is at: what
// does not look at its context by then is left to end by itself, with h, which is not to
// be used further, and the result is of the last iteration that ended and of the best point seen.
func Solve(ctx context.Context, h oracle.Hyperobjective, name string, m Method, opts Options) (*Result, error) {
	if opts.Resume == nil && len(opts.Start) != h.Dim() {
		return nil, fmt.Errorf("outer: start has %d entries, x has %d", len(opts.Start), h.Dim())
	}
	s := &solving{method: m, name: name, opts: opts, result: &Result{name: name}, run: newRun(h, nil, opts.Seed)}
	s.run.limits = opts.Limits
	s.run.projector.Attend(ctx)
	if opts.Resume != nil {
		if err := opts.Resume.restore(name, s.run, m); err != nil {
			return nil, err
		}
	}
	type outcome struct {
		result *Result
		err    error
	}
	gate := &gate{}
	s.opts.Observer, s.opts.Keep = through(gate, opts.Observer), through(gate, opts.Keep)
	ended := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if v := recover(); v != nil {
				o = outcome{err: panicked(v)}
			}
			ended <- o
		}()
		o.result = s.solve(ctx)
	}()
	select {
	case o := <-ended:
		return o.result, o.err
	case <-ctx.Done():
	}
	select {
	case o := <-ended:
		return o.result, o.err
	case <-time.After(FinishGrace * 3 / 2):
	}
	gate.close()
	return s.run.published.result(context.Cause(ctx), name), nil
}

// begin prepares the method at the start, or, where F has no value or gradient
// there, at the nearest point of a part of X inside of it: as far inside as there
// is room, then less.
func (s *solving) begin(ctx context.Context) error {
	run := s.run
	first := s.method.Begin(ctx, run)
	if !errors.As(first, new(*oracle.LowerError)) {
		return first
	}
	edge := slices.Clone(run.Start)
	widths, direction := run.projector.Widths(), make([]float64, len(edge))
	for share := 0.5; share > qp.Nearest; share /= 8 {
		interior := run.projector.Interior(share)
		clear(direction)
		// From the start itself; and from points around it, as it may lie inside X
		// and yet on the edge of a domain.
		// 4 is how many points around a start are tried at each distance: one of them is on the right side of a hyperplane but for one time
		// in sixteen.
		for range 5 {
			inside := each.Below(len(edge), func(j int) float64 { return edge[j] + share*widths[j]*direction[j] })
			run.Direction(direction)
			if interior.Project(inside, inside) != nil || slices.Equal(inside, run.Start) {
				continue
			}
			run.Start, run.width = inside, run.widthAt(inside)
			if err := s.method.Begin(ctx, run); !errors.As(err, new(*oracle.LowerError)) {
				return err
			}
		}
	}
	run.Start, run.width = edge, run.widthAt(edge)
	return first
}

// solve is the run from its start, or from where it was restored to, to its end.
func (s *solving) solve(ctx context.Context) *Result {
	run, m := s.run, s.method
	if s.opts.Resume == nil {
		run.Start = make([]float64, run.Dim())
		if err := run.h.Project(run.Start, s.opts.Start); err != nil {
			return s.end(ctx, err)
		}
		run.width = run.widthAt(run.Start)
		if err := s.begin(ctx); err != nil {
			return s.end(ctx, err)
		}
	}
	run.begun = true
	if s.result.Predicted = m.Predict(run); s.result.Predicted != nil {
		if s.opts.Announce != nil {
			s.opts.Announce(s.result.Predicted)
		}
		if why := s.hopeless(ctx); why != nil {
			return s.end(ctx, why)
		}
	}
	kept, since := time.Now(), s.clock()
	if run.Iteration == 0 && run.trace.Every == 0 {
		run.traced(m, since())
	}
	var lowest []float64 // F before each of the last gainsOver iterations
	for {
		s.last = run.snapshot(m)
		run.published.iteration(s.last)
		if keep := s.opts.Keep; keep != nil && time.Since(kept) >= s.opts.Every {
			// A state that cannot be written down ends nothing: the caller is told by
			// Result.State where it matters.
			if c, err := s.last.encode(s.name); err == nil {
				keep(c)
			}
			kept = time.Now()
		}
		if err := run.check(ctx); err != nil {
			return s.end(ctx, err)
		}
		if run.limits.Iterations > 0 && run.Iteration >= run.limits.Iterations {
			return s.end(ctx, &limitError{fmt.Sprintf("%d iterations", run.limits.Iterations)})
		}
		if gain := run.limits.Gain; gain > 0 && run.best != nil {
			if lowest = append(lowest, run.best.F); len(lowest) > gainsOver {
				if lowest[0]-run.best.F < gain {
					return s.end(ctx, done("F improves by little"))
				}
				lowest = lowest[1:]
			}
		}
		reason, err := m.Step(ctx, run)
		if err != nil {
			return s.end(ctx, err)
		}
		run.Iteration++
		run.traced(m, since())
		if s.opts.Observer != nil {
			s.opts.Observer(run.progress(m))
		}
		if reason != "" {
			return s.end(ctx, done(reason))
		}
	}
}

// clock measures the seconds of the run, from those of its trace on.
func (s *solving) clock() func() float64 {
	before, began := 0.0, time.Now()
	if all := s.run.trace.All(); len(all) > 0 {
		before = all[len(all)-1].Seconds
	}
	return func() float64 { return before + time.Since(began).Seconds() }
}

// affordable is the largest derived budget, in evaluations of F, that a run without
// any limit starts on: at 30 us, which is what the quickest lower solves take, it is
// five minutes.
const affordable = 1e7

// hopeless is the end of a run whose theorem asks for more than anyone waits for, and
// to which no limit was set.
func (s *solving) hopeless(ctx context.Context) error {
	b, l := s.result.Predicted, s.opts.Limits
	_, timed := ctx.Deadline()
	if b.Chosen || b.Evaluations <= affordable || timed || l.Iterations > 0 || l.Evaluations > 0 || l.Calls > 0 {
		return nil
	}
	return &limitError{fmt.Sprintf("the budget is %.2g evaluations of F (%s), and a run without a limit starts on %.0e at most: "+
		"set a limit on iterations or time, a larger epsilon or delta, or the budget by hand", b.Evaluations, b.Basis, affordable)}
}

// end makes the result of a run that ends for a reason.
func (s *solving) end(ctx context.Context, why error) *Result {
	r := s.result
	r.Status, r.Reason = classify(why, s.run.best != nil)
	r.Iterations, r.Evaluations, r.Start, r.last, r.Trace = s.run.Iteration, s.run.Evaluations, s.run.Start, s.last, s.run.trace
	finishing := ctx
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		finishing, cancel = context.WithTimeout(context.WithoutCancel(ctx), FinishGrace)
		defer cancel()
	}
	finish(finishing, s.run, s.method, r)
	s.testUnbounded(finishing, r)
	if finishing.Err() != nil {
		// What its measure lacks is made when it goes on: it has not ended by itself.
		r.Status, r.Reason = classify(context.Cause(ctx), s.run.best != nil)
	}
	r.Calls = s.run.Calls()
	if r.Status == status.BudgetSpent {
		r.Reason += "; " + r.Measure.String()
	}
	return r
}

// stream keeps a run's random numbers apart from those of the data generators
// that use the same seed.
const stream = 0x6f75746572 // "outer"

func (r *Run) progress(m Method) Progress {
	x, f, step, measure := m.Iterate()
	p := Progress{Iteration: r.Iteration, F: f, Step: step, Measure: measure, X: x, Calls: r.Calls(), Best: f}
	if r.best != nil {
		p.Best = r.best.F
	}
	return p
}

// done is how a method's own end travels through classify.
type done string

func (d done) Error() string { return string(d) }

// Spent is the end of a method whose theorem promises something of an iterate
// drawn at random within a budget, not that any target is met: it says which
// budget is used up.
type Spent string

func (s Spent) Error() string { return string(s) }

// Stuck is the end of a method that cannot go on without having met its target.
type Stuck string

func (s Stuck) Error() string { return string(s) }

// classify turns the end of a run into a status and a reason; found says whether a
// point of F is known. That the problem has no point is a verdict on all of it: it
// takes a witness for all of it, and no point to the contrary. What fails at one
// point is a numerical failure.
func classify(err error, found bool) (status.Status, string) {
	var infeasible *oracle.InfeasibleError
	switch {
	case errors.As(err, new(done)):
		return status.Solved, err.Error()
	case errors.As(err, new(Spent)):
		return status.BudgetSpent, err.Error()
	case errors.As(err, new(*limitError)), errors.As(err, new(status.Limit)):
		return status.LimitReached, err.Error()
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return status.Interrupted, "interrupted"
	case errors.As(err, new(*qp.EmptySetError)) && !found, errors.As(err, &infeasible) && infeasible.Everywhere && !found:
		return status.Infeasible, err.Error()
	case errors.As(err, &infeasible):
		return status.NumericalFailure, err.Error() + " at this x"
	case errors.As(err, new(unboundedError)):
		return status.Unbounded, err.Error()
	}
	return status.NumericalFailure, err.Error()
}

// finish evaluates the best point in full and lets the method add its measure.
// Trouble on the way leaves out what it concerns; the status stands.
func finish(ctx context.Context, run *Run, m Method, result *Result) {
	if run.best == nil {
		return
	}
	run.limits = Limits{}
	run.projector.Attend(ctx)
	if run.bestPoint != nil {
		result.Best = run.bestPoint.Written() // what a solver has kept of its way there counts no more than in a run that goes on from a checkpoint
	}
	if result.Best == nil || result.Best.Grad == nil {
		if pt, err := run.Point(ctx, run.best.X); err == nil {
			result.Best = pt
		}
	}
	result.Measure = unmeasured()
	if result.Best == nil || result.Best.Grad == nil {
		return
	}
	if !run.begun {
		return // the method has nothing to say yet
	}
	if err := m.Finish(ctx, run, result); err != nil && result.Reason != "" {
		result.Reason += "; the stationarity measure could not be made: " + err.Error()
	}
}

func unmeasured() Measure { return Measure{Name: "none", Value: math.NaN()} }

// PreferIterate makes a method's last iterate the best point where their values
// differ by rounding alone: it is the one whose stationarity the method has seen.
func PreferIterate(ctx context.Context, run *Run, result *Result, iterate *Sample) {
	lower := run.Noise(iterate)
	if result.Status == status.Solved {
		// 10 is how many times its noise F has to fall by for a point that was met to be returned in the place of the one that was
		// certified.
		lower *= 10 // it has a certificate
	}
	if result.Best.F < iterate.F-lower || linalg.Distance(result.Best.X, iterate.X) == 0 {
		return
	}
	if pt, err := run.Point(ctx, iterate.X); err == nil {
		result.Best = pt
	}
}
