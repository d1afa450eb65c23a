package outer

import (
	"fmt"
	"runtime/debug"
	"sync"

	"bilevelc/internal/await"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/problem"
)

// published is what a run has shown so far, for a caller that goes on without it.
type published struct {
	mu          sync.Mutex
	last        *snapshot // of the iteration at work
	best        *oracle.Point
	evaluations int
	calls       problem.Calls
}

// iteration publishes the state before an iteration.
func (p *published) iteration(s *snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.best, p.evaluations, p.calls = s, s.run.bestPoint, s.run.Evaluations, s.calls
}

// evaluation publishes an evaluation within an iteration.
func (p *published) evaluation(r *Run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.best, p.evaluations, p.calls = own(r.bestPoint), r.Evaluations, r.Calls()
}

// own is a copy of a point, to which the run may still add its gradient.
func own(pt *oracle.Point) *oracle.Point {
	if pt == nil {
		return nil
	}
	c := *pt
	return &c
}

// result is what there is of a run that did not notice in time why it was to end.
func (p *published) result(why error, name string) *Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &Result{name: name, last: p.last, Best: p.best, Evaluations: p.evaluations, Calls: p.calls, Measure: unmeasured()}
	r.Status, r.Reason = classify(why, p.best != nil)
	if p.last != nil {
		r.Iterations, r.Start, r.Trace = p.last.run.Iteration, p.last.run.Start, p.last.run.trace
	}
	return r
}

// gate lets what a run tells its caller through until the caller goes on without it.
type gate struct {
	mu     sync.Mutex
	closed bool
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// through is what tells to, which may be nil, while the gate is open.
func through[T any](g *gate, to func(T)) func(T) {
	if to == nil {
		return nil
	}
	return func(v T) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if !g.closed {
			to(v)
		}
	}
}

// PanicError is a fault of the program that a run met.
type PanicError struct {
	Start int // of several starts, from 1; 0 where there is one
	Value any
	Stack []byte
}

// panicked is the error of a recovered panic, to be called where it was recovered.
func panicked(v any) *PanicError {
	if f, ok := v.(*await.Fault); ok { // of a goroutine that the run had started
		return &PanicError{Value: f.Value, Stack: f.Stack}
	}
	return &PanicError{Value: v, Stack: debug.Stack()}
}

func (e *PanicError) Error() string {
	if e.Start > 0 {
		return fmt.Sprintf("start %d: %v", e.Start, e.Value)
	}
	return fmt.Sprint(e.Value)
}
