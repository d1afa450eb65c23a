package outer

import (
	"math"
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Tolerances have no unit: lengths are relative to the size of x over X, values of F
// and its gradients to what F does over such a length. A problem in other units is
// then solved in the same steps.

// Width is the size of x over the upper level's set, in its units: the largest half interval or
// radius, or where an entry is not bounded the largest number that is known of it, its
// bound or its start; that of the point where the set is one, or the start's, if larger; 1 where nothing says anything.
func Width(set *problem.Set, start []float64) float64 {
	if width := told(set, start); width > 0 {
		return width
	}
	return 1
}

// told is Width, or 0 where nothing says anything.
func told(set *problem.Set, start []float64) float64 {
	width := 0.0
	note := func(v float64) {
		if v > width && v > tolerance.LeastSquared && !math.IsInf(v, 0) {
			width = v
		}
	}
	for j, x := range start {
		lo, hi := math.Inf(-1), math.Inf(1)
		if set != nil && set.Lo != nil {
			lo, hi = set.Lo[j], set.Hi[j]
		}
		if bounded := hi - lo; bounded < math.Inf(1) {
			note(bounded / 2)
			continue
		}
		note(math.Abs(x))
		note(math.Abs(lo))
		note(math.Abs(hi))
	}
	if set != nil && width == 0 {
		for _, b := range set.Balls {
			note(b.Radius)
		}
	}
	if width == 0 { // one point, or nothing is known but the start
		for j, x := range start {
			note(math.Abs(x))
			// The start of an evaluation need not be that point.
			if set != nil && set.Lo != nil {
				note(math.Abs(set.Lo[j]))
			}
		}
	}
	return width
}

// widthAt is Width for the run's problem and a start.
func (r *Run) widthAt(start []float64) float64 { return Width(r.h.Problem().X, start) }

// Size is what lengths near x are relative to.
func (r *Run) Size(x []float64) float64 { return r.width + linalg.Norm(x) }

// Radius is a share of the size of x, but for how far X is from 0, which says nothing of how far
// pieces of F reach: of years, or of prices in a narrow band, a share would be all of X. It is
// no less than some roundings of x.
func (r *Run) Radius(share float64, x []float64) float64 {
	from, set := linalg.Clone(x), r.h.Problem().X
	for j, v := range x {
		if set != nil && set.Lo != nil {
			from[j] = v - math.Max(set.Lo[j], math.Min(set.Hi[j], 0))
		}
	}
	return math.Max(share*(r.width+linalg.Norm(from)), tolerance.Feasibility*linalg.Norm(x))
}

// Room is how far x can go from here: the half width of X, and in what has no bounds as far
// again as x is. Unlike size it is the same wherever X is.
func (r *Run) Room(x []float64) float64 {
	far, held := linalg.Clone(x), make([]bool, len(x))
	set, radius := r.h.Problem().X, 0.0
	for j := range x {
		if set == nil || set.Lo == nil {
			break
		}
		if wide := set.Hi[j] - set.Lo[j]; wide < math.Inf(1) {
			radius, far[j], held[j] = math.Max(radius, wide/2), 0, true
		}
	}
	if set != nil {
		for _, b := range set.Balls {
			for j := b.Start; j < b.End; j++ {
				radius, far[j], held[j] = math.Max(radius, b.Radius), 0, true
			}
		}
	}
	if radius > 0 && !slices.Contains(held, false) {
		return radius
	}
	return r.width + linalg.Norm(far)
}

// Noise is the difference in F at a sample that means nothing: the accuracy of values
// times the size of F and of the terms that may cancel in it. As terms count over the size of x 1e-3 of the
// gradient at the point, where F is steep, as at a kink, and 1e-6 of the first one, so that
// values below all that a run has seen are noise even where F and its gradient vanish.
func (r *Run) Noise(at *Sample) float64 {
	return tolerance.Feasibility * (math.Abs(at.F) + r.Size(at.X)*(1e-3*linalg.Norm(at.G)+1e-6*r.slope))
}

// Scale is what a measure of stationarity is relative to where F is smooth and its gradients vanish: a share of the first one.
// 0.1 is the share of the first gradient that gradient makes do with.
func (r *Run) Scale() float64 { return 0.1 * r.slope }
