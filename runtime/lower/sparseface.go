package lower

import (
	"context"
	"fmt"
	"math"
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// sparseFace is OnFace by Newton's method with the sparse Hessian of g. It is
// measured where the solve starts, unless it is known from before or a solve
// at the same x on the same face has just measured it; the active rows that are
// independent are found by the sparse factorization. warm is not nil.
func (f *FaceSolver) sparseFace(ctx context.Context, p *problem.Problem, obj Objective, x []float64, active []int, warm *Solution) *Solution {
	q := &f.poly
	same := f.fresh && f.sparse && q.rows == p.Rows && slices.Equal(f.x, x) && slices.Equal(f.active, active)
	q.set(p, x, nil)
	if f.pieces == nil || !f.pieces.plan.fits(p) {
		var pl *sparsePlan
		if pl = warm.plan; !pl.fits(p) {
			pl = newSparsePlan(p, q, 1)
		}
		f.pieces = pl.workspace()
	}
	w := f.pieces
	w.known(warm)
	f.x, f.active = append(f.x[:0], x...), append(f.active[:0], active...)
	f.fresh, f.sparse = true, true

	s := &Solution{Y: make([]float64, p.Dy), Lambda: make([]float64, q.m), ErrorBound: math.Inf(1), Sparse: true, plan: w.plan}
	clear(w.y)
	var lambda []float64
	if len(warm.Y) == p.Dy {
		copy(w.y, warm.Y)
		if len(warm.Lambda) == q.m {
			lambda = warm.Lambda
		}
	}
	if row := f.fix(active, s); row >= 0 {
		return s.contradicted(q, row)
	}
	known := curvatureOf(obj)
	if near, ok := obj.(nearG); ok && !known.Quadratic {
		known.Quadratic = near.BaseG().Facts.QuadraticInY // of which the Hessian is taken
	}
	value := obj.ValueGrad(w.grad, w.y)
	if !same || w.values == nil {
		w.recall(warm, known.Fixed)
	}
	if w.values == nil && !f.measure(obj, known.Quadratic) {
		return s.undefined()
	}
	if !w.load(q, nil) {
		return s.undefined()
	}
	w.guess(active)
	w.each(func(k int) { w.start(k, q, lambda) })
	end, value := f.descend(ctx, obj, value)
	if end == notFinite {
		return s.undefined()
	}
	s.Status, s.Reason = end.status()
	copy(s.Y, w.y)
	s.Value, s.Lengths = value, w.lengths
	for k, piece := range w.plan.pieces {
		for _, a := range append(f.released[k], piece.program.Skipped()...) {
			i := piece.rows[a]
			s.Dependent = append(s.Dependent, i)
			if math.Abs(q.slack(i, s.Y)) <= 1e3*q.rounding(i, s.Y) {
				continue
			}
			combination := make([]float64, q.m)
			set := newSparseSet(q, w)
			if set.spans(i, combination) && q.contradicts(combination, i) {
				s.Witness = combination
				return s.contradicted(q, i)
			}
		}
	}
	w.multipliers(s.Lambda, q, false)
	s.assessFace(q, newSparseSet(q, w).in, w.grad, known.Mu)
	if known.Fixed {
		s.Memory = &Memory{N: p.Dy, Entries: w.values}
	}
	return s
}

func (s *Solution) contradicted(q *polyhedron, row int) *Solution {
	s.Status = Dependent
	s.Reason = fmt.Sprintf("%s depends on the other rows of the face and contradicts them", q.rows.RowName(row))
	return s
}

func (s *Solution) undefined() *Solution {
	s.Status, s.Reason = Failed, "the objective or its gradient is not finite on the face"
	return s
}

// fix pins the entries of y on which active rows bound them. A second row on one
// entry depends on the first; it returns one that contradicts it, with the
// proof in s.Witness, or -1.
func (f *FaceSolver) fix(active []int, s *Solution) int {
	q, w := &f.poly, f.pieces
	w.unbounded()
	for _, i := range active {
		j := w.plan.bounded[i]
		if j < 0 {
			continue
		}
		if row := w.loRow[j]; row >= 0 {
			if row == i {
				continue
			}
			s.Dependent = append(s.Dependent, i)
			combination := make([]float64, q.m)
			combination[row] = q.coef[i] / q.coef[row]
			if q.contradicts(combination, i) {
				s.Witness = combination
				return i
			}
			continue
		}
		at := q.rhs[i] / q.coef[i]
		w.lo[j], w.hi[j], w.loRow[j], w.hiRow[j] = at, at, i, i
	}
	return -1
}

// measure recovers the Hessian of g, which an objective next to it shares, at
// w.y.
func (f *FaceSolver) measure(obj Objective, quadratic bool) bool {
	w := f.pieces
	near, ok := obj.(nearG)
	if !ok {
		return false
	}
	base := near.BaseG()
	kept := append([]float64(nil), w.grad...)
	base.ValueGrad(w.grad, w.y)
	done := w.measure(base, quadratic)
	copy(w.grad, kept)
	return done
}

// descend takes w.y to the minimizer on the face with the Hessian at hand, until
// rounding ends the progress. The outcome stalled says that the progress ended
// before.
func (f *FaceSolver) descend(ctx context.Context, obj Objective, value float64) (outcome, float64) {
	w := f.pieces
	f.released = make([][]int, len(w.solvers))
	w.each(func(k int) { f.released[k] = w.solvers[k].Release() })
	last := math.Inf(1)
	// 40 bounds the Newton steps on a face: several times what a perturbed solve takes with the Hessian of g at its start.
	for step := 0; step < 40; step++ {
		if ctx.Err() != nil {
			return interrupted, value
		}
		left := make([]float64, len(w.solvers))
		w.each(func(k int) {
			l := w.local[k]
			w.plan.pieces[k].gather(l.grad, w.grad)
			dual, primal := w.solvers[k].Correct(l.grad, true)
			left[k] = math.Max(dual, primal)
			w.result(w.y, k)
		})
		value = obj.ValueGrad(w.grad, w.y)
		if !linalg.Finite(w.grad) {
			return notFinite, value
		}
		now := 0.0
		for _, v := range left {
			now = math.Max(now, v)
		}
		switch {
		case math.IsNaN(now):
			return notFinite, value
		case now == 0 || now > last/2:
			// The residual before the step no longer falls: what is left is
			// rounding, or the Hessian is not that of this place.
			if f.stationary() {
				return converged, value
			}
			return stalled, value
		}
		last = now
	}
	return stalled, value
}

// stationary reports whether what is left of the gradient on every piece is
// within the tolerance.
func (f *FaceSolver) stationary() bool {
	w := f.pieces
	for k := range w.solvers {
		if !(w.stationarity(k) <= f.Tolerance) {
			return false
		}
	}
	return true
}
