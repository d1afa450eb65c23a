package oracle

import (
	"context"
	"math"

	"bilevelc/runtime/lower"
	"bilevelc/runtime/method"
	"bilevelc/runtime/problem"
)

// ValueSettings are the settings of the oracle `value`.
type ValueSettings struct {
	Step float64 `setting:"step" doc:"difference step in each entry of x, relative to 1 + |x_j|" min:"1e-12" max:"0.1"`
}

// DefaultValue is the cube root of the accuracy of F, about 1e-13 with `alm`,
// which balances the truncation of a central difference with it.
func DefaultValue() *ValueSettings { return &ValueSettings{Step: 5e-5} }

// Validate checks the ranges.
func (s *ValueSettings) Validate() error { return method.Validate(s) }

func init() {
	registry.Register("value", Spec{
		Name:        "value",
		Summary:     "uses values of F alone; a gradient, where one is asked for, is made of central differences of F",
		Reference:   "lem:ZeroOrderApprox",
		Cost:        "one lower solve a value, 2 Dx a gradient",
		Assumes:     []problem.Assumption{problem.StronglyConvexG, problem.LipschitzF},
		Multipliers: true,
		Settings:    method.Describe(DefaultValue()),
		New: func(values method.Values) (Oracle, error) {
			s := DefaultValue()
			if err := method.Apply(s, values); err != nil {
				return nil, err
			}
			return &Value{Settings: *s}, nil
		},
	})
}

// Value is the oracle `value`: F~(x) = f(x, y~), and differences of it.
type Value struct{ Settings ValueSettings }

// Gradient implements Oracle by finite differences.
func (o *Value) Gradient(ctx context.Context, dst []float64, at *At) (float64, error) {
	return FiniteDifference(ctx, dst, at, o.Settings.Step)
}

// FiniteDifference sets dst to the central differences of F, entry by entry,
// with steps relative to 1 + |x_j|, and estimates their error from the second
// differences and the accuracy of the values. It uses nothing of the other
// oracles. Where the lower level is infeasible on one side of an entry, the
// difference is one-sided.
func FiniteDifference(ctx context.Context, dst []float64, at *At, step float64) (float64, error) {
	p := at.Problem
	center := p.F.Value(at.X, p.Answer(at.Lower.Y, at.Lower.Lambda))
	x := append([]float64(nil), at.X...)
	value := func() (float64, bool, error) {
		s := at.Solver.Solve(ctx, p, lower.G(p, x), x, at.Lower)
		if s.Status == lower.Stopped {
			return 0, false, context.Cause(ctx)
		}
		switch err := lowerError(p, x, s).(type) {
		case nil:
			return p.F.Value(x, p.Answer(s.Y, s.Lambda)), true, nil
		case *InfeasibleError:
			return 0, false, nil
		default:
			return 0, false, err
		}
	}
	sum := 0.0
	for j, xj := range at.X {
		h := step * (1 + math.Abs(xj))
		x[j] = xj + h
		above, okAbove, err := value()
		if err != nil {
			return 0, err
		}
		right := x[j] - xj
		x[j] = xj - h
		below, okBelow, err := value()
		if err != nil {
			return 0, err
		}
		left := xj - x[j]
		x[j] = xj
		switch {
		case okAbove && okBelow:
			dst[j] = (above - below) / (right + left)
			// One-sided differences that disagree show curvature, whose effect
			// on the central one is of the next order in h, or a kink.
			kink := math.Abs((above-center)/right - (center-below)/left)
			sum = math.Hypot(sum, kink*math.Min(1, kink/(1e-300+math.Abs(dst[j]))))
		case okAbove:
			dst[j] = (above - center) / right
			sum = math.Hypot(sum, math.Abs(dst[j])*step)
		case okBelow:
			dst[j] = (center - below) / left
			sum = math.Hypot(sum, math.Abs(dst[j])*step)
		default:
			return 0, &LowerError{X: append([]float64(nil), at.X...), Status: lower.Infeasible, Reason: "no feasible point on either side of it"}
		}
		sum = math.Hypot(sum, 1e-13*math.Abs(center)/h)
	}
	return sum, nil
}

// GradientCheck compares an oracle's gradient with finite differences of F.
type GradientCheck struct {
	Point      *Point
	Difference []float64 // len Dx
	// Error is |Grad - Difference|, Relative the same over 1e-300 + |Difference|,
	// Expected the sum of both sides' own error estimates.
	Error, Relative, Expected float64
}

// CheckGradient evaluates the oracle's gradient at x and compares it with
// central finite differences of F, which share nothing with the oracle but the
// lower solver.
func (h *Hyper) CheckGradient(ctx context.Context, x []float64) (*GradientCheck, error) {
	pt, err := h.Gradient(ctx, x)
	if err != nil {
		return nil, err
	}
	c := &GradientCheck{Point: pt, Difference: make([]float64, len(x))}
	at := h.at(pt.X, pt.Lower, pt.Face)
	own, err := FiniteDifference(ctx, c.Difference, at, DefaultValue().Step)
	if err != nil {
		return nil, err
	}
	c.Error = distance(pt.Grad, c.Difference)
	c.Relative = c.Error / (1e-300 + norm(c.Difference))
	c.Expected = own + pt.GradError
	return c, nil
}
