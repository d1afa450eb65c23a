package runtime

import (
	"context"
	"math"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// Layers of problems with ties whose KKT system is kept: F and the follower's answer of an evaluation (systemeval.go), with derivatives along the branch that the point lies inside,
// or one of those that meet there.

const (
	meeting = "rows with neither slack nor multiplier; the gradient is of one of the branches that meet"
	tiedX   = "the follower's answer is not a function of x next to this point"
)

// evaluateExact is Evaluate on the system.
func (l *Layer) evaluateExact(ctx context.Context, x []float64) (*Evaluation, error) {
	at, err := l.exact.at(ctx, x)
	if err != nil {
		return nil, outcome(ctx, err)
	}
	s := l.exact.s
	e := &Evaluation{X: s.X(at.Z), F: l.sign * at.F, Y: s.Y(at.Z), Lambda: l.p.ownMultipliers(s.X(at.Z), s.Y(at.Z), s.Lambda(at.Z)), layer: l, answer: at}
	size := 0.0
	grad := make([]float64, s.N)
	s.Gradient(grad, at.Z)
	for j, g := range grad {
		size += math.Abs(g * at.Z[j])
	}
	e.Accuracy = tolerance.Sign * (math.Abs(at.F) + size)
	for _, k := range at.Biactive {
		e.Kinks = append(e.Kinks, l.p.Numeric.Rows.RowName(s.Pairs[k].Row))
	}
	return e, nil
}

// productExact is the gradient in x of c'z along a branch at the answer; with a *KinkError where others meet there.
func (e *Evaluation) productExact(ctx context.Context, c []float64) (product []float64, accuracy float64, err error) {
	x := e.layer.exact
	branch := e.answer.Branch
	var kink *KinkError
	if len(e.Kinks) > 0 {
		kink = &KinkError{Rows: e.Kinks, Reason: meeting}
		if branch, err = x.solver.Open(ctx, e.answer.Point); err != nil {
			return nil, 0, outcome(ctx, err)
		}
		if branch == nil {
			return nil, 0, &KinkError{Rows: e.Kinks, Reason: tiedX}
		}
	}
	m, err := x.solver.Product(ctx, e.answer.Point, branch, c)
	switch {
	case err != nil:
		return nil, 0, outcome(ctx, err)
	case m == nil:
		return nil, 0, &KinkError{Rows: e.Kinks, Reason: tiedX}
	case kink != nil:
		return m.Bound, tolerance.Sign * linalg.Norm(m.Bound), kink
	}
	return m.Bound, tolerance.Sign * linalg.Norm(m.Bound), nil
}

// gradientExact is Gradient on the system.
func (e *Evaluation) gradientExact(ctx context.Context) (grad []float64, accuracy float64, err error) {
	x := e.layer.exact
	if len(e.Kinks) == 0 {
		m, err := x.derivative(ctx, e.answer)
		if err != nil {
			return nil, 0, outcome(ctx, err)
		}
		if m == nil {
			return nil, 0, &KinkError{Reason: tiedX}
		}
		grad, accuracy = m.Bound, tolerance.Sign*linalg.Norm(m.Bound)
	} else {
		c := make([]float64, x.s.N)
		x.s.Gradient(c, e.answer.Z)
		if grad, accuracy, err = e.productExact(ctx, c); grad == nil {
			return nil, 0, err
		}
	}
	for j, v := range grad {
		grad[j] = e.layer.sign*v + 0
	}
	return grad, accuracy, err
}

// tangentExact is JVP on the system.
func (e *Evaluation) tangentExact(ctx context.Context, dx []float64) (*Tangent, error) {
	x := e.layer.exact
	slope, from, err := x.slope(ctx, e.answer, dx)
	if err != nil {
		return nil, outcome(ctx, err)
	}
	if slope == nil {
		return nil, &KinkError{Rows: e.Kinks, Reason: noBranch}
	}
	if slope.Dz == nil {
		return nil, &KinkError{Rows: e.Kinks, Reason: noEnd}
	}
	y := x.s.Y(slope.Dz)
	lambda, err := e.layer.p.ownRates(e.X, x.s.Y(from.Z), x.s.Lambda(from.Z), dx, y, x.s.Lambda(slope.Dz))
	if err != nil {
		return nil, err
	}
	return &Tangent{Y: y, Lambda: lambda, F: e.layer.sign * slope.F, AccuracyY: tolerance.Sign * linalg.Norm(y), AccuracyLambda: tolerance.Sign * linalg.Norm(lambda)}, nil
}
