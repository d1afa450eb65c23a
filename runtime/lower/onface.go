package lower

import (
	"context"
	"math"
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// FaceSolver minimizes objectives on faces of the lower level: the equality
// solves of the oracles, at about sqrt(kappa) log(1/eps) gradient calls. It
// keeps workspaces and, between solves at one x and on one face, the curvature
// already measured: a solve of g + delta f after one of g - delta f costs
// little. It is not safe for concurrent use.
type FaceSolver struct {
	// Tolerance is the stationarity, relative to the size of the gradient's
	// terms, at which a solve that rounding stopped counts as Solved.
	Tolerance float64

	poly   polyhedron
	newton newton
	x      []float64 // of the last solve
	active []int
	fresh  bool

	pieces   *pieces // of solves on the face of a sparse solution
	sparse   bool    // the last solve was one
	released [][]int
}

// NewFaceSolver returns a solver with the default tolerance of the `alm`
// solver.
func NewFaceSolver() *FaceSolver { return &FaceSolver{Tolerance: tolerance.SolveAccuracy} }

// OnFace minimizes obj subject to the Equal rows and the rows `active`, all
// as equalities, with every other row dropped. The Solution has the
// multipliers of those rows (of either sign, 0 on all others) and they are
// its Active. Other rows do not count, so MinSlack is +Inf and Weak empty. warm
// may be nil. It is a FaceSolver used once.
func OnFace(ctx context.Context, p *problem.Problem, obj Objective, x []float64, active []int, warm *Solution) *Solution {
	f := NewFaceSolver()
	defer f.Release()
	return f.OnFace(ctx, p, obj, x, active, warm)
}

// Release forgets what was solved, and gives the workspaces of sparse solves back to those who come next. It
// is to be called, where it can be, when no more solves follow; those that do are as of a new solver.
func (f *FaceSolver) Release() {
	if f.pieces != nil {
		f.pieces.plan.spare.Put(f.pieces)
		f.pieces = nil
	}
	f.fresh = false
}

// OnFace is the function OnFace with the solver's workspaces.
func (f *FaceSolver) OnFace(ctx context.Context, p *problem.Problem, obj Objective, x []float64, active []int, warm *Solution) *Solution {
	s := f.onFace(ctx, p, obj, x, active, warm)
	factor := unitFactor(ctx, obj, s)
	if factor == 1 {
		return s
	}
	f.fresh = false
	if warm != nil {
		warm = &Solution{Y: warm.Y, Lengths: warm.Lengths}
	}
	s = f.onFace(ctx, p, &inUnit{obj, factor}, x, active, warm)
	s.leaveUnit(factor)
	f.fresh = false
	return s
}

// onFace is OnFace where squares of gradients are in the range of double precision.
func (f *FaceSolver) onFace(ctx context.Context, p *problem.Problem, obj Objective, x []float64, active []int, warm *Solution) *Solution {
	if warm != nil && warm.Sparse && sparsely(p, obj) {
		return f.sparseFace(ctx, p, obj, x, active, warm)
	}
	same := f.fresh && !f.sparse && f.poly.rows == p.Rows && slices.Equal(f.x, x) && slices.Equal(f.active, active)
	f.poly.set(p, x, warm)
	w := &f.newton
	kept := w.curvature
	w.reset(obj, p.Dy)
	w.curvature.told(warm)
	switch {
	case same:
		w.curvature.resume(&kept)
	case warm == nil:
	case w.known.Fixed && warm.Memory != nil, !w.known.Quadratic && warm.Memory.Complete() && warm.Memory.Near:
		w.curvature.recall(warm.Memory)
	}
	f.x, f.active = append(f.x[:0], x...), append(f.active[:0], active...)
	f.fresh, f.sparse = true, false

	s := &Solution{Y: make([]float64, p.Dy), Lambda: make([]float64, p.Rows.Len()), ErrorBound: math.Inf(1)}
	if warm != nil && len(warm.Y) == p.Dy {
		copy(s.Y, warm.Y)
	}
	if witness, row := f.gather(active, s); witness {
		return s.contradicted(&f.poly, row)
	}
	if _, slope := plusLinear(obj); warm != nil {
		w.ahead(s.Y, slope)
	}
	end := w.minimize(ctx, s.Y, f.Tolerance)
	s.Value = w.value
	if end == notFinite {
		return s.undefined()
	}
	w.face.multipliers(s.Lambda, w.grad)
	s.assessFace(&f.poly, w.face.in, w.grad, w.known.Mu)
	if (end == converged || end == stalled) && s.roundingOpen(w, &f.poly) && f.refined(ctx, s) {
		s.assessFace(&f.poly, w.face.in, w.grad, w.known.Mu)
		end = converged
	}
	s.Lengths = w.curvature.lengths()
	if w.known.Fixed {
		s.Memory = w.curvature.learned()
	}
	s.shape = f.poly.shape
	s.Status, s.Reason = end.status()
	if s.Status == Unbounded {
		s.Witness = append([]float64(nil), w.d...)
	}
	return s
}

// refined is newton.refine of a solution on the face, with which it begins if it fails.
func (f *FaceSolver) refined(ctx context.Context, s *Solution) bool {
	w := &f.newton
	y, value, grad := slices.Clone(s.Y), w.value, slices.Clone(w.grad)
	lambda := make([]float64, f.poly.m)
	if w.measured(y) {
		if r, ok := w.refine(ctx, &f.poly, w.face.rows(), y, lambda); ok {
			s.Y, s.Lambda, s.Value, s.Active, s.RoundingBound = y, lambda, w.value, nil, r.ofY
			return true
		}
	}
	w.value = value
	copy(w.grad, grad)
	return false
}

// gather builds the face. It reports a row that contradicts those before it,
// with the combination of rows that shows it in s.Witness.
func (f *FaceSolver) gather(active []int, s *Solution) (contradiction bool, row int) {
	w := &f.newton
	row = -1
	w.face.gather(&f.poly, w.curvature.hessian, active, func(i int) {
		if row >= 0 {
			return
		}
		combination := make([]float64, f.poly.m)
		if f.poly.norm[i] > 0 { // else a condition on x alone, which no face of y depends on
			s.Dependent = append(s.Dependent, i)
			w.face.combination(combination, i)
		}
		if f.poly.contradicts(combination, i) {
			s.Witness, row = combination, i
		}
	})
	return row >= 0, row
}

// assessFace is assess for a face: only its rows, which are in, count. mu is the modulus, or 0.
func (s *Solution) assessFace(q *polyhedron, in []bool, grad []float64, mu float64) {
	rest := make([]float64, q.n)
	q.lagrangianGradient(rest, grad, s.Lambda)
	s.Residuals.Stationarity = linalg.NormInf(rest)
	s.MinMultiplier, s.MinSlack = math.Inf(1), math.Inf(1)
	for i, is := range in {
		if !is {
			continue
		}
		s.Active = append(s.Active, i)
		s.Residuals.Primal = math.Max(s.Residuals.Primal, math.Abs(q.slack(i, s.Y)*q.norm[i]))
		if !q.equal(i) {
			s.MinMultiplier = math.Min(s.MinMultiplier, s.Lambda[i])
		}
	}
	// On an affine set the bound needs no sign of the multipliers.
	if mu > 0 {
		s.ErrorBound = linalg.Norm(rest) / mu
	}
}

// status translates the end of a minimization.
func (o outcome) status() (Status, string) {
	switch o {
	case converged:
		return Solved, "stationary to rounding"
	case descending:
		return Unbounded, "the objective improves without bound along the witness"
	case interrupted:
		return Stopped, "interrupted"
	case notFinite:
		return Failed, "the objective or its gradient is not finite"
	case limited:
		return Inaccurate, "max_iterations are used up"
	}
	return Inaccurate, "no further progress"
}
