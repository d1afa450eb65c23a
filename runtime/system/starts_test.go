package system

import (
	"context"
	"testing"

	"bilevelc/runtime/document"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/problem"
)

// endless is a localSolver that works for ever, one unit a time, and is observed every tenth at the next of some values of F.
type endless struct {
	run    *Run
	values []float64
	spent  int64
}

func (e *endless) Work() int64 { return e.spent }

func (e *endless) From(ctx context.Context, _ []float64) (*kkt.Point, error) {
	for ctx.Err() == nil && e.spent < 1000 {
		e.spent++
		e.run.working()
		if e.spent%10 == 0 && len(e.values) > 0 {
			f := e.values[0]
			e.values = e.values[1:]
			e.run.observe(pieces.Step{F: f})
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return &kkt.Point{Z: []float64{0}, F: 1}, nil
}

// A start is given up as soon as its work is beyond what it may take, between the steps of its solver as well, unless it has come below the lowest F at any of them; the end of the run is an error, that of a start none.
func TestStartsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		spent  int64
		ended  bool
	}{
		"between steps": {nil, 35, true},
		"above":         {[]float64{3, 2.5, 2.1, 2.1, 2.1, 2.1}, 35, true},
		"below once":    {[]float64{3, 1.9, 2.5}, 1000, false},
		"below late":    {[]float64{3, 3, 3, 1.9}, 35, true},
	} {
		run := &Run{n: new(problem.Problem), Best: &kkt.Point{F: 2}, opts: Options{Sign: 1}, Ends: make([]document.StartResult, 1)}
		solver := &endless{run: run, values: c.values}
		run.local = solver
		ended, err := run.try(t.Context(), nil, run.Best.F, &run.seen, func() bool { return solver.spent >= 35 })
		if err != nil || ended != c.ended || solver.spent != c.spent || run.spends != nil {
			t.Errorf("%s: given up %t after %d, error %v", name, ended, solver.spent, err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	run := &Run{n: new(problem.Problem), Best: &kkt.Point{F: 2}, opts: Options{Sign: 1}, Ends: make([]document.StartResult, 1)}
	run.local = &endless{run: run}
	if ended, err := run.try(ctx, nil, 2, &run.seen, func() bool { return true }); ended || err == nil {
		t.Errorf("a run that has ended: %t, %v", ended, err)
	}
}
