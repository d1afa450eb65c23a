package outer

import (
	"bilevelc/internal/ablation"
	"context"
	"math"
	"slices"

	"bilevelc/runtime/oracle"
	"bilevelc/runtime/problem"
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
		if v > width && v > leastLength && !math.IsInf(v, 0) {
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

// leastLength is where the squares of lengths underflow, and curvatures overflow: a start of 0
// that was projected may end that near, and nothing is relative to it.
const leastLength = 0x1p-511

// widthAt is Width for the run's problem and a start.
func (r *Run) widthAt(start []float64) float64 { return Width(r.h.Problem().X, start) }

// learnWidth takes the size of the point that a search has come to for that of x, where neither X
// nor the model's start says anything, as one that was drawn does not: steps find their own
// lengths, radii and certificates do not.
func (r *Run) learnWidth(at *Sample) {
	if ablation.Off("learnWidth") {
		return
	}
	p, start := r.h.Problem(), make([]float64, len(at.X))
	copy(start, p.Start)
	if told(p.X, start) > 0 {
		return
	}
	if length := told(nil, at.X); length > 0 {
		r.width = length
	}
}

// size is what lengths near x are relative to.
func (r *Run) size(x []float64) float64 { return r.width + norm(x) }

// radius is a share of the size of x, but for how far X is from 0, which says nothing of how far
// pieces of F reach: of years, or of prices in a narrow band, a share would be all of X. It is
// no less than some roundings of x.
func (r *Run) radius(share float64, x []float64) float64 {
	const roundings = 64
	from, set := clone(x), r.h.Problem().X
	for j, v := range x {
		if set != nil && set.Lo != nil {
			from[j] = v - math.Max(set.Lo[j], math.Min(set.Hi[j], 0))
		}
	}
	return math.Max(share*(r.width+norm(from)), roundings*0x1p-52*norm(x))
}

// room is how far x can go from here: the half width of X, and in what has no bounds as far
// again as x is. Unlike size it is the same wherever X is.
func (r *Run) room(x []float64) float64 {
	far, held := clone(x), make([]bool, len(x))
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
	return r.width + norm(far)
}

// rounding is the relative accuracy of a value of F: what a good lower solve
// leaves.
const rounding = 1e-13

// The parts of the gradient at a point, and of the first one, over the size of x that
// count as terms of F: the former where F is steep, as at a kink; the latter so that
// values below all that a run has seen are noise even where F and its gradient vanish.
const (
	localTerms = 1e-3
	firstTerms = 1e-6
)

// noise is the difference in F at a sample that means nothing: the accuracy of values
// times the size of F and of the terms that may cancel in it.
func (r *Run) noise(at *Sample) float64 {
	return rounding * (math.Abs(at.F) + r.size(at.X)*(localTerms*norm(at.G)+firstTerms*r.slope))
}

// lowered is how many times its noise F has to fall by for a search to go there, and
// for a point that was met to be returned in the place of the one that was certified.
const lowered = 10

// gradient is what a measure of stationarity near samples is relative to: the largest
// of their gradients, and of a share of the first one, as they vanish where F is
// smooth.
func (r *Run) gradient(samples ...Sample) float64 {
	return math.Max(flat*r.slope, steepest(samples))
}

// steepest is the largest of the gradients of samples.
func steepest(samples []Sample) float64 {
	scale := 0.0
	for _, s := range samples {
		scale = math.Max(scale, norm(s.G))
	}
	return scale
}

// unit finds the size of gradients where the first one vanishes, as it does at a start
// that happens to be a minimizer: from points around it, as far away as X is wide and
// then nearer.
func (r *Run) unit(ctx context.Context) error {
	for _, share := range []float64{1, 0.1, 0.01} {
		if r.slope > 0 {
			return nil
		}
		x, err := r.move(r.Start, share*r.size(r.Start))
		if err == nil {
			_, err = r.Gradient(ctx, x)
		}
		if err != nil && !outside(err) {
			return err
		}
	}
	return nil
}

// around is the size of gradients around a sample: what they change by along a way of the
// size of x, told from points at shares of it, the least and the middle one of what these
// say. Where F is quadratic they say the same; where it grows as exp does gradients far off
// say nothing of those near by, and where pieces of it meet, so that gradients change at
// once, the ones near by say too much. What changes by no more than the gradients' errors, as
// near a point of a plateau, says nothing. Both are 0 where no point around has a gradient that
// says anything.
func (r *Run) around(ctx context.Context, at *Sample) (least, middle float64, err error) {
	var sizes []float64
	size := r.size(at.X)
	for _, share := range []float64{1, 0x1p-6, 0x1p-12} {
		x, err := r.move(at.X, share*size)
		var pt *oracle.Point
		if err == nil {
			// What is met here is no point of the search.
			pt, err = r.point(ctx, x)
		}
		if err != nil {
			if outside(err) {
				continue
			}
			return 0, 0, err
		}
		if far := distance(pt.X, at.X); far > 0 && pt.Grad != nil && finite(norm(pt.Grad)) {
			if change := distance(pt.Grad, at.G); change > at.GError+sampleOf(pt).GError {
				sizes = append(sizes, change*size/far)
			}
		}
	}
	if len(sizes) == 0 {
		return 0, 0, nil
	}
	slices.Sort(sizes)
	return sizes[0], sizes[(len(sizes)-1)/2], nil
}

// steepless is how much less steep than the first gradient F has to become for the first
// one to be doubted: a run on a quadratic comes there as well, and finds it confirmed.
const steepless = 1e-3

// scope lowers the size of the terms of gradients to that of those around a sample, where F
// has become much less steep than that says: it may have grown as exp does where the run
// began, and what is noise there is not so here.
func (r *Run) scope(ctx context.Context, at *Sample) error {
	if ablation.Off("scope") {
		return nil
	}
	steep := norm(at.G)
	if r.scoped == 0 {
		r.scoped = r.slope
	}
	if !(steep > 0 && steep < steepless*r.scoped) {
		return nil
	}
	r.scoped = steep
	_, middle, err := r.around(ctx, at)
	if err != nil {
		return err
	}
	if middle > 0 {
		r.slope = math.Min(r.slope, math.Max(middle, steep))
		r.scoped = math.Min(r.scoped, r.slope)
	}
	return nil
}

// flat is the share of the first gradient that gradient makes do with.
const flat = 0.1
