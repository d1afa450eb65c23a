package lower

import (
	"context"

	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

func init() {
	register(Spec{
		Name: "quadratic",
		Summary: "recovers the Hessian of a quadratic g by d_y gradient calls, once for all x, " +
			"and solves a quadratic program at each x; not a first-order method",
		Reference: "Goldfarb and Idnani 1983, on the curvature that gradient differences give",
		Needs:     Needs{QuadraticFixed: true},
	}, defaultQuadratic(), func(s quadraticSettings) Solver { return newQuadraticSolver(s) })
}

// quadraticSettings are the settings of the solver `quadratic`.
type quadraticSettings struct {
	Tolerance float64 `setting:"tolerance" doc:"stationarity, relative to the size of the gradient's terms, at which a solve that rounding stopped counts as solved" min:"0" max:"1"`
}

// defaultQuadratic returns the defaults.
func defaultQuadratic() quadraticSettings {
	return quadraticSettings{Tolerance: tolerance.SolveAccuracy}
}

// quadraticSolver recovers the Hessian H of an objective that is quadratic in y,
// column by column from gradient differences, and factorizes it. Where the
// compiler proved that H is the same at every x, the Solution carries it to
// the next solve. At each x the face of the last solution is tried first, by
// one step; where it is not the right one, a quadratic program finds the
// active rows. One or two gradients more remove rounding. Objectives that
// are not known to be quadratic are left to `alm`.
type quadraticSolver struct {
	settings quadraticSettings
	stage
	alm *alm
}

// newQuadraticSolver returns a solver; its settings must be valid.
func newQuadraticSolver(settings quadraticSettings) *quadraticSolver {
	fallback := defaultALM()
	fallback.Tolerance = settings.Tolerance
	return &quadraticSolver{settings: settings, stage: stage{recycle: true}, alm: newALM(fallback)}
}

// Solve implements Solver.
func (q *quadraticSolver) Solve(ctx context.Context, p *problem.Problem, obj Objective, x []float64, warm *Solution) *Solution {
	if !curvatureOf(obj).Quadratic {
		return q.alm.Solve(ctx, p, obj, x, warm)
	}
	s, ok := q.prepare(ctx, p, obj, x, warm, q.settings.Tolerance)
	if !ok {
		return s
	}
	if q.active.curvature.hessian == nil && !q.active.curvature.columns() {
		return q.finish(ctx, s, notFinite, nil)
	}
	solve := q.polish
	if q.active.factored() {
		solve = q.exact
	}
	end, err := solve(ctx, s.Y, 1000+20*(q.poly.m+q.poly.n))
	return q.finish(ctx, s, end, err)
}
