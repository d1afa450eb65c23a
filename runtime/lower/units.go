package lower

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// inUnits is a solver that takes an objective in a unit of its own where the squares
// of its gradients leave the range of double precision: with gradients of 1e160
// every inner product is infinite, with 1e-170 it is 0, and nothing moves. It
// tries as it stands first, which costs nothing where nothing is extreme.
type inUnits struct{ Solver }

// Solve implements Solver.
func (u inUnits) Solve(ctx context.Context, p *problem.Problem, obj Objective, x []float64, warm *Solution) *Solution {
	s := u.Solver.Solve(ctx, p, obj, x, warm)
	factor := unitFactor(ctx, obj, s)
	if factor == 1 {
		return s
	}
	if warm != nil {
		kept := Solution{Y: warm.Y, Active: warm.Active, Weak: warm.Weak, Lengths: warm.Lengths, Lambda: make([]float64, len(warm.Lambda))}
		for i, l := range warm.Lambda {
			kept.Lambda[i] = l * factor
		}
		warm = &kept
	}
	s = u.Solver.Solve(ctx, p, &inUnit{obj, factor}, x, warm)
	s.leaveUnit(factor)
	if s.Status == Failed || s.Status == Inaccurate {
		s.Reason += fmt.Sprintf("; gradients of the objective are of the size of %.0e, whose square double precision does not hold", 1/factor)
	}
	return s
}

// unitFactor is the power of two that brings the gradient at a point that was not
// solved to the size of 1; 1 where it is no extreme number, or no number.
func unitFactor(ctx context.Context, obj Objective, s *Solution) float64 {
	if s.Status != Inaccurate && s.Status != Failed && s.Status != Unbounded || ctx.Err() != nil || !linalg.Finite(s.Y) {
		return 1
	}
	grad := make([]float64, len(s.Y))
	obj.ValueGrad(grad, s.Y)
	size := linalg.NormInf(grad)
	if !(size < tolerance.LeastSquared || size > 1/tolerance.LeastSquared) || size == 0 || math.IsInf(size, 0) || math.IsNaN(size) {
		return 1
	}
	return math.Ldexp(1, -math.Ilogb(size))
}

// leaveUnit turns a solution for factor times the objective into that of the
// objective. What was learned of the Hessian is left behind.
func (s *Solution) leaveUnit(factor float64) {
	s.Memory = nil
	s.Value /= factor
	s.MinMultiplier /= factor
	s.Residuals.Stationarity /= factor
	s.Residuals.Dual /= factor
	s.Residuals.Complementarity /= factor
	for i := range s.Lambda {
		s.Lambda[i] /= factor
	}
}

// inUnit is an objective times a factor.
type inUnit struct {
	Objective
	factor float64
}

// Value implements Objective.
func (o *inUnit) Value(y []float64) float64 { return o.factor * o.Objective.Value(y) }

// ValueGrad implements Objective.
func (o *inUnit) ValueGrad(dst, y []float64) float64 {
	v := o.Objective.ValueGrad(dst, y)
	floats.Scale(o.factor, dst)
	return o.factor * v
}

// Curvature implements Known.
func (o *inUnit) Curvature() Curvature {
	c := curvatureOf(o.Objective)
	c.Mu *= o.factor
	c.C *= o.factor
	return c
}
