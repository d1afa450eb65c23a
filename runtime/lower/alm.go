package lower

import (
	"context"
	"math"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/method"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

func init() {
	register(Spec{
		Name: "alm",
		Summary: "augmented Lagrangian with an L-BFGS inner solver, or block pivoting where g is a strongly convex quadratic, to find the active rows, " +
			"then an active-set polish by conjugate gradients with gradient differences",
		Reference: "stands in for the exact dual oracle that the paper assumes (sec:inequality-bilevel)",
	}, defaultALM(), func(s almSettings) Solver { return newALM(s) })
}

// almSettings are the settings of the solver `alm`.
type almSettings struct {
	Tolerance   float64 `setting:"tolerance" doc:"stationarity, relative to the size of the gradient's terms, at which a solve that rounding stopped counts as solved" min:"0" max:"1"`
	Identify    float64 `setting:"identify" doc:"relative residual at which the augmented Lagrangian hands its active rows to the polish" min:"0" max:"1"`
	Corrections int     `setting:"corrections" doc:"changes of the working set that the polish may make from its first guess before the augmented Lagrangian is called in" min:"0"`
	Memory      int     `setting:"memory" doc:"pairs kept by L-BFGS" min:"1"`
	MaxOuter    int     `setting:"max_outer" doc:"multiplier updates in one identification" min:"1"`
	Recycle     bool    `setting:"recycle" doc:"where the Hessian of g in y is proved to be the same at every x, go on from the gradient differences of earlier solves"`
	Budget      int     `setting:"budget" doc:"gradients of one identification; the polish takes over from where they end" min:"1"`
}

// defaultALM returns the defaults. The identification tolerance and the
// memory are those with the fewest gradient calls on the paper's experiment.
func defaultALM() almSettings {
	return almSettings{Tolerance: tolerance.SolveAccuracy, Identify: 1e-3, Corrections: 200, Memory: 20, MaxOuter: 30, Recycle: true, Budget: 2000}
}

// Recycles reports whether `alm` with these settings keeps the gradient
// differences of a fixed Hessian between solves.
func Recycles(values method.Values) bool {
	settings := defaultALM()
	return method.Apply(&settings, values) == nil && settings.Recycle
}

// alm is the default lower solver.
type alm struct {
	settings  almSettings
	augmented augmented
	begin     []float64 // where an identification began, len n
	stage
}

// newALM returns a solver; its settings must be valid.
func newALM(settings almSettings) *alm {
	return &alm{settings: settings, stage: stage{recycle: settings.Recycle}}
}

// Solve implements Solver. From a warm start, and for a quadratic objective,
// whose curvature each face leaves to the next, the polish begins at once; the
// augmented Lagrangian is called in where it meets too many wrong rows.
func (a *alm) Solve(ctx context.Context, p *problem.Problem, obj Objective, x []float64, warm *Solution) *Solution {
	s, ok := a.prepare(ctx, p, obj, x, warm, a.settings.Tolerance)
	if !ok {
		return s
	}
	if a.recycled(s.Y) {
		end, err := a.exact(ctx, s.Y, a.settings.Corrections)
		if err != nil || !a.poorStart(s.Y, end) {
			return a.finish(ctx, s, end, err)
		}
		a.active.curvature.clear()
	}
	if a.warmed {
		if end, err := a.chased(ctx, s.Y); err != nil || end == converged {
			return a.finish(ctx, s, end, err)
		}
	}
	if a.warmed || a.active.known.Quadratic {
		end, err := a.polish(ctx, s.Y, a.settings.Corrections)
		if err != nil || !a.poorStart(s.Y, end) {
			return a.finish(ctx, s, end, err)
		}
	}
	if err := a.identify(ctx, s.Y, warm); err != nil {
		return a.finish(ctx, s, stalled, err)
	}
	if end, err := a.chased(ctx, s.Y); err != nil || end == converged {
		return a.finish(ctx, s, end, err)
	}
	// Far beyond the number of faces that solves meet (a small multiple of the
	// rows that are wrong), so that only a breakdown ends there.
	limit := 1000 + 20*(a.poly.m+a.poly.n)
	end, err := a.polish(ctx, s.Y, limit)
	if err == nil && a.poorStart(s.Y, end) && !a.active.known.Quadratic {
		// Too near the edge of the objective's domain, perhaps.
		if err = a.inside(s.Y); err == nil {
			end = a.active.minimize(ctx, s.Y, limit)
		}
	}
	return a.finish(ctx, s, end, err)
}

// recycled reports whether the Hessian is known and positive definite from
// what earlier solves learned, or measures it where that costs no more than to do without.
func (a *alm) recycled(y []float64) bool {
	w := &a.active
	switch {
	case w.curvature.hessian != nil:
	case w.curvature.memory != nil || !a.eager || !w.pays(y, 2, tolerance.SolveAccuracy) || !w.curvature.columns():
		return false
	}
	return a.active.factored()
}

// chased is the chord method where that pays, and the polish behind it; stalled where
// another way is to be tried.
func (a *alm) chased(ctx context.Context, y []float64) (outcome, error) {
	if !a.chords(y) {
		return stalled, nil
	}
	found, err := a.chord(ctx, y)
	if err != nil {
		return stalled, err
	}
	if found {
		a.active.curvature.recall(a.near)
		end, err := a.polish(ctx, y, a.settings.Corrections)
		if err != nil || end == converged {
			return end, err
		}
	}
	a.near = nil
	a.active.curvature.clear()
	return stalled, nil
}

// poorStart reports whether a first polish ended for want of a good start: where
// the objective is not defined, at the limit of corrections, or far from
// optimal. One that rounding stopped does not count.
func (a *alm) poorStart(y []float64, end outcome) bool {
	switch end {
	case notFinite:
		return true
	case stalled:
		return a.active.changes >= a.settings.Corrections ||
			a.active.bestNorm > math.Sqrt(tolerance.Roundoff)*a.active.terms(y)
	}
	return false
}

// identify runs the augmented Lagrangian from the feasible point nearest to y
// and makes the rows that it found to press the guess. Whatever it ends with
// is a starting point for the polish.
func (a *alm) identify(ctx context.Context, y []float64, warm *Solution) error {
	if err := a.start(y); err != nil {
		return err
	}
	// The augmented Lagrangian looks for the solution on bounds and past rows, where
	// an objective that ends at some of them is not defined.
	if a.inset || a.active.opened {
		a.guess = a.guess[:0]
		return nil
	}
	stiffness := a.stiffness(y)
	a.begin = append(a.begin[:0], y...)
	a.augmented.reset(a.settings, a.active.obj, &a.projection, warm)
	a.augmented.identify(ctx, y, stiffness)
	a.guess = a.guess[:0]
	// Run away along a direction without curvature, or into a NaN: the polish
	// tells which from where this began.
	// 1e6 is the growth of y at which the augmented Lagrangian's answer is not trusted: an objective that is bounded below rarely has its
	// minimizer there.
	if away := linalg.NormInf(y); !(away <= 1e6*a.poly.unit(a.begin)) {
		copy(y, a.begin)
		return nil
	}
	a.guess = a.augmented.pressed(a.guess, &a.projection, y)
	return nil
}
