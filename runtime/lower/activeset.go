package lower

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// activeSet minimizes an objective over the rows from a guess of the active
// ones: a primal active-set method. Iterates are feasible. Each pass solves
// the quadratic model at the current point over the rows, with conjugate
// gradients on faces and products from gradient differences, which the faces
// share; a line search then takes the point to the model's solution. For a
// quadratic objective the model is exact and further passes only remove
// rounding.
//
// On a face, a step that meets a row adds it. Where a face's minimizer is
// reached, the gradient is projected onto the cone of all binding rows, which
// gives multipliers >= 0 and with them the next face. What is left of the
// gradient is a descent direction that no binding row blocks, so that the
// objective falls strictly and degenerate vertices cannot make it cycle.
type activeSet struct {
	newton
	poly       *polyhedron
	projection *projection
	boundary   boundary
	relative   float64 // see newton.minimize

	z, gz    []float64 // the model's point and gradient, len n
	base     []float64 // the pass's start, len n
	lambda   []float64 // len m: multipliers on the face
	current  []float64 // len m: multipliers >= 0 in the cone projection
	sizes    []float64 // len n: of y by class, scratch
	binding  []int
	bestRows []int
	open     []bool // len m: rows on which the objective is not defined, as far as they were met
	opened   bool   // there are some
	changes  int    // of the working set, in this solve
	limit    int    // of changes
}

func (w *activeSet) reset(obj Objective, q *polyhedron, g *projection, relative float64) {
	w.newton.reset(obj, q.n)
	w.poly, w.projection, w.relative = q, g, relative
	room(q.n, &w.z, &w.gz, &w.base)
	room(q.m, &w.lambda, &w.current)
	w.open, w.opened = linalg.Cleared(w.open, q.m), false
	w.face.open, w.curvature.room = w.open, nil
	w.changes = 0
}

// enter builds the first face from the Equal rows and the guess, and moves y
// to a feasible point on it, leaving out guessed rows where the two cannot be
// had together. The error is a *conflict where no point is feasible.
func (w *activeSet) enter(y []float64, guess []int) error {
	w.gather(guess)
	if w.toFace(y) {
		return nil
	}
	// The nearest feasible point; of the guess keep what binds there.
	binding, err := w.projection.nearest(w.z, guess, w.binding[:0])
	w.binding = binding
	if err != nil {
		return err
	}
	copy(y, w.z)
	w.gather(binding)
	for _, i := range guess {
		if w.poly.slack(i, y) <= w.poly.rounding(i, y) {
			w.face.add(i)
		}
	}
	w.face.refactor()
	return nil
}

// toFace moves y to the nearest point of the face, z, where that is feasible.
func (w *activeSet) toFace(y []float64) bool {
	copy(w.z, y)
	w.face.restore(w.z)
	if !w.feasible(w.z) {
		return false
	}
	copy(y, w.z)
	return true
}

// corner builds the face of the pressing rows and of those that the point nearest to y on them
// violates, and moves y to the point on it; it reports whether that is feasible. The nearest feasible
// point leaves a pressing row by as much as y is off, which is enough to lose its multiplier where
// other rows are about to bind.
func (w *activeSet) corner(y []float64, pressing []int) bool {
	w.gather(pressing)
	for range w.poly.m + 1 {
		if w.toFace(y) {
			return true
		}
		row, worst := -1, 0.0
		for i := range w.poly.m {
			if w.poly.norm[i] > 0 && !w.face.in[i] {
				if s := w.poly.slack(i, w.z); s < worst {
					row, worst = i, s
				}
			}
		}
		if row < 0 || !w.face.add(row) {
			return false
		}
	}
	return false
}

// gather makes the face that of the Equal rows and the given ones, as far as
// they are independent.
func (w *activeSet) gather(rows []int) {
	w.face.gather(w.poly, w.curvature.hessian, rows, nil)
}

func (w *activeSet) feasible(y []float64) bool {
	w.sizes = w.poly.sizes(w.sizes, y)
	for i := 0; i < w.poly.m; i++ {
		if w.poly.norm[i] == 0 {
			continue
		}
		s := w.poly.slack(i, y)
		if w.poly.equal(i) && !w.face.in[i] {
			s = -math.Abs(s)
		}
		if s < 0 && s < -w.poly.near(i, y, w.sizes) {
			return false
		}
	}
	return true
}

// minimize takes y, feasible and on the face, to the minimizer over the rows,
// until rounding ends the progress. The outcome `stalled` with changes at the
// limit says that the guess was too far off.
func (w *activeSet) minimize(ctx context.Context, y []float64, limit int) outcome {
	w.limit = w.changes + limit
	w.value = w.obj.ValueGrad(w.grad, y)
	if math.IsNaN(w.value) || !linalg.Finite(w.grad) {
		return notFinite
	}
	switch {
	case w.known.Quadratic:
		w.curvature.move(y, w.grad)
	case w.curvature.hessian != nil:
		w.curvature.move(y, w.grad)
		w.measureAlong(y)
		w.foreign = true
	default:
		w.renew(y)
	}
	w.bestNorm = math.Inf(1)
	previous := math.Inf(1)
	fresh, stalls := w.curvature.memory == nil, 0
	copy(w.base, y)
	for pass := 0; pass < 200; pass++ { // see newton.minimize
		if ctx.Err() != nil {
			return interrupted
		}
		measure := w.measure()
		if measure < w.bestNorm {
			w.keep(y, measure)
		}
		if measure <= math.Max(w.gradientRounding(y, tolerance.Roundoff), w.relative*w.terms(y)) {
			if w.judge(y, measure, 2*tolerance.Roundoff); measure <= w.gradientRounding(y, tolerance.Roundoff) {
				return converged
			}
		}
		if measure > w.pace()*previous {
			if !fresh && measure > w.relative*w.terms(y) {
				w.renew(y)
				fresh = true
			} else if measure > 0.5*previous && (measure <= w.relative*w.terms(y) || w.known.Quadratic) {
				if stalls++; stalls >= 2 {
					return w.restoreBest(y)
				}
			}
		}
		end := w.model(ctx, y, w.residual(y, measure, previous))
		switch end {
		case interrupted, descending:
			return end
		case notFinite:
			// No difference of gradients at y is: it may lie on a row, to rounding, that
			// the last step has reached.
			if !w.discover(w.base, y) {
				return w.restoreBest(y)
			}
			copy(y, w.base)
			w.value = w.obj.ValueGrad(w.grad, y)
			w.shun(y)
			previous, fresh, stalls = math.Inf(1), true, 0
			continue
		}
		previous = measure
		floats.SubTo(w.d, w.z, y)
		if linalg.NormInf(w.d) == 0 {
			// Only the face has changed.
			if now := w.measure(); now < w.bestNorm {
				w.keep(y, now)
			}
			return w.restoreBest(y)
		}
		w.longest = tolerance.ToBoundary * w.reachOpen(y, w.d)
		w.undefined = w.undefined[:0]
		copy(w.base, y)
		moved := w.step(y, w.exact(fresh), measure)
		if len(w.undefined) > 0 && w.discover(w.base, w.undefined) {
			w.shun(y)
			previous, fresh, stalls = math.Inf(1), true, 0
			continue
		}
		if !moved {
			return w.restoreBest(y)
		}
		if w.cut { // else all of them do, and what is left of entries that are 0 on them is rounding without a size
			w.release(y)
		}
		if w.known.Quadratic {
			w.curvature.move(y, w.grad)
		} else {
			fresh = false
		}
		if end == stalled {
			return stalled
		}
	}
	return w.restoreBest(y)
}

// measure is the violation of the optimality conditions on the face at y: the
// gradient along the face and the most negative multiplier, as a force.
func (w *activeSet) measure() float64 {
	copy(w.s, w.grad)
	w.face.project(w.s)
	w.face.multipliers(w.lambda, w.grad)
	_, force := w.worst(w.lambda)
	return math.Hypot(linalg.Norm(w.s), math.Min(0, force))
}

// worst is the AtMost row of the face with the smallest multiplier, measured
// as the force lambda_i |B_i|; the row is -1 where there is none.
func (w *activeSet) worst(lambda []float64) (row int, force float64) {
	row, force = -1, math.Inf(1)
	for i, in := range w.face.in {
		if in && !w.poly.equal(i) {
			if v := lambda[i] * w.poly.norm[i]; v < force {
				row, force = i, v
			}
		}
	}
	return row, force
}

// model minimizes the quadratic model at y over the rows, from z = y, to an
// optimality violation of at most tolerance. It leaves its solution in z and
// the active rows in the face.
func (w *activeSet) model(ctx context.Context, y []float64, tolerance float64) outcome {
	copy(w.z, y)
	copy(w.gz, w.grad)
	last := math.Inf(1) // what was left on this face before
	for {
		if ctx.Err() != nil {
			return interrupted
		}
		w.boundary.set(w.poly, &w.face, w.z)
		end, left := w.onFace(ctx, tolerance)
		if end == halted {
			return interrupted
		}
		if end != reached && left > 0.5*last {
			return converged // rounding: the next pass has a true gradient
		}
		last = left
		switch end {
		case reached, exhausted:
			_, force := w.worst(w.lambda)
			if force >= -w.dropLevel(left) {
				if end == reached {
					return converged
				}
				continue
			}
			if w.changes >= w.limit {
				return stalled
			}
			w.changes++
			w.project()
		case undefined:
			return notFinite
		case blocked:
			if !w.join(w.boundary.row) {
				return stalled
			}
		case flat:
			if out := w.slide(y, left <= w.relative*w.terms(y)); out != converged {
				return out
			}
		}
		last = math.Inf(1)
	}
}

// onFace minimizes the model on the face from z, moves z and gz there, and
// sets lambda. It stops as soon as a multiplier says that the face is to be
// left: no more accuracy is spent on it than needed to tell.
func (w *activeSet) onFace(ctx context.Context, tolerance float64) (end ending, left float64) {
	w.krylov.start(w.gz)
	left = math.Sqrt(w.krylov.RR)
	// 320 bounds the rounds of onFace: each asks for a hundredth of what is left, and 300 hundredths lead from the largest double past the
	// smallest.
	for range 320 {
		end, left = w.krylov.run(ctx, math.Max(tolerance, 0.01*left), &w.boundary)
		floats.AddTo(w.s, w.gz, w.krylov.hd)
		w.face.multipliers(w.lambda, w.s)
		_, force := w.worst(w.lambda)
		if end != reached || left <= tolerance || force < -w.dropLevel(left) {
			break
		}
	}
	linalg.Axpy(w.z, 1, w.krylov.d)
	linalg.Axpy(w.gz, 1, w.krylov.hd)
	return end, left
}

// dropLevel is the force from which a multiplier counts as negative on a face
// whose gradient is left over to a given size: that size (Dostal 1997's
// proportioning), or the multipliers' own rounding with room for rows nearly
// dependent.
func (w *activeSet) dropLevel(left float64) float64 {
	return math.Max(left, 1e-12*(linalg.Norm(w.gz)+w.terms(w.z)))
}

// join adds a row that stopped a step to the face; false at the limit.
func (w *activeSet) join(row int) bool {
	w.changes++
	w.face.add(row)
	w.face.restore(w.z)
	return w.changes < w.limit
}

// slide follows a direction without curvature, krylov.P, to the first row in
// the way. Where there is none the objective falls without bound (if the
// slope is not just rounding), or the model has nothing to say and the pass
// ends after a long step.
func (w *activeSet) slide(y []float64, negligible bool) outcome {
	p := w.krylov.P
	if negligible {
		return stalled
	}
	w.boundary.set(w.poly, &w.face, w.z)
	length, row := w.boundary.along(p)
	if row >= 0 {
		linalg.Axpy(w.z, length, p)
		if w.known.Quadratic && w.curvature.apply(w.krylov.hp, p) {
			linalg.Axpy(w.gz, length, w.krylov.hp)
		}
		if !w.join(row) {
			return stalled
		}
		return converged
	}
	scale := w.poly.unit(w.z) / linalg.Norm(p)
	floats.ScaleTo(w.d, scale, p)
	if w.known.Quadratic || w.falls(y) {
		return descending
	}
	linalg.Axpy(w.z, 1, w.d)
	return stalled
}

// release drops the rows of the face that do not bind at y, after a step
// that the line search cut short.
func (w *activeSet) release(y []float64) {
	w.sizes = w.poly.sizes(w.sizes, y)
	for i, in := range w.face.in {
		if in && !w.poly.equal(i) && w.poly.slack(i, y) > w.poly.near(i, y, w.sizes) {
			w.face.drop(i)
		}
	}
}

// keep remembers y and its face as the best so far.
func (w *activeSet) keep(y []float64, measure float64) {
	w.bestNorm = measure
	copy(w.best, y)
	w.bestRows = w.face.rows()
}

// restoreBest returns to the best point and face seen and grades them.
func (w *activeSet) restoreBest(y []float64) outcome {
	if w.measure() > w.bestNorm {
		copy(y, w.best)
		w.face.reset(w.poly)
		for _, i := range w.bestRows {
			w.face.add(i)
		}
		w.value = w.obj.ValueGrad(w.grad, y)
	}
	w.judge(y, w.bestNorm, w.relative)
	if w.bestNorm <= w.relative*w.terms(y) {
		return converged
	}
	return stalled
}
