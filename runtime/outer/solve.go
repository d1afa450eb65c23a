package outer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/qp"
	"bilevelc/runtime/status"
)

// errTime is the cause of a context that ends at Limits.Time.
var errTime = errors.New("time limit")

// Solve runs a method on h. The error is not nil only for a misuse of the API;
// everything that can happen on the way is a Status.
func Solve(ctx context.Context, h oracle.Hyperobjective, name string, m Method, opts Options) (*Result, error) {
	if opts.Resume == nil && len(opts.Start) != h.Dim() {
		return nil, fmt.Errorf("outer: start has %d entries, x has %d", len(opts.Start), h.Dim())
	}
	run := &Run{h: h, limits: opts.Limits, source: rand.NewPCG(opts.Seed, stream), projector: projectorOf(h)}
	run.Rand = rand.New(run.source)
	if opts.Limits.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, opts.Limits.Time, errTime)
		defer cancel()
	}
	result := &Result{}
	end := func(err error, last *snapshot) (*Result, error) {
		result.Status, result.Reason = classify(err)
		result.Iterations, result.Evaluations = run.Iteration, run.Evaluations
		if last != nil {
			var encoding error
			if result.Checkpoint, encoding = last.encode(name); encoding != nil {
				return nil, encoding
			}
		}
		finish(context.WithoutCancel(ctx), run, m, result)
		if result.Status == status.BudgetSpent {
			result.Reason += "; " + result.Measure.String()
		}
		return result, nil
	}
	if opts.Resume != nil {
		if err := opts.Resume.restore(name, run, m); err != nil {
			return nil, err
		}
	} else {
		run.Start = make([]float64, h.Dim())
		if err := h.Project(run.Start, opts.Start); err != nil {
			return end(err, nil)
		}
		if err := m.Begin(ctx, run); err != nil {
			return end(err, nil)
		}
	}
	if p, ok := m.(interface{ Predict(*Run) *Budget }); ok {
		result.Predicted = p.Predict(run)
	}
	for {
		last := run.snapshot(m)
		if err := run.check(ctx); err != nil {
			return end(err, last)
		}
		if run.limits.Iterations > 0 && run.Iteration >= run.limits.Iterations {
			return end(&limitError{fmt.Sprintf("%d iterations", run.limits.Iterations)}, last)
		}
		reason, err := m.Step(ctx, run)
		if errors.As(err, new(spent)) {
			last = nil // there is nothing to go on with
		}
		if err != nil {
			return end(err, last)
		}
		run.Iteration++
		if opts.Observer != nil {
			opts.Observer.Observe(run.progress(m))
		}
		if reason != "" {
			return end(done(reason), nil)
		}
	}
}

// stream keeps a run's random numbers apart from those of the data generators
// that use the same seed.
const stream = 0x6f75746572 // "outer"

func (r *Run) progress(m Method) Progress {
	x, f, step, measure := m.Iterate()
	p := Progress{Iteration: r.Iteration, Evaluations: r.Evaluations, F: f, Step: step, Measure: measure, X: x, Calls: r.Calls(), Best: f}
	if r.best != nil {
		p.Best = r.best.F
	}
	return p
}

// done is how a method's own end travels through classify.
type done string

func (d done) Error() string { return string(d) }

// spent is the end of a method whose theorem promises something of an iterate
// drawn at random within a budget, not that any target is met: it says which
// budget is used up.
type spent string

func (s spent) Error() string { return string(s) }

// stuck is the end of a method that cannot go on without having met its target.
type stuck string

func (s stuck) Error() string { return string(s) }

// classify turns the end of a run into a status and a reason.
func classify(err error) (status.Status, string) {
	var (
		finished   done
		budget     spent
		limit      *limitError
		empty      *qp.EmptySetError
		infeasible *oracle.InfeasibleError
		lower      *oracle.UnboundedError
		upper      unboundedError
	)
	switch {
	case errors.As(err, &finished):
		return status.Solved, string(finished)
	case errors.As(err, &budget):
		return status.BudgetSpent, err.Error()
	case errors.As(err, &limit), errors.Is(err, errTime):
		return status.LimitReached, err.Error()
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return status.Interrupted, "interrupted"
	case errors.As(err, &empty), errors.As(err, &infeasible):
		return status.Infeasible, err.Error()
	case errors.As(err, &lower), errors.As(err, &upper):
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
	result.Best = run.bestPoint
	if result.Best == nil || result.Best.Grad == nil {
		if pt, err := run.point(ctx, run.best.X); err == nil {
			result.Best = pt
		}
	}
	result.Measure = Measure{Name: "none", Value: math.NaN()}
	if result.Best == nil || result.Best.Grad == nil {
		return
	}
	if err := m.Finish(ctx, run, result); err != nil && result.Reason != "" {
		result.Reason += "; the stationarity measure could not be made: " + err.Error()
	}
}

// preferIterate makes a method's last iterate the best point where their values
// differ by rounding alone: it is the one whose stationarity the method has seen.
func preferIterate(ctx context.Context, run *Run, result *Result, iterate *Sample) {
	if result.Best.F < iterate.F-noise(iterate.F) || distance(result.Best.X, iterate.X) == 0 {
		return
	}
	if pt, err := run.point(ctx, iterate.X); err == nil {
		result.Best = pt
	}
}

// projectorOf is the description of X and D that h has, or the whole space.
func projectorOf(h oracle.Hyperobjective) *qp.Projector {
	if c, ok := h.(interface{ Projector() *qp.Projector }); ok {
		return c.Projector()
	}
	n := h.Dim()
	set := &problem.Set{Lo: make([]float64, n), Hi: make([]float64, n)}
	for j := range set.Lo {
		set.Lo[j], set.Hi[j] = math.Inf(-1), math.Inf(1)
	}
	rows := &problem.Rows{A: sparse.FromDense(0, n, nil), B: sparse.FromDense(0, 0, nil)}
	return qp.NewProjector(set, rows, n, 0)
}

// Checkpoint is the state of a run between two iterations. It encodes to JSON
// without loss; a run resumed from it, on the same problem with the same
// settings, equals the uninterrupted one bit for bit.
type Checkpoint struct {
	Method      string          `json:"method"`
	State       json.RawMessage `json:"state"`
	Start       []float64       `json:"start"`
	Iteration   int             `json:"iteration"`
	Evaluations int             `json:"evaluations"`
	Best        *Sample         `json:"best"`
	Random      []byte          `json:"random"`
	Point       []byte          `json:"point,omitempty"` // Best in full, where it was at hand
	Hyper       []byte          `json:"hyper,omitempty"` // the Hyperobjective's own state
}

// stateful is a Hyperobjective whose results depend on earlier calls (through
// warm starts), with that memory made explicit.
type stateful interface {
	Snapshot() any
	EncodeSnapshot(any) ([]byte, error)
	Restore([]byte) error
}

// snapshot is a checkpoint not yet encoded.
type snapshot struct {
	method, hyper any
	run           Run // a copy
	random        []byte
	h             oracle.Hyperobjective
}

func (r *Run) snapshot(m Method) *snapshot {
	s := &snapshot{method: m.Snapshot(), run: *r, h: r.h}
	s.random, _ = r.source.MarshalBinary() // never fails
	if h, ok := r.h.(stateful); ok {
		s.hyper = h.Snapshot()
	}
	return s
}

func (s *snapshot) encode(name string) (*Checkpoint, error) {
	state, err := json.Marshal(s.method)
	if err != nil {
		return nil, fmt.Errorf("outer: state of %s: %w", name, err)
	}
	c := &Checkpoint{Method: name, State: state, Start: s.run.Start, Iteration: s.run.Iteration,
		Evaluations: s.run.Evaluations, Best: s.run.best, Random: s.random}
	if p := s.run.bestPoint; p != nil {
		if c.Point, err = oracle.EncodePoint(p); err != nil {
			return nil, err
		}
	}
	if h, ok := s.h.(stateful); ok {
		if c.Hyper, err = h.EncodeSnapshot(s.hyper); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *Checkpoint) restore(name string, r *Run, m Method) error {
	if c.Method != name {
		return fmt.Errorf("outer: the checkpoint is of method %s, not %s", c.Method, name)
	}
	if len(c.Start) != r.Dim() {
		return fmt.Errorf("outer: the checkpoint is of a problem with %d entries of x, not %d", len(c.Start), r.Dim())
	}
	if err := r.source.UnmarshalBinary(c.Random); err != nil {
		return fmt.Errorf("outer: checkpoint: %w", err)
	}
	if h, ok := r.h.(stateful); ok && c.Hyper != nil {
		if err := h.Restore(c.Hyper); err != nil {
			return fmt.Errorf("outer: checkpoint: %w", err)
		}
	}
	if c.Point != nil {
		var err error
		if r.bestPoint, err = oracle.DecodePoint(c.Point); err != nil {
			return fmt.Errorf("outer: checkpoint: %w", err)
		}
	}
	r.Start, r.Iteration, r.Evaluations, r.best = c.Start, c.Iteration, c.Evaluations, c.Best
	if err := m.Restore(c.State); err != nil {
		return fmt.Errorf("outer: checkpoint: %w", err)
	}
	return nil
}
