package certify

import (
	"math"
	"slices"
)

// required is what must be there for a document to say that it is solved.
func (v *verification) required() {
	c := v.doc.Certificate
	if c == nil || c.Lower == nil {
		v.fail("solved", "there is no certificate of the lower level")
		return
	}
	if c.Joint != nil && v.doc.Stationary && c.Goldstein == nil && c.GradientMapping == nil {
		// It needs no gradient of F, of which there may be hundreds here. What is left
		// of f's own counts with y in the unit in which it moves over X.
		_, gy, terms := v.pulls(c.Joint)
		v.within("solved: radius delta, by the size of x", c.Joint.Delta/v.d.s.x, v.tol.Radius)
		v.measure("solved: measure over both levels' rows, by the size of gradients", math.Max(c.Joint.Norm, norm(gy)*v.d.s.response/v.d.s.x), terms)
		v.descending(c.Joint.Norm)
		return
	}
	if !v.doc.Stationary && v.doc.Hypergradient == nil && math.IsNaN(v.doc.GradientError) {
		return // an evaluation of F, which says nothing of a gradient
	}
	v.within("solved: error of the hypergradient, by the size of gradients", share(v.doc.GradientError, v.d.s.gradient), v.tol.Share)
	if v.doc.Hypergradient == nil {
		v.fail("solved", "there is no hypergradient")
	}
	if !v.doc.Stationary {
		return
	}
	if v.doc.Hypergradient != nil && v.at != nil {
		v.bounded()
	}
	switch {
	case c.Goldstein != nil:
		g := c.Goldstein
		largest := v.d.s.gradient
		for _, s := range g.Samples {
			largest = math.Max(largest, norm(s.Gradient))
		}
		v.within("solved: radius delta, by the size of x", g.Delta/v.d.s.x, v.tol.Radius)
		v.measure("solved: Goldstein measure, by the size of gradients", g.Norm, largest)
		v.within("solved: error of the gradients, by their size", share(g.GradientError, largest), v.tol.Share)
		v.descending(g.Norm + g.GradientError)
	case c.GradientMapping != nil:
		m := c.GradientMapping
		largest := math.Max(v.d.s.gradient, norm(m.Gradient))
		// One step goes no further than X is wide, wherever X is. With a smaller L the mapping is L times
		// a way through all of X, small wherever it begins; with the one whose step is that long it is at
		// most so much more, as a longer step goes no less far.
		short := norm(m.Gradient) / (m.Smoothness * 2 * orOne(norm(v.d.s.width)))
		v.measure("solved: gradient mapping, by the size of gradients", m.Norm*math.Max(1, short), largest)
		v.within("solved: error of the gradient, by its size", share(m.GradientError, v.d.s.gradient), v.tol.Share)
	default:
		v.fail("solved", "there is no certificate of stationarity")
	}
}

// measure checks a measure of stationarity against the size of gradients: of those
// near the point or, where that does not do, of F over X, as where F is flat near its
// optimum and steep on the way there.
func (v *verification) measure(claim string, norm, near float64) {
	if share(norm, near) > v.asked(v.doc.Epsilon) {
		near = math.Max(near, overX*v.d.gradientOverX(v.doc.X, v.doc.Y, v.active()))
	}
	v.within(claim, share(norm, near), v.asked(v.doc.Epsilon))
}

// overX is the share of the gradients over X that a measure of stationarity may be
// relative to: twice the share of the first gradient that a run makes do with, which
// may have started where F is that much steeper than at these points.
const overX = 0.2

// descending fails a point from which F goes on falling along the way from the model's start, in the entries of x
// that X does not bound there. It is looked for where the measure lets F fall by a part of itself that a limit of F
// would not leave it, over the length of the way: what is small beside gradients that the curvature of F makes of
// the radius may be all that F falls by.
func (v *verification) descending(measure float64) {
	const still, nearest = 1e-3, 1e-5 // the latter well beyond the radius, within which a kink may end the way
	start, way := make([]float64, v.p.Dx), make([]float64, v.p.Dx)
	copy(start, v.p.Start)
	for j, from := range start {
		d := v.doc.X[j] - from
		if d > 0 && math.IsInf(v.p.X.Hi[j], 1) || d < 0 && math.IsInf(v.p.X.Lo[j], -1) {
			way[j] = d
		}
	}
	f := v.doc.Upper
	if v.at == nil || v.doc.Coupled != nil || !(measure*norm(way) > still*math.Abs(f)) {
		return
	}
	defer func() { v.d.near, v.d.kept = nil, nil }() // the curvature is to be that at x
	value := func(x []float64) (f float64, ok bool) {
		if off, _ := v.outsideX(x); off > v.tol.KKT {
			return 0, false
		}
		at, err := v.d.lower(x, v.at.y, v.active())
		if err != nil {
			return 0, false
		}
		return v.d.f.Value(x, v.p.Answer(at.y, at.lambda)), true
	}
	size := math.Abs(f)
	if from, ok := value(start); ok {
		size = math.Max(size, math.Abs(from-f))
	}
	for t := 1.0; t >= nearest; t /= 10 {
		on := slices.Clone(v.doc.X)
		for j, d := range way {
			on[j] += t * d
		}
		if there, ok := value(on); ok && there < f-t*still*size && measure*norm(way) > still*size {
			v.fail("solved", "F, %.3g, goes on falling along x, which X does not bound: by %.3g over %.3g of its length", f, f-there, t)
			return
		}
	}
}

// share is a part of a whole; none of nothing is none.
func share(part, whole float64) float64 {
	if part == 0 {
		return 0
	}
	return part / whole
}

// asked is the accuracy that counts: what was asked for, within what may be.
func (v *verification) asked(epsilon float64) float64 {
	if epsilon > 0 {
		return math.Min(epsilon, v.tol.Share)
	}
	return v.tol.Share
}

// rough checks that a document that is not solved, and says that its lower level is not
// either, claims nothing that would follow from it; false for others.
func (v *verification) rough() bool {
	if !v.doc.Rough || v.doc.Solved {
		return false
	}
	c := v.doc.Certificate
	v.check("no gradient of F where the lower level is not solved",
		v.doc.Hypergradient == nil && !v.doc.Strict && (c == nil || c.Goldstein == nil && c.Joint == nil && c.GradientMapping == nil), "")
	v.Unchecked = append(v.Unchecked, "lower.variables (the document says that the lower level was not solved to its tolerance; its residuals are checked)")
	return true
}
