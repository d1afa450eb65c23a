package runtime

import (
	"context"
	"slices"

	"bilevelc/internal/must"
	"bilevelc/runtime/document"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/system"
	"bilevelc/runtime/tolerance"
)

// The follower's KKT system as an evaluator: derivatives are along the branch that the point lies inside, or one of those that meet there.

const (
	meeting = "rows with neither slack nor multiplier; the gradient is of one of the branches that meet"
	tiedX   = "the follower's answer is not a function of x next to this point"
)

// noSlope says why there is no derivative along a direction.
type noSlope string

func (n noSlope) Error() string { return string(n) }

const (
	noBranch noSlope = "no branch through this answer leads that way: the follower leaves it for others, at which F may jump, or has no answer there"
	// There are branches, and no number.
	noEnd noSlope = "to first order, and to rounding, F has no end along the answers and multipliers of the follower that go with the direction"
)

// branchAnswer is a point of the system as an answer.
type branchAnswer struct {
	e    *systemPoint
	here *systemAnswer
	pt   *oracle.Point
}

func (e *systemPoint) answered(here *systemAnswer) *branchAnswer {
	return &branchAnswer{e, here, system.PointAt(e.p.Numeric, e.s, here.Z, nil)}
}

// Calls to f and g so far.
func (e *systemPoint) Calls() Calls { return e.p.Numeric.Calls() }

func (e *systemPoint) evaluate(ctx context.Context, x []float64) (_ answer, err error) {
	defer must.Catch(&err)
	found := must.Get(e.at(ctx, x))
	a := e.answered(found)
	a.pt.FError = tolerance.Sign * e.s.Terms(found.Z)
	return a, nil
}

func (a *branchAnswer) at() *oracle.Point { return a.pt }

// along is the gradient in x of c'z along a branch at the answer; with a *KinkError where others meet there.
func (a *branchAnswer) along(ctx context.Context, c []float64) (product []float64, accuracy float64, err error) {
	defer must.Catch(&err)
	branch, rows := a.here.Branch, rowsThatMeet(a.pt, a.e.p.Numeric)
	if len(rows) > 0 {
		branch = must.Get(a.e.solver.Open(ctx, a.here.Point))
	}
	var m *kkt.Multipliers
	if branch != nil {
		m = must.Get(a.e.solver.Product(ctx, a.here.Point, branch, c))
	}
	switch {
	case m == nil:
		return nil, 0, &KinkError{Rows: rows, Reason: tiedX}
	case len(rows) > 0:
		err = &KinkError{Rows: rows, Reason: meeting}
	}
	return m.Bound, tolerance.Sign * linalg.Norm(m.Bound), err
}

func (a *branchAnswer) gradient(ctx context.Context) (grad []float64, accuracy float64, err error) {
	defer must.Catch(&err)
	if len(a.pt.Undecided) > 0 {
		c := make([]float64, a.e.s.N)
		a.e.s.Gradient(c, a.here.Z)
		return a.along(ctx, c)
	}
	m := must.Get(a.e.derivative(ctx, a.here))
	if m == nil {
		return nil, 0, &KinkError{Reason: tiedX}
	}
	return m.Bound, tolerance.Sign * linalg.Norm(m.Bound), nil
}

func (a *branchAnswer) product(ctx context.Context, dy, dlambda []float64) (product []float64, accuracy float64, err error) {
	c := make([]float64, a.e.s.N)
	copy(a.e.s.Y(c), dy)
	copy(a.e.s.Lambda(c), dlambda)
	return a.along(ctx, c)
}

func (a *branchAnswer) tangent(ctx context.Context, dx []float64) (t *oracle.Tangent, y, lambda []float64, err error) {
	slope, from, err := a.e.slope(ctx, a.here, dx)
	switch {
	case err != nil:
		return nil, nil, nil, err
	case slope == nil:
		return nil, nil, nil, noBranch
	case slope.Dz == nil:
		return nil, nil, nil, noEnd
	}
	s := a.e.s
	t = &oracle.Tangent{Y: slices.Clone(s.Y(slope.Dz)), Lambda: slices.Clone(s.Lambda(slope.Dz)), F: slope.F}
	t.ErrorY, t.ErrorLambda = tolerance.Sign*linalg.Norm(t.Y), tolerance.Sign*linalg.Norm(t.Lambda)
	return t, s.Y(from.Z), s.Lambda(from.Z), nil
}

// sensitivities are the slopes of F, and of the follower's answer, in each entry of x, on both sides of a kink.
func (e *systemPoint) sensitivities(ctx context.Context, at *systemAnswer) ([]EntrySensitivity, error) {
	return e.p.sensitivities(ctx, e.answered(at), !at.choice.None() || !e.solver.Smooth(at.Point))
}

// sense is 1 where F is of the answers with the least f, -1 where it is of those with the greatest.
func (e *systemPoint) sense() float64 {
	if e.p.tieRule() == document.Pessimistic {
		return -1
	}
	return 1
}
