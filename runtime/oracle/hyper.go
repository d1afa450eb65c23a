package oracle

import (
	"context"
	"errors"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/qp"
	"bilevelc/runtime/tolerance"
)

// Hyper is the hyperobjective of a problem for one lower solver and one
// oracle. It keeps the last few lower solutions: a point it has solved is not
// solved again, and a new one starts from the nearest. Not safe for concurrent
// use; Clone the problem and make another.
type Hyper struct {
	p         *problem.Problem
	solver    lower.Solver
	oracle    Oracle
	projector *qp.Projector // nil until it is asked for
	recent    []*solved     // most recent last
	learned   *lower.Memory
	dy        []float64 // len AnswerLen: scratch
	terms     *terms    // of grad_y g, where last measured; nil before
	angles    angles
}

// solved is one lower level solved, as a warm start. Its solution is without
// what was learned, which Hyper has in its latest form.
type solved struct {
	X   []float64
	Sol *lower.Solution
}

// New makes the hyperobjective. The calls to f and g are counted if they are
// not already.
func New(p *problem.Problem, solver lower.Solver, oracle Oracle) *Hyper {
	p = p.Counted()
	return &Hyper{p: p, solver: solver, oracle: oracle, dy: make([]float64, p.AnswerLen())}
}

// Dim is Dx.
func (h *Hyper) Dim() int { return h.p.Dx }

// Problem is the problem with its counted functions.
func (h *Hyper) Problem() *problem.Problem { return h.p }

// Calls are the calls to f and g so far.
func (h *Hyper) Calls() problem.Calls { return h.p.Calls() }

// Projector projects onto X and the set where the lower level is feasible.
func (h *Hyper) Projector() *qp.Projector {
	if h.projector == nil {
		h.projector = qp.NewProjector(h.p.X, h.p.Rows, h.p.Dx, h.p.Dy)
	}
	return h.projector
}

// Project implements Hyperobjective.
func (h *Hyper) Project(dst, x []float64) error { return h.Projector().Project(dst, x) }

// solve returns the lower level solved at x, from memory where it is there.
func (h *Hyper) solve(ctx context.Context, x []float64) (*lower.Solution, error) {
	var near *lower.Solution
	best := math.Inf(1)
	for i := len(h.recent) - 1; i >= 0; i-- {
		s := h.recent[i]
		d := each.LargestBelow(len(s.X), func(j int) float64 { return math.Abs(s.X[j] - x[j]) })
		if d == 0 {
			return h.informed(s.Sol), nil
		}
		if d < best {
			best, near = d, s.Sol
		}
	}
	at := slices.Clone(x)
	s := h.solver.Solve(ctx, h.p, lower.G(h.p, at), at, h.informed(near))
	if s.Status == lower.Stopped {
		return nil, context.Cause(ctx)
	}
	if err := lowerError(h.p, x, s); err != nil {
		return nil, err
	}
	// 8 is how many lower solutions are kept: the end points and the middle of a line search, and the samples next to it.
	if len(h.recent) == 8 {
		h.recent = slices.Delete(h.recent, 0, 1)
	}
	if s.Memory != nil {
		h.learned = s.Memory
	}
	kept := *s
	kept.Memory = nil
	h.recent = append(h.recent, &solved{at, &kept})
	return s, nil
}

// informed is a solution, or none, with what has been learned so far.
func (h *Hyper) informed(s *lower.Solution) *lower.Solution {
	if h.learned == nil {
		return s
	}
	var with lower.Solution
	if s != nil {
		with = *s
	}
	with.Memory = h.learned
	return &with
}

// Value is F~(x) = f(x, y~) (lem:ZeroOrderApprox) with an estimate of its
// error, |grad_y f| times the error of y~, to first order.
func (h *Hyper) Value(ctx context.Context, x []float64) (_ *Point, err error) {
	defer must.Catch(&err)
	s := must.Get(h.solve(ctx, x))
	pt := &Point{X: slices.Clone(x), Lower: s, Face: face(s), GradError: math.Inf(1)}
	pt.Margin, pt.Undecided = h.complementarity(pt.X, s, pt.Face)
	pt.Strict = len(pt.Undecided) == 0
	h.evaluate(pt)
	if math.IsNaN(pt.F) || math.IsInf(pt.F, 0) {
		return nil, &LowerError{Status: lower.Failed, Upper: true, Reason: "f is not finite at the lower level's solution"}
	}
	slope := linalg.Norm(h.dy[:h.p.Dy])
	if h.p.Facts.LipschitzF > 0 && len(h.p.Duals) == 0 && h.p.Coupled == nil {
		slope = h.p.Facts.LipschitzF
	}
	if pt.FError = slope * s.ErrorBound; math.IsNaN(pt.FError) { // 0 times infinity
		pt.FError = 0
	}
	return pt, nil
}

// Gradient is Value with the oracle's gradient.
func (h *Hyper) Gradient(ctx context.Context, x []float64) (_ *Point, err error) {
	defer must.Catch(&err)
	pt := must.Get(h.Value(ctx, x))
	must.Do(h.Complete(ctx, pt))
	return pt, nil
}

// Complete adds the oracle's gradient to a point that Value has made. A *LowerError is
// about the gradient.
func (h *Hyper) Complete(ctx context.Context, pt *Point) error {
	err := h.complete(ctx, pt)
	if failed, ok := errors.AsType[*LowerError](err); ok {
		of := *failed
		of.Gradient = true
		return &of
	}
	return err
}

func (h *Hyper) complete(ctx context.Context, pt *Point) (err error) {
	defer must.Catch(&err)
	pt.Grad = make([]float64, h.p.Dx)
	// What has been learned since counts, whether or not the point went through a
	// checkpoint, which does not hold it twice.
	at := h.at(pt.X, h.informed(pt.Lower), pt.Face)
	if !pt.Strict && h.p.HasInequalities() {
		// The lower solution knows its undecided rows to within their errors only: on
		// the face that is meant they hold, or carry nothing, exactly.
		s := must.Get(h.onFace(ctx, at))
		if s != nil && h.within(pt, s.Y) {
			at.Lower = s
		}
	}
	pt.GradError = must.Get(h.oracle.Gradient(ctx, pt.Grad, at))
	if !(pt.GradError < math.Inf(1)) {
		return &LowerError{Status: lower.Failed, Reason: "no perturbation of the lower level's answer there is exact enough"}
	}
	for _, v := range pt.Grad {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return &LowerError{Status: lower.Failed, Upper: true, Reason: "it is not finite"}
		}
	}
	pt.Open, pt.Terms = pt.Strict, math.Max(at.Terms, linalg.Norm(pt.Grad))
	return nil
}

// onFace is the lower solution at a point on the face that is held there; nil where it is none, or less is known of it.
func (h *Hyper) onFace(ctx context.Context, at *At) (*lower.Solution, error) {
	s := lower.OnFace(ctx, h.p, lower.G(h.p, at.X), at.X, at.Face, at.Lower)
	switch {
	case s.Status == lower.Stopped:
		return nil, context.Cause(ctx)
	case lowerError(h.p, at.X, s) != nil || len(s.Dependent) > len(at.Lower.Dependent):
		return nil, nil
	}
	return s, nil
}

// within reports that y, from which rows may have been dropped, meets the rows of a point as
// its lower solution does. Beyond them g need not be defined, nor convex: 1/y has another
// side, on which it falls without bound.
func (h *Hyper) within(pt *Point, y []float64) bool {
	size := linalg.NormInf(pt.Lower.Y)
	for i, kind := range h.p.Rows.Kind {
		from, to := stateOf(h.p.Rows, i, pt.X, pt.Lower.Y), stateOf(h.p.Rows, i, pt.X, y)
		if kind == problem.AtMost && to.slack < math.Min(0, from.slack)-tolerance.Weak*(size*from.length+from.error/tolerance.SumRounding) {
			return false
		}
	}
	return true
}

// face is the active rows, and the weak ones with a multiplier. Whether a weak
// row is active within the tolerances of the lower solver is undecided; whether it
// holds y is a question of the smooth piece to which x belongs, which the solver's
// working set answers. At a true kink the answer is arbitrary, and the piece need
// not be one that F has near x: see complementarity.
func face(s *lower.Solution) []int {
	f := append([]int{}, s.Active...) // not nil where no row is active: see At.Face
	f = append(f, each.Where(s.Weak, func(i int) bool { return s.Lambda[i] > 0 })...)
	slices.Sort(f)
	return f
}
