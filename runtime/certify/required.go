package certify

import (
	"math"
	"math/rand/v2"
	"slices"

	"bilevelc/runtime/tolerance"
)

// required is what must be there for a document to say that it is solved.
func (v *verification) required() {
	c := v.certificate()
	switch {
	case c.Lower == nil:
		v.fail("solved", "there is no certificate of the lower level")
		return
	case c.Strong != nil && v.doc.Stationary: // its own checks ask for all there is to it
		return
	case v.doc.Tied && !v.doc.Stationary:
		return
	case !v.doc.Stationary && v.doc.Hypergradient == nil && math.IsNaN(v.doc.GradientError): // an evaluation of F, which says nothing of a gradient
		return
	}
	size := math.Max(v.d.s.local, norm(v.doc.Hypergradient))
	if share(v.doc.GradientError, size) > Share {
		size = math.Max(size, v.overRadius())
	}
	v.within(GradientErrorClaim, share(v.doc.GradientError, size), Share)
	if v.doc.Hypergradient == nil {
		v.fail("solved", "there is no hypergradient")
	}
	if !v.doc.Stationary {
		return
	}
	v.bounded()
	// Where entries are so large that f is all rounding of theirs, the size of gradients is that of rounding, and what is small beside it may be anything.
	v.within("solved: what rounding of x and y makes of grad f, by its terms", v.lost(), Share)
	switch {
	case c.Goldstein != nil:
		g := c.Goldstein
		size := math.Max(v.d.s.local, g.Size())
		v.within("solved: radius delta, by the size of x", g.Delta/v.d.s.x, Share/2)
		if v.doc.Radius > 0 {
			v.within("solved: radius delta, by the one that was asked for", g.Delta, askedRadius*v.doc.Radius*(v.d.s.x+norm(v.fromX())))
		} else {
			v.Unchecked = append(v.Unchecked, "certificate.goldstein.delta (which radius was asked for is not known; that the samples are within it, and that it is no large part of x, is checked)")
		}
		// Where X is wide a share of it says nothing of how far pieces of F reach. Where F is 0 here and at the start, of what it changes by over X, nothing else
		// says how far is far. The factors are for what was computed otherwise.
		if fall := v.fall(); v.doc.Relative && fall > 2*tolerance.Feasibility*g.Size()*(v.d.s.x+norm(v.doc.X)) {
			v.within("solved: what F may fall by within delta, by F and what it is lower than at the start", share(g.slack(v.doc.X), fall), tolerance.Slack*(1+0x1p-20))
		}
		// A multiplier of a constraint with slack is that of a point where it has none, across what F and the constraint change by on the way there, however near that is.
		if slack := v.weighedSlack(); slack > 0 {
			v.within("solved: multipliers times slacks of the upper constraints, by F and what it is lower than at the start", share(slack, v.fall()), tolerance.Slack*(1+0x1p-20))
		}
		// Beside a slope without end, as of a root at 0, a measure may be small for the size of gradients and let F fall by more than targets leave.
		v.within("solved: what the measure lets F fall by within delta, by F and what it is lower than at the start", share(g.Norm*g.Delta, math.Max(v.fall(), tolerance.Feasibility*g.Size()*(v.d.s.x+norm(v.doc.X)))), tolerance.Target)
		v.measure("solved: Goldstein measure, by the size of gradients", g.Norm, size)
		v.within("solved: error of the gradients, by their size", share(g.GradientError, size), Share)
		v.descending(g.Norm + g.GradientError)
	case c.GradientMapping != nil:
		m := c.GradientMapping
		largest := math.Max(v.d.s.local, norm(m.Gradient))
		// One step goes no further than X is wide, wherever X is. With a smaller L the mapping is L times
		// a way through all of X, small wherever it begins; with the one whose step is that long it is at
		// most so much more, as a longer step goes no less far.
		short := norm(m.Gradient) / (m.Smoothness * 2 * orOne(norm(v.d.s.width)))
		v.measure("solved: gradient mapping, by the size of gradients", m.Norm*math.Max(1, short), largest)
		v.within("solved: error of the gradient, by its size", share(m.GradientError, v.d.s.local), Share)
	default:
		v.fail("solved", "there is no certificate of stationarity")
	}
}

// slack is what F may fall by within delta, to first order: sum w_i |G_i| |z_i - x|.
func (c *Goldstein) slack(x []float64) float64 {
	return c.sum(func(s Sample) float64 { return distance(s.Point, x) })
}

// fall is the larger of |F| and of what it is lower than at the model's start, where that is in X, with what the
// weights of the upper constraints add there: the samples' gradients hold them, too.
func (v *verification) fall() float64 {
	f, size := v.doc.Upper, math.Abs(v.doc.Upper)
	if v.at == nil {
		return size
	}
	start := v.p.Origin()
	if off, _ := v.outsideX(start); off > tolerance.Target {
		return size
	}
	if from, penalty := v.penalizedAt(start); !math.IsNaN(from) {
		size = math.Max(size, math.Abs(from+penalty-f))
	}
	return size
}

// measure checks a measure of stationarity against the size of gradients: of those
// near the point or, where that does not do, within the radius and of F on the way to it, as where F is flat near its
// optimum and steep on the way there.
func (v *verification) measure(claim string, norm, near float64) {
	asked := Share // what was asked for, within what may be
	if v.doc.Epsilon > 0 {
		asked = math.Min(v.doc.Epsilon, Share)
	}
	if share(norm, near) > asked {
		near = math.Max(near, v.overRadius())
	}
	v.within(claim, share(norm, near), asked)
}

// overRadius is the size of gradients of F within the radius of a Goldstein certificate, of which stationarity is a claim: that of the smaller half at a few points so far away, on both sides, so that a ramp
// on one of them does not count. Where F is curved far more than the radius is short, as at the least of the square of an answer that moves fast, the gradient at the point vanishes beside it, and its error. 0
// where there is none.
func (v *verification) overRadius() float64 {
	g := v.certificate().Goldstein
	if g == nil || v.at == nil {
		return 0
	}
	rng, sizes := rand.New(rand.NewPCG(4, uint64(v.p.Dx))), make([]float64, 0, 2*probes)
	for range probes {
		way := drawn(rng, v.p.Dx)
		for _, side := range []float64{1, -1} {
			size, to := 0.0, inBox(v.p, moved(v.doc.X, side*g.Delta/norm(way), way))
			if at, err := v.d.lower(to, v.at.y, v.active()); err == nil { // it may lie beyond the edge of D
				if g, err := v.d.gradient(at); err == nil {
					size = finite(norm(g))
				}
			}
			sizes = append(sizes, size)
		}
	}
	slices.Sort(sizes)
	return sizes[probes-1]
}

// share is a part of a whole; none of nothing is none.
func share(part, whole float64) float64 {
	if part == 0 {
		return 0
	}
	return part / whole
}

// rough checks that a document that is not solved, and says that its lower level is not
// either, claims nothing that would follow from it; false for others.
func (v *verification) rough() bool {
	if !v.doc.Rough || v.doc.Solved {
		return false
	}
	c := v.certificate()
	v.Check("no gradient of F where the lower level is not solved",
		v.doc.Hypergradient == nil && !v.doc.Strict && c.Goldstein == nil && c.GradientMapping == nil, "")
	v.Unchecked = append(v.Unchecked, "lower.variables (the document says that the lower level was not solved to its tolerance; its residuals are checked)")
	return true
}

// askedRadius is how much larger a radius may be than the one that was asked for, by which of the sizes of x it was taken: the largest half width, or the norm of all.
const askedRadius = 2

// fromX is the document's x from where X is nearest to 0.
func (v *verification) fromX() []float64 {
	return minus(v.doc.X, inBox(v.p, make([]float64, len(v.doc.X))))
}
