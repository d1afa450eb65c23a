package certify

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Ray certifies that F has no bound over X: from the document's point on the follower's KKT system holds all along
//
//	(x, y, lambda) + t (X, Y, Multipliers),   t >= 0
//
// and f falls along it without end: f is quadratic, and has a negative slope and no positive curvature there; or else it is less at each of the distances 1, 2, 4, ... Steps times
// the first one than before, and by no less as they grow.
type Ray struct {
	X           []float64 `json:"x"`           // len Dx
	Y           []float64 `json:"y"`           // len Dy
	Multipliers []float64 `json:"multipliers"` // len m
	// Steps is how often the distance is doubled, of an f that is not quadratic; 0 else.
	Steps int `json:"steps,omitempty"`
}

const rayClaim = "F improves without end along a ray"

// ray checks a certificate that F falls without end.
func (v *verification) ray(c *Ray) {
	p := v.p
	if len(c.X) != p.Dx || len(c.Y) != p.Dy || len(c.Multipliers) != p.Rows.Len() || !isFinite(c.X) || !isFinite(c.Y) || !isFinite(c.Multipliers) {
		v.fail(rayClaim, "its lengths are not those of the problem, or it is not finite")
		return
	}
	along := slices.Concat(c.X, c.Y)
	curved := each.WhereBelow(len(along), func(j int) bool { return along[j] != 0 && !p.Facts.AffineAlong(j) })
	if len(curved) > 0 || len(p.X.Balls) > 0 {
		v.fail(rayClaim, "the follower's KKT system is not one of linear rows and pairs along it")
		return
	}
	for j, is := range p.Integer {
		if is && c.X[j] != 0 {
			v.fail(rayClaim, "entry %d of x takes whole numbers only", j)
			return
		}
	}
	last := v.rayFalls
	if p.Facts.DegreeF > 2 {
		last = v.rayCurve
	}
	for _, flawOf := range []func(*Ray) string{v.raySet, v.rayRows, v.rayForces, last} {
		if flaw := flawOf(c); flaw != "" {
			v.fail(rayClaim, "%s", flaw)
			return
		}
	}
	v.Check(rayClaim, p.Facts.DegreeF > 2 || c.Steps == 0, "")
}

// raySet says what bound or row of X ends the ray; "" for none.
func (v *verification) raySet(c *Ray) string {
	p := v.p
	for j, d := range c.X {
		if d < 0 && !math.IsInf(p.X.Lo[j], -1) || d > 0 && !math.IsInf(p.X.Hi[j], 1) {
			return fmt.Sprintf("entry %d of x has a bound on that side", j)
		}
	}
	for i, kind := range p.X.Kind {
		if rate, terms := p.X.E.RowDot(i, c.X), p.X.E.AddTerms(0, i, c.X); rate > tolerance.Feasibility*terms || kind == problem.Equal && rate < -tolerance.Feasibility*terms {
			return fmt.Sprintf("row %d of X ends it", i)
		}
	}
	if p.X.Extended.Len() > 0 {
		// Kinks of X are positively homogeneous in what they restate: far out, what they exceed is what the ray makes of them.
		scale := farOut * math.Max(1, maxAbs(v.doc.X)) / math.Max(maxAbs(c.X), 0x1p-900)
		if maxAbs(c.X) > 0 {
			out, flaw := moved(v.doc.X, scale, c.X), ""
			p.X.Extended.Each(out, func(j int) float64 { return math.Abs(out[j]) }, func(i int, excess, terms float64) {
				if excess > tolerance.Feasibility*terms {
					flaw = fmt.Sprintf("the constraint %s of X ends it", p.X.Extended.Name[i])
				}
			})
			if flaw != "" {
				return flaw
			}
		}
	}
	if p.Coupled == nil {
		return ""
	}
	here := v.coupledValues()
	rate, terms, flaw := v.coupledRates(v.rayAnswer(c))
	if flaw != "" {
		return flaw
	}
	for i, kind := range p.Coupled.Kind {
		if !(rate[i] <= tolerance.Feasibility*terms[i]) || kind == problem.Equal && rate[i] < -tolerance.Feasibility*terms[i] {
			return fmt.Sprintf("constraint %d of the upper level ends it", i)
		}
		if over := math.Abs(here[i]); (here[i] > 0 && rate[i] >= 0 || kind == problem.Equal) && over > tolerance.Weak*math.Max(v.d.s.value, over) {
			return fmt.Sprintf("constraint %d of the upper level does not hold along it", i)
		}
	}
	return ""
}

// coupledRates are the slopes of the leader's constraints at the document's point along d, with the sizes of their terms, one for each entry of d. Quadratic ones change by 2 s times the slope midway between points s d to both
// sides; their curvature is read far out, where nothing else of them counts. flaw says which one is of no such kind, or curves so that it ends the ray; "" for none.
func (v *verification) coupledRates(d []float64) (rate, terms []float64, flaw string) {
	p := v.p
	values := func(z []float64) []float64 { return p.CoupledPart(v.gradientOfF(z)[p.Dx:]) }
	rate, terms = ratesAlong(d, values)
	if p.Facts.AffineCoupled {
		return rate, terms, ""
	}
	point := v.pointOfF()
	near, far := math.Max(1, maxAbs(point))/maxAbs(d), farOut/maxAbs(d)
	across := func(at []float64, t float64, way []float64) []float64 {
		return quotient(values(moved(at, t, way)), values(moved(at, -t, way)), 2*t)
	}
	out, none := moved(make([]float64, len(d)), far, d), make([]float64, len(d))
	m := len(p.Coupled.Kind)
	slope, slopes, bend, bends := make([]float64, m), make([]float64, m), make([]float64, m), make([]float64, m)
	for j, t := range d {
		if t == 0 {
			continue
		}
		way := make([]float64, len(d))
		way[j] = t
		here, there, linear := across(point, near, way), across(out, far, way), across(none, far, way)
		for i := range m {
			h := (there[i] - linear[i]) / far
			slope[i], slopes[i], bend[i], bends[i] = slope[i]+here[i], slopes[i]+math.Abs(here[i]), bend[i]+h, bends[i]+math.Abs(h)
		}
	}
	for i, kind := range p.Coupled.Kind {
		switch degree := p.Facts.DegreeCoupled[i]; {
		case degree > 2:
			return nil, nil, fmt.Sprintf("constraint %d of the upper level is not quadratic", i)
		case degree == 2:
			rate[i], terms[i] = slope[i], slopes[i]
			if limit := tolerance.Feasibility * bends[i]; !(bend[i] <= limit) || kind == problem.Equal && bend[i] < -limit {
				return nil, nil, fmt.Sprintf("constraint %d of the upper level ends it", i)
			}
		}
	}
	return rate, terms, ""
}

// farOut is how far along a ray nothing counts but what grows most.
const farOut = 0x1p100

// rayRows says which row of the follower, or which multiplier, ends the ray or is not complementary along it; "" for none.
func (v *verification) rayRows(c *Ray) string {
	p, at := v.p, v.pointOfSystem()
	for i, kind := range p.Rows.Kind {
		rate := p.Rows.B.RowDot(i, c.Y) - p.Rows.A.RowDot(i, c.X)
		terms := tolerance.Feasibility * p.Rows.A.AddTerms(p.Rows.B.AddTerms(0, i, c.Y), i, c.X)
		switch l := c.Multipliers[i]; {
		case kind == problem.Equal:
			if math.Abs(rate) > terms {
				return fmt.Sprintf("equality row %d does not hold along it", i)
			}
		case rate < -terms:
			return fmt.Sprintf("row %d of the lower level ends it", i)
		case l < 0:
			return fmt.Sprintf("the multiplier of row %d turns negative along it", i)
		case (l > 0 || at.mult[i] > tolerance.Weak) && (rate > terms || at.slack[i] > tolerance.Weak):
			return fmt.Sprintf("row %d is not complementary along it", i)
		}
	}
	return ""
}

// rayForces says where the follower's stationarity does not hold along the ray; "" for nowhere.
func (v *verification) rayForces(c *Ray) string {
	p := v.p
	from := slices.Concat(v.doc.X, v.doc.Y)
	for j := range from {
		if p.Facts.AffineAlong(j) {
			from[j] = 0
		}
	}
	force, terms := ratesAlong(slices.Concat(c.X, c.Y), func(z []float64) []float64 {
		at := moved(from, 1, z)
		return gradY(v.d.g, at[:p.Dx], at[p.Dx:])
	})
	for i, l := range c.Multipliers {
		for j, a := range p.Rows.B.Entries(i) {
			force[j] -= a * l
			terms[j] += math.Abs(a * l)
		}
	}
	for j, r := range force {
		if !(math.Abs(r) <= tolerance.Feasibility*terms[j]) {
			return fmt.Sprintf("the follower's stationarity in entry %d of y does not hold along it: %.3g of %.3g", j, r, terms[j])
		}
	}
	return ""
}

// gradientOfF is that of f in x and in the answer.
func (v *verification) gradientOfF(z []float64) []float64 {
	out := make([]float64, len(z))
	v.d.f.ValueGrad(out[:v.p.Dx], out[v.p.Dx:], z[:v.p.Dx], z[v.p.Dx:])
	return out
}

// pointOfF is what f reads at the document's point.
func (v *verification) pointOfF() []float64 {
	return slices.Concat(v.doc.X, v.p.Answer(v.doc.Y, v.doc.Lambda))
}

// ratesAlong is the product of the matrix of an affine map with d, and the sizes of its terms; NaN where a column is not finite.
func ratesAlong(d []float64, eval func(z []float64) []float64) (rates, terms []float64) {
	unit := make([]float64, len(d))
	at := eval(unit)
	rates, terms = make([]float64, len(at)), make([]float64, len(at))
	for j, t := range d {
		if t == 0 {
			continue
		}
		column := make([]float64, len(at))
		unit[j] = 1
		if problem.Along(column, unit, at, func(dst, z []float64) { copy(dst, eval(z)) }) != nil {
			t = math.NaN()
		}
		unit[j] = 0
		for i, h := range column {
			rates[i], terms[i] = rates[i]+h*t, terms[i]+math.Abs(h*t)
		}
	}
	return rates, terms
}

// rayAnswer is the ray in what f reads: x, y, the multipliers among the duals, and 0 for weights.
func (v *verification) rayAnswer(c *Ray) []float64 {
	return slices.Concat(c.X, v.p.Signed(nil).Answer(c.Y, c.Multipliers))
}

// rayFalls says why a quadratic f does not fall without end along the ray; "" where it does.
func (v *verification) rayFalls(c *Ray) string {
	p := v.p
	d := v.rayAnswer(c)
	point := v.pointOfF()
	gradient := v.gradientOfF(point)
	slope, terms := floats.Dot(gradient, d), absolute(gradient, d)
	moves, sizes := ratesAlong(d, v.gradientOfF)
	curvature := floats.Dot(moves, d)
	curved := tolerance.Feasibility*absolute(sizes, d) + float64(len(d))*0x1p-52*maxAbs(moves)*maxAbs(d) // what rounding of the terms and of the gradient's products leaves
	// The slope is known as well as y and the multipliers are, by what the ray changes of the gradient.
	known := tolerance.Feasibility * absolute(slices.Concat(v.pointOfSystem().far, point[p.Dx+p.Dy:]), moves[p.Dx:])
	switch {
	case math.IsNaN(slope) || math.IsNaN(curvature) || math.IsInf(curved, 1):
		return "f is not finite along it"
	case curvature < -curved:
		return "" // sooner or later
	case curvature > curved:
		return "f curves upward along it"
	case !(slope < -tolerance.Certified*terms-known):
		return fmt.Sprintf("its slope is %.3g, of terms of %.3g, known to %.3g", slope, terms, known)
	}
	return ""
}

// rayCurve says why an f that is not quadratic does not fall along the ray at growing distances; "" where it does.
func (v *verification) rayCurve(c *Ray) string {
	v.Unchecked = append(v.Unchecked, "certificate.ray (f is not quadratic: that it goes on improving beyond the distances looked at)")
	p := v.p
	d := v.rayAnswer(c)
	point := v.pointOfF()
	doublings := -1
	flaw := fallsAlong(func(t float64) float64 {
		doublings++
		z := moved(point, t, d)
		return v.d.f.Value(z[:p.Dx], z[p.Dx:])
	}, math.Max(1, maxAbs(point))/maxAbs(d), 0x1p1000/math.Max(1, maxAbs(d))) // room for coefficients and sums
	if c.Steps < doublings {
		return fmt.Sprintf("%d distances are too few to tell", c.Steps)
	}
	return flaw
}

// fallsAlong says why a function does not fall without end as its argument is doubled to an end, from 2^-50 times a size on, rounding of it; a coefficient of 1e-300 turns f beyond any that is chosen; "" where it does: it is less at the end than anywhere before, and falls over the last
// doublings by no less than over those before. One that leaves the range of numbers on its way down has fallen far enough.
func fallsAlong(value func(t float64) float64, size, end float64) string {
	var falls []float64
	t := 0x1p-50 * size
	before := value(t)
	low := before
	for t <= end/2 {
		t *= 2
		now := value(t)
		switch {
		case math.IsInf(now, -1):
			return ""
		case math.IsNaN(now) || math.IsInf(now, 1):
			return fmt.Sprintf("f is %v on the way", now)
		}
		falls = append(falls, before-now)
		before, low = now, math.Min(low, now)
	}
	if len(falls) < 4 {
		return "there are no numbers along it"
	}
	half := len(falls) / 2
	last := falls[half+half/2:]
	if before > low {
		return "f becomes worse on the way"
	}
	most := slices.Max(append([]float64{0}, falls[half:half+half/2]...))
	for _, f := range last {
		if !(f > 0) || f < most*(1-1e-6) {
			return "f improves by less and less"
		}
	}
	return ""
}
