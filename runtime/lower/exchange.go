package lower

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// exchange looks for the rows that hold the minimizer of a strongly convex quadratic whose Hessian is not known, by block principal pivoting (Judice and Pires 1994) with the primal-dual pairs of faces from
// conjugate gradients, each solved only so far as to tell which rows are on the wrong side: all of these are exchanged at once, where the active-set method takes a product or more for each. It leaves y at the
// minimizer, and the rows in the face. It reports false, with y as it was, where exchanges go in circles or rows depend on each other: then the active-set method takes over.
func (w *activeSet) exchange(ctx context.Context, y []float64) bool {
	if !w.defined(y) {
		return false
	}
	w.curvature.move(y, w.grad)
	copy(w.z, y)
	copy(w.gz, w.grad)
	fewest, patience, last := w.poly.m+1, tolerance.Exchanges, math.Inf(1)
	for ctx.Err() == nil {
		// To the face, and towards the minimizer on it.
		copy(w.base, w.z)
		w.face.restore(w.z)
		floats.SubTo(w.d, w.z, w.base)
		if !w.curvature.apply(w.s, w.d) {
			return false
		}
		floats.Add(w.gz, w.s)
		w.krylov.start(w.gz)
		begin := math.Sqrt(w.krylov.RR)
		level := math.Max(w.gradientRounding(w.z, tolerance.SumRounding), w.relative*w.terms(w.z))
		end, left := w.krylov.run(ctx, math.Max(level, tolerance.Forcing*math.Min(begin, last)), nil)
		if end != reached && end != exhausted {
			return false
		}
		linalg.Axpy(w.z, 1, w.krylov.d)
		linalg.Axpy(w.gz, 1, w.krylov.hd)
		w.face.multipliers(w.lambda, w.gz)
		wrong := w.misplaced(w.dropLevel(left))
		if len(wrong) == 0 {
			if left <= level || left > 0.5*last { // what rounding leaves
				copy(y, w.z)
				return true
			}
			last = left
			continue
		}
		switch {
		case len(wrong) < fewest:
			fewest, patience = len(wrong), tolerance.Exchanges
		case patience == 0:
			return false
		default:
			patience--
		}
		last = math.Inf(1)
		for _, i := range wrong {
			if w.face.in[i] {
				w.face.drop(i)
			}
		}
		for _, i := range wrong {
			if w.boundary.slack[i] < 0 && !w.face.add(i) {
				return false
			}
		}
	}
	return false
}

// misplaced are the rows of the face with a force below -level, and those outside that z breaks, whose slacks are negative in w.boundary; of others there they are 0.
func (w *activeSet) misplaced(level float64) (rows []int) {
	slack := resize(w.boundary.slack, w.poly.m)
	w.boundary.slack = slack
	for i := range slack {
		slack[i] = 0
		switch {
		case w.poly.norm[i] == 0:
		case w.face.in[i]:
			if !w.poly.equal(i) && w.lambda[i]*w.poly.norm[i] < -level {
				rows = append(rows, i)
			}
		default:
			if s := w.poly.slack(i, w.z); s < -w.poly.rounding(i, w.z) {
				slack[i] = s
				rows = append(rows, i)
			}
		}
	}
	return rows
}
