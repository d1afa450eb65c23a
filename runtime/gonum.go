package runtime

import (
	"context"
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"

	"bilevelc/runtime/linalg"
)

// Objective is F, minimized, for the methods of gonum.org/v1/gonum/optimize: F of a
// maximized model comes with the other sign. Those methods know no constraints. So F
// is +Inf, which line searches and simplexes step back from, where x is outside X, to
// within the rounding of its bounds, or the lower level has no answer: a method that
// uses gradients is for an optimum inside X, and Problem.Solve for others.
//
// The end of ctx, and what is neither a value nor an outcome of the lower level, ends
// optimize.Minimize with that error.
func (l *Layer) Objective(ctx context.Context) optimize.Problem {
	var failed error
	evaluate := func(x []float64) *Evaluation {
		if failed != nil || l.p.upperViolation(x) > 1e-12*(1+linalg.NormInf(x)) {
			return nil
		}
		e, err := l.Evaluate(ctx, x)
		var usage *UsageError // an entry that is not finite, where a step has overshot
		if err != nil && !errors.As(err, new(*StatusError)) && !errors.As(err, &usage) {
			failed = err
		}
		if err != nil {
			return nil
		}
		return e
	}
	return optimize.Problem{
		Func: func(x []float64) float64 {
			if e := evaluate(x); e != nil {
				return l.sign * e.F
			}
			return math.Inf(1)
		},
		Grad: func(dst, x []float64) {
			for j := range dst {
				dst[j] = math.NaN()
			}
			e := evaluate(x)
			if e == nil {
				return
			}
			grad, _, err := e.Gradient(ctx)
			if err != nil && !errors.As(err, new(*KinkError)) {
				failed = err
				return
			}
			floats.ScaleTo(dst, l.sign, grad)
		},
		Status: func() (optimize.Status, error) {
			if failed == nil && ctx.Err() != nil {
				failed = context.Cause(ctx)
			}
			if failed != nil {
				return optimize.Failure, failed
			}
			return optimize.NotTerminated, nil
		},
	}
}
