package system

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/runtime/document"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/sequential"
	"bilevelc/runtime/tolerance"
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
		ended, err := run.try(t.Context(), start{}, run.Best.F, &run.seen, func() bool { return solver.spent >= 35 })
		if err != nil || ended != c.ended || solver.spent != c.spent || run.spends != nil {
			t.Errorf("%s: given up %t after %d, error %v", name, ended, solver.spent, err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	run := &Run{n: new(problem.Problem), Best: &kkt.Point{F: 2}, opts: Options{Sign: 1}, Ends: make([]document.StartResult, 1)}
	run.local = &endless{run: run}
	if ended, err := run.try(ctx, start{}, 2, &run.seen, func() bool { return true }); ended || err == nil {
		t.Errorf("a run that has ended: %t, %v", ended, err)
	}
}

// Work of a system that is not linear counts steps and calls, which take most of the time of small ones; in the leader's space steps are in x alone.
func TestWorkOfSteps(t *testing.T) {
	for name, c := range map[string]struct {
		smooth *sequential.Solver
		dy     int
		want   int64
	}{
		"linear":         {nil, 4, 7},
		"as a whole":     {new(sequential.Solver), 4, 7 + 10*9*6*6*6},
		"leader's space": {new(sequential.Solver), tolerance.DenseOrder, 7 + 10*9*2*2*2},
	} {
		n := &problem.Problem{Dx: 2, Dy: c.dy, Facts: problem.Facts{StrongConvexity: 1}, Rows: &problem.Rows{}}
		run := &Run{n: n, local: &endless{spent: 7}, Smooth: c.smooth, Steps: 10}
		if got := run.work(); got != c.want {
			t.Errorf("%s: %d, not %d", name, got, c.want)
		}
	}
}

// Draws that differ in entries of x alone that nothing depends on, or that X holds, are one: the lowest stays. All entries that are read tell draws apart.
func TestDrawsApart(t *testing.T) {
	const entries, draws = 18, 400
	set := &problem.Set{Lo: make([]float64, entries), Hi: make([]float64, entries)}
	free := make([]bool, entries)
	for j := 1; j < entries; j++ {
		set.Hi[j], free[j] = 1, j > 1
	}
	var list []sample
	rng := rand.New(rand.NewPCG(1, 1))
	for k := range draws {
		x := make([]float64, entries)
		for j := 1; j < entries; j++ {
			x[j] = rng.Float64()
		}
		x[1] = 0.1 + 0.8*float64(k%2)
		list = append(list, sample{x: x, f: float64(k)})
	}
	if apart := apartFrom(slices.Clone(list), set, free); len(apart) != 2 || apart[0].f != 0 || apart[1].f != 1 {
		t.Errorf("draws at two places of the entry that is read: %d are apart", len(apart))
	}
	if apart := apartFrom(list, set, nil); len(apart) < draws/2 {
		t.Errorf("of draws in %d entries that are read %d are apart", entries-1, len(apart))
	}
}
