package main

import (
	"context"
	"errors"

	"bilevelc/internal/must"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/method"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/status"
)

// errReached ends a run whose points have met the target.
var errReached = errors.New("the target is reached")

// watch is a hyperobjective that looks at the points a method evaluates, and
// ends the run at the first one that an independent check finds stationary. The
// points are those of the theorems: of pgd the iterates, of oigrm and izo the
// averages of blocks of M points z.
type watch struct {
	*oracle.Hyper
	block      int  // M
	pairs      bool // izo: two values a point, whose middle is z
	skip       int  // evaluations before the first step
	stationary func(x []float64) bool
	cancel     context.CancelCauseFunc

	seen    int
	sum     []float64
	reached bool
	calls   int64 // until then
	points  int   // evaluations until then
}

func (w *watch) Value(ctx context.Context, x []float64) (*oracle.Point, error) {
	pt, err := w.Hyper.Value(ctx, x)
	if err == nil && w.pairs {
		w.look(x)
	}
	return pt, err
}

func (w *watch) Gradient(ctx context.Context, x []float64) (*oracle.Point, error) {
	pt, err := w.Hyper.Gradient(ctx, x)
	if err == nil && !w.pairs {
		w.look(x)
	}
	return pt, err
}

// Complete is how a run makes a gradient at a point whose value it has.
func (w *watch) Complete(ctx context.Context, pt *oracle.Point) error {
	err := w.Hyper.Complete(ctx, pt)
	if err == nil && !w.pairs {
		w.look(pt.X)
	}
	return err
}

// look takes x into the current block, and checks the block's average where it
// ends.
func (w *watch) look(x []float64) {
	if w.reached {
		return
	}
	w.points++
	if w.points <= w.skip {
		return
	}
	if w.sum == nil {
		w.sum = make([]float64, len(x))
	}
	add(w.sum, 1, x)
	w.seen++
	size := w.block
	if w.pairs {
		size *= 2
	}
	if w.seen < size {
		return
	}
	scale(w.sum, 1/float64(size))
	if w.stationary(w.sum) {
		w.reached, w.calls = true, w.Calls().Total()
		w.cancel(errReached)
	}
	clear(w.sum)
	w.seen = 0
}

// experiment is one run until stationarity.
type experiment struct {
	problem      *problem.Problem
	start        []float64
	solver       string // lower solver
	oracle       string
	oracleValues method.Values
	method       string
	methodValues method.Values
	block, skip  int
	stationary   func(x []float64) bool
	seed         uint64
	evaluations  int // limit
}

// outcome of an experiment.
type outcome struct {
	reached bool
	calls   int64   // until the first stationary point
	points  int     // evaluations of F until then
	each    float64 // calls for one evaluation, the mean
}

func (e experiment) run() outcome {
	h := newHyper(e.problem, e.solver, e.oracle, e.oracleValues)
	m := must.Get(must.Get(outer.Lookup(e.method)).New(e.methodValues))
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	w := &watch{Hyper: h, block: e.block, pairs: e.method == "izo", skip: e.skip,
		stationary: e.stationary, cancel: cancel}
	result := must.Get(outer.Solve(ctx, w, e.method, m, outer.Options{Start: e.start, Seed: e.seed, Limits: outer.Limits{Evaluations: e.evaluations}}))
	if !w.reached {
		failed := result.Status == status.NumericalFailure || result.Status == status.Infeasible || result.Status == status.Unbounded
		must.Be(!failed, "%s with %s: %s: %s", e.method, e.oracle, result.Status, result.Reason)
		return outcome{}
	}
	return outcome{true, w.calls, w.points, float64(w.calls) / float64(w.points)}
}

// defaultSolver is the lower solver of the experiments: agd, the paper's, where
// all rows are equalities, the default otherwise.
func defaultSolver(p *problem.Problem) string {
	if p.Facts.EqualityOnly {
		return "agd"
	}
	return lower.Default
}
