package lower

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// newton minimizes an objective on a face: Newton's method whose linear
// systems are solved by conjugate gradients with gradient differences. Near
// the solution the products of earlier points are used again (the chord
// method) as long as each step still reduces the gradient tenfold.
type newton struct {
	obj       Objective
	known     Curvature
	face      face
	curvature curvature
	krylov    krylov
	n         int

	value    float64
	along    float64   // |H y| / |y| at the point alongAt, where it was last measured
	alongAt  []float64 // len n
	foreign  bool      // of products that belong to another point
	grad     []float64 // gradient at y, len n
	s        []float64 // its part along the face, len n
	d        []float64 // step, len n
	trial    []float64 // len n
	tgrad    []float64 // len n
	best     []float64 // the point with the smallest |s| so far, len n
	bestNorm float64

	longest   float64   // the longest step that may be tried
	cut       bool      // the last step was shorter than the model's
	undefined []float64 // the first trial of a step at which the objective was not defined; empty: none
}

// outcome of a minimization on a face or over the rows.
type outcome uint8

const (
	converged   outcome = iota // to rounding, or to the tolerance asked
	stalled                    // no further progress, above the tolerance
	descending                 // the objective falls without bound along d
	notFinite                  // value or gradient is NaN or infinite at the start
	interrupted                // the context ended
	limited                    // the iterations allowed are used up
)

func (w *newton) reset(obj Objective, n int) {
	w.obj, w.known, w.n = obj, curvatureOf(obj), n
	room(n, &w.grad, &w.s, &w.d, &w.trial, &w.tgrad, &w.best, &w.alongAt)
	w.curvature.reset(obj, w.known.Quadratic, n)
	w.krylov.reset(&w.face, &w.curvature, w.known.Mu)
	w.longest, w.undefined = math.Inf(1), w.undefined[:0]
}

// terms is the size of the terms that the gradient at y is a sum of: its own
// and that of C y for a quadratic. Where curvatures differ by far more than
// rounding resolves, as those of y log y near 0, C would say nothing of y, and
// H y takes its place. At y = 0 terms that cancel have the size of the force along the
// length on which they are curved.
func (w *newton) terms(y []float64) float64 {
	size := linalg.Norm(y)
	if w.known.Quadratic {
		return linalg.Norm(w.grad) + w.curvature.largest*size
	}
	return linalg.Norm(w.grad) + w.along*math.Max(size, w.curvature.length)
}

// renew measures curvature at y from now on, and w.along with it. What was largest
// elsewhere, as 1/y is near 0, says nothing of what is flat here.
func (w *newton) renew(y []float64) {
	w.curvature.clear()
	if !w.known.Quadratic {
		w.curvature.largest = 0
		w.curvature.outgrown(linalg.Norm(y))
	}
	w.curvature.move(y, w.grad)
	w.measureAlong(y)
	w.foreign = false
	w.curvature.along = w.along * linalg.Norm(y)
}

// measureAlong sets along to |H y| / |y|.
func (w *newton) measureAlong(y []float64) {
	w.along = w.curvature.largest
	size := linalg.Norm(y)
	if !w.known.Quadratic && size > 0 && w.curvature.apply(w.s, y) {
		w.along = linalg.Norm(w.s) / size
	}
	copy(w.alongAt, y)
}

// elsewhere reports that an entry of y has another size than where along was measured.
func (w *newton) elsewhere(y []float64) bool {
	for j, v := range y {
		if a := math.Abs(w.alongAt[j]); !(math.Abs(v) <= 2*a && a <= 2*math.Abs(v)) {
			return true
		}
	}
	return false
}

// judge measures along at y, before a verdict is made of it, where an entry of y has another
// size than where it was measured: curvature that goes with 1/y, as that of y log y, times
// another y is the size of no term, and one that was nearly 0 may have had all of it. So is
// that of products which belong to another point, unless the verdict that what is left is zero
// stands without them. Products that are kept stay as they are.
func (w *newton) judge(y []float64, left, zero float64) {
	size := linalg.Norm(y)
	c := &w.curvature
	far := c.outgrown(size)
	foreign := w.foreign && left > zero*linalg.Norm(w.grad)
	if w.known.Quadratic || !far && !foreign && !w.elsewhere(y) {
		return
	}
	if !far && !w.elsewhere(y) && w.alongItself(y) {
		w.foreign = false
		copy(w.alongAt, y)
		return
	}
	at, grad, shrink := slices.Clone(c.at), slices.Clone(c.grad), c.shrink
	c.move(y, w.grad)
	if size == 0 {
		c.step() // measures the length
	} else {
		direction := make([]float64, len(y))
		linalg.Axpy(direction, 1/size, y)
		if c.difference(w.s, direction) {
			w.along = linalg.Norm(w.s)
			c.along = w.along * size
		}
	}
	c.move(at, grad)
	c.shrink, w.foreign = shrink, false
	copy(w.alongAt, y)
}

// alongItself measures along by two gradients, as each entry of y changes by a small share of its own size: that stays
// in the domain of g and needs no length on which g is curved, which takes some tens to find. It reports false where y is 0 or
// a gradient is not finite.
func (w *newton) alongItself(y []float64) bool {
	size, change := linalg.Norm(y), make([]float64, w.n)
	w.curvature.gradients += 2
	if size == 0 || !w.changeBySize(change, y, func(int) float64 { return 1 }) {
		return false
	}
	w.curvature.along = linalg.Norm(change)
	w.along = w.curvature.along / size
	return true
}

// gradientRounding estimates the rounding in the gradient at y: two roundings where each term is one product, and a part of
// tolerance.SumRounding with sums inside f and g, of which nothing is known here: a step from below that which does not leave
// a tenth has met it, and further ones would go up and down.
func (w *newton) gradientRounding(y []float64, part float64) float64 { return 2 * part * w.terms(y) }

// minimize moves y (on entry anywhere) to the minimizer on the face, until
// rounding ends the progress. relative is the |s| at which that counts as
// converged, relative to the size of the gradient's terms.
func (w *newton) minimize(ctx context.Context, y []float64, relative float64) outcome {
	w.face.restore(y)
	w.value = w.obj.ValueGrad(w.grad, y)
	if math.IsNaN(w.value) || !linalg.Finite(w.grad) {
		return notFinite
	}
	// fresh: the products on hand are those of this objective, and at this y
	// unless it is quadratic. What an earlier solve left is not.
	fresh := w.curvature.k == 0
	w.curvature.move(y, w.grad)
	w.measureAlong(y)
	if w.foreign = !fresh; fresh {
		w.curvature.along = w.along * linalg.Norm(y)
	}
	w.bestNorm = math.Inf(1)
	previous, first := math.Inf(1), 0.0
	stalls := 0
	lowest, idle := w.value, 0
	// A quadratic is solved by one step and cleaned by a few more; 200 is far
	// beyond what Newton's method needs from anywhere.
	for iteration := 0; iteration < 200; iteration++ {
		if ctx.Err() != nil {
			return interrupted
		}
		copy(w.s, w.grad)
		w.face.project(w.s)
		norm := linalg.Norm(w.s)
		if iteration == 0 {
			first = norm
		}
		idle++
		if norm < w.bestNorm {
			w.bestNorm, idle = norm, 0
			copy(w.best, y)
		}
		if w.value < lowest-tolerance.SumRounding*math.Abs(lowest) {
			lowest, idle = w.value, 0
		}
		// 20 is the number of steps in a row after which neither the gradient has been smaller than ever nor the value lower, beyond its
		// rounding, that end the search: differences then miss the curvature that is there, as beside the kink of max(0, y)^1.5. Of a
		// curved valley Newton's method needs no more to lower one of the two.
		if idle == 20 {
			return w.restoreBest(y, norm, relative)
		}
		if norm <= math.Max(w.gradientRounding(y, tolerance.SumRounding), relative*w.terms(y)) {
			w.judge(y, norm, 2*tolerance.Roundoff)
		}
		if floor := w.gradientRounding(y, tolerance.Roundoff); norm <= floor || norm <= w.gradientRounding(y, tolerance.SumRounding) && (norm > 0.1*previous || w.known.Quadratic && w.factored()) {
			return w.restoreBest(y, norm, relative) // a direct step from there ends at rounding again
		}
		if norm > w.pace()*previous {
			if !fresh && norm > relative*w.terms(y) {
				w.renew(y)
				fresh = true
			} else if norm > 0.5*previous && norm <= math.Sqrt(tolerance.Roundoff)*first+relative*w.terms(y) {
				// Progress has ended near the solution; once may be chance.
				if stalls++; stalls >= 2 {
					return w.restoreBest(y, norm, relative)
				}
			}
		}
		end := reached
		direct := w.chordStep()
		if !direct {
			w.krylov.start(w.grad)
			end, _ = w.krylov.run(ctx, w.residual(y, norm, previous), nil)
			copy(w.d, w.krylov.d)
		}
		switch {
		case end == halted:
			return interrupted
		case end == undefined:
			return w.restoreBest(y, norm, relative)
		case end == flat && norm <= relative*w.terms(y):
			// Directions without curvature and without slope: y is one of
			// several minimizers.
			return w.restoreBest(y, norm, relative)
		case end == flat && linalg.Norm(w.d) == 0:
			scale := w.face.poly.unit(y) / linalg.Norm(w.krylov.P)
			floats.ScaleTo(w.d, scale, w.krylov.P)
			if w.known.Quadratic || w.falls(y) {
				return descending
			}
		}
		previous = norm
		if !w.step(y, w.exact(fresh), norm) {
			return w.restoreBest(y, norm, relative)
		}
		if w.known.Quadratic {
			w.curvature.move(y, w.grad)
		} else {
			fresh = false
		}
	}
	return w.restoreBest(y, math.Inf(1), relative)
}

// factored reports whether the Hessian is known and positive definite.
func (w *newton) factored() bool {
	h := w.curvature.hessian
	return h != nil && h.factors != nil
}

// ahead moves y, where g is stationary on the face, to where g plus a linear function of that slope is, by a Hessian that is known and
// factorized: the gradient at y, which that function alone changes, is not asked for.
func (w *newton) ahead(y, slope []float64) {
	if slope == nil || !w.known.Quadratic || !w.factored() {
		return
	}
	floats.ScaleTo(w.trial, -1, slope)
	if w.curvature.hessian.direction(w.d, &w.face, w.trial) {
		linalg.Axpy(y, 1, w.d)
	}
}

// chordStep sets d to the step along the face of a Hessian that is known and
// factorized. It reports false where it is not known.
func (w *newton) chordStep() bool {
	h := w.curvature.hessian
	if !w.factored() {
		return false
	}
	floats.ScaleTo(w.trial, -1, w.s)
	if !h.direction(w.d, &w.face, w.trial) {
		return false
	}
	w.face.project(w.d)
	return true
}

// pace is the reduction of the gradient that a step has to make, or else curvature is
// measured anew: a tenth, or what pays where that takes n gradients.
func (w *newton) pace() float64 {
	if !w.known.Quadratic && w.curvature.hessian != nil {
		return patient(w.n)
	}
	return 0.1
}

// exact reports whether a step of the Newton system leads to the solution:
// that of a quadratic, with products of its own Hessian.
func (w *newton) exact(fresh bool) bool {
	return w.known.Quadratic && (fresh || w.known.Fixed && w.curvature.memory != nil)
}

// residual is what a Newton system at y is solved to, whose gradient is norm: that of forcing, or a hundredth of the rounding of the gradient, which ends the iteration: entries with small forces are beside those with large ones.
func (w *newton) residual(y []float64, norm, previous float64) float64 {
	return math.Max(w.forcing(norm, previous)*norm, tolerance.Forcing*tolerance.Forcing*w.gradientRounding(y, tolerance.Roundoff))
}

// forcing is the relative residual to which a Newton system is solved: far
// enough for a quadratic that one more pass cleans up; otherwise the square
// of the last reduction, which keeps the convergence superlinear (Eisenstat
// and Walker 1996, choice 2), within limits.
func (w *newton) forcing(norm, previous float64) float64 {
	if w.known.Quadratic {
		return tolerance.SolveAccuracy
	}
	ratio := norm / previous
	return math.Max(1e-6, math.Min(0.1, 0.9*ratio*ratio))
}

// restoreBest returns to the best point seen and grades it; norm is that of the gradient along the face at y.
func (w *newton) restoreBest(y []float64, norm, relative float64) outcome {
	if norm > w.bestNorm {
		copy(y, w.best)
		w.value = w.obj.ValueGrad(w.grad, y)
	}
	w.judge(y, w.bestNorm, relative)
	if w.bestNorm <= relative*w.terms(y) {
		return converged
	}
	return stalled
}

// step moves y along d by the first of 1, and shorter lengths, with a
// sufficient decrease of the objective (Armijo); or, near the solution, where
// values no longer differ, with at most half the gradient along the face, of
// which norm is now left. Slopes would not do there: the gradient's part
// across the face, which is not small, makes them all rounding. exact says
// that the step is that of a quadratic, which needs no test. It leaves value
// and gradient at y.
func (w *newton) step(y []float64, exact bool, norm float64) bool {
	slope := linalg.Dot(w.grad, w.d)
	// Of a sum of many terms of the size of the value and of grad'y.
	rounding := 64 * tolerance.Roundoff * (math.Abs(w.value) + w.terms(y)*linalg.Norm(y))
	length, inward := math.Min(1, w.longest), 0.9
	// From 1 down to where y no longer changes.
	for tries := 0; tries < 60; tries++ {
		floats.AddScaledTo(w.trial, y, length, w.d)
		if length == 1 {
			w.face.restore(w.trial)
		}
		value := w.obj.ValueGrad(w.tgrad, w.trial)
		if !math.IsNaN(value) && linalg.Finite(w.tgrad) {
			if exact || value <= w.value+tolerance.Armijo*length*slope || (value <= w.value+rounding && w.flatter(0.5*norm)) {
				copy(y, w.trial)
				w.grad, w.tgrad = w.tgrad, w.grad
				w.value, w.cut = value, length < 1
				return true
			}
			end := linalg.Dot(w.tgrad, w.d)
			length *= math.Max(0.1, math.Min(0.5, slope/(slope-end)))
			continue
		}
		if len(w.undefined) == 0 {
			w.undefined = append(w.undefined, w.trial...)
		}
		// Outside the domain. Not all the way to its edge either, where
		// curvature is singular and Newton's method slow to come back.
		length *= inward
		inward = 0.5
	}
	return false
}

// flatter reports whether the trial gradient along the face is at most a norm.
func (w *newton) flatter(norm float64) bool {
	copy(w.s, w.tgrad)
	w.face.project(w.s)
	return linalg.Norm(w.s) <= norm
}
