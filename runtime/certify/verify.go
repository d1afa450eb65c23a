package certify

import (
	"fmt"
	"math"

	"bilevelc/runtime/problem"
)

// Tolerances of a verification. All are relative to the size of what is
// compared.
type Tolerances struct {
	// Value of f, g, norms and bounds, which are evaluated by the same
	// formulas as the document's: a few hundred roundings.
	Value float64
	// KKT residuals, and entries of y against y*: what a first-order solver
	// in double precision is asked for, with a margin.
	KKT float64
	// Gradient of F, beyond the error that the document claims: a solver's
	// differences and the differences here.
	Gradient float64
}

// DefaultTolerances are for documents written in full precision.
func DefaultTolerances() Tolerances { return Tolerances{Value: 1e-9, KKT: 1e-6, Gradient: 1e-5} }

// Verify evaluates every claim of the document again.
func Verify(doc *Document, p *problem.Problem) *Report { return VerifyTo(doc, p, DefaultTolerances()) }

// VerifyTo is Verify with tolerances of the caller's.
func VerifyTo(doc *Document, p *problem.Problem, tol Tolerances) *Report {
	v := &verification{doc: doc, p: p, tol: tol, deriver: newDeriver(p, tol)}
	if v.lengths() && v.upperSet("x", doc.X) {
		v.values()
		v.lowerLevel()
		v.derive()
		if c := doc.Certificate; c != nil && v.at != nil {
			if c.Goldstein != nil {
				v.goldstein(c.Goldstein)
			}
			if c.GradientMapping != nil {
				v.gradientMapping(c.GradientMapping)
			}
		}
	}
	return &v.Report
}

// verification is one document under examination.
type verification struct {
	Report
	doc     *Document
	p       *problem.Problem
	tol     Tolerances
	deriver *deriver
	at      *derived // the lower level at x, derived here; nil where that failed
}

// lengths checks the shape of everything, and that all numbers are finite.
func (v *verification) lengths() bool {
	before := len(v.Checks)
	check := func(claim string, value []float64, want int) {
		if len(value) != want {
			v.fail(claim, "%d entries, the problem has %d", len(value), want)
		}
		for j, t := range value {
			if math.IsNaN(t) || math.IsInf(t, 0) {
				v.fail(claim, "entry %d is %v", j, t)
				return
			}
		}
	}
	rows := func(claim string, active []int) {
		for _, i := range active {
			if i < 0 || i >= v.p.Rows.Len() {
				v.fail(claim, "there is no row %d", i)
			}
		}
	}
	check("x", v.doc.X, v.p.Dx)
	check("y", v.doc.Y, v.p.Dy)
	check("multipliers", v.doc.Lambda, v.p.Rows.Len())
	if v.doc.Hypergradient != nil {
		check("hypergradient", v.doc.Hypergradient, v.p.Dx)
	}
	if c := v.doc.Certificate; c != nil {
		if c.Lower != nil {
			rows("active rows", c.Lower.Active)
		}
		if g := c.Goldstein; g != nil {
			for k, s := range g.Samples {
				check(fmt.Sprintf("sample %d: point", k), s.Point, v.p.Dx)
				check(fmt.Sprintf("sample %d: gradient", k), s.Gradient, v.p.Dx)
				rows(fmt.Sprintf("sample %d: active rows", k), s.Active)
			}
			if g.Normal != nil {
				check("normal vector", g.Normal, v.p.Dx)
			}
		}
		if m := c.GradientMapping; m != nil {
			check("gradient mapping: gradient", m.Gradient, v.p.Dx)
			check("gradient mapping: projected point", m.Projected, v.p.Dx)
		}
	}
	return len(v.Checks) == before
}

// upperSet checks that x is in X.
func (v *verification) upperSet(what string, x []float64) bool {
	worst, where := 0.0, "every bound, row and ball"
	note := func(excess, scale float64, name string) {
		if e := excess / (1 + scale); e > worst || math.IsNaN(e) {
			worst, where = e, name
		}
	}
	for j, t := range x {
		note(v.p.X.Lo[j]-t, math.Abs(t), fmt.Sprintf("lower bound of entry %d", j))
		note(t-v.p.X.Hi[j], math.Abs(t), fmt.Sprintf("upper bound of entry %d", j))
	}
	for i, kind := range v.p.X.Kind {
		h := v.p.X.E.RowDot(i, x) - v.p.X.Rhs[i]
		if kind == problem.Equal {
			h = math.Abs(h)
		}
		name := fmt.Sprintf("row %d of X", i)
		if i < len(v.p.X.Name) {
			name = v.p.X.Name[i]
		}
		note(h, math.Abs(v.p.X.Rhs[i]), name)
	}
	for _, b := range v.p.X.Balls {
		away := append([]float64(nil), x[b.Start:b.End]...)
		for j, c := range b.Center {
			away[j] -= c
		}
		note(norm(away)-b.Radius, b.Radius, "ball "+b.Name)
	}
	v.atMost(what+" is in X", 0, worst, v.tol.KKT, where)
	return v.Checks[len(v.Checks)-1].OK
}

// values checks f and g at (x, y).
func (v *verification) values() {
	f := v.deriver.f.Value(v.doc.X, v.p.Answer(v.doc.Y, v.doc.Lambda))
	v.equal("upper objective", v.doc.Upper, f, v.tol.Value, 1+math.Abs(f))
	g := v.deriver.g.Value(v.doc.X, v.doc.Y)
	v.equal("lower objective", v.doc.Lower, g, v.tol.Value, 1+math.Abs(g))
}

// lowerLevel checks the KKT conditions at (x, y, lambda), and the claimed
// residuals and bound.
func (v *verification) lowerLevel() {
	found, scale := Evaluate(v.p, v.doc.X, v.doc.Y, v.doc.Lambda)
	v.atMost("stationarity of the lower level", 0, found.Stationarity, v.tol.KKT*scale.Stationarity, "max norm of grad g - B' lambda")
	v.atMost("feasibility of y", 0, found.Primal, v.tol.KKT*scale.Primal, "largest violation of a row")
	v.atMost("signs of the multipliers", 0, found.Dual, v.tol.KKT*scale.Dual, "most negative multiplier of an inequality")
	v.atMost("complementarity", 0, found.Complementarity, v.tol.KKT*scale.Complementarity, "largest product of multiplier and slack")
	if v.doc.Certificate == nil || v.doc.Certificate.Lower == nil {
		return
	}
	claimed := v.doc.Certificate.Lower
	v.atMost("claimed residual of stationarity", claimed.Residuals.Stationarity, found.Stationarity, v.tol.Value*scale.Stationarity, "")
	v.atMost("claimed residual of feasibility", claimed.Residuals.Primal, found.Primal, v.tol.Value*scale.Primal, "")
	v.atMost("claimed residual of signs", claimed.Residuals.Dual, found.Dual, v.tol.Value*scale.Dual, "")
	v.atMost("claimed residual of complementarity", claimed.Residuals.Complementarity, found.Complementarity, v.tol.Value*scale.Complementarity, "")
	bound := claimed.Bound
	if bound == nil {
		return
	}
	proved := v.p.Facts.StrongConvexity
	if !(bound.Modulus > 0) || !(proved > 0) {
		v.fail("modulus of strong convexity", "claimed %.10g, the model proves %.10g", bound.Modulus, proved)
		return
	}
	// The compiler's spectra carry rounding of their own.
	const rounding = 1e-6
	v.atMost("modulus of strong convexity is proved", proved, bound.Modulus, rounding*proved, "")
	again := NewBound(v.p, v.doc.X, v.doc.Y, v.doc.Lambda, bound.Modulus)
	// At a solution the gap is made of rounding, which may come out otherwise
	// here: of each product lambda h, and of each entry of r.
	const unit = 0x1p-50 // a few roundings
	ofRows := float64(v.p.Rows.Len()) * unit * scale.Complementarity
	ofEntries := float64(v.p.Dy) * math.Pow(unit*scale.Stationarity, 2) / bound.Modulus
	v.atMost("gap of the lower level", bound.Gap, again.Gap, v.tol.Value*bound.Gap+ofRows+ofEntries, "")
	distance := math.Sqrt(2 * bound.Gap / bound.Modulus)
	v.equal("bound on the distance to y*", bound.Distance, distance, v.tol.Value, 1+distance)
}

// derive finds y*(x), its multipliers and the hypergradient by other means
// and compares.
func (v *verification) derive() {
	at, err := v.deriver.lower(v.doc.X, v.doc.Y, v.active(), true)
	if err != nil {
		v.fail("y = y*(x)", "could not be derived again: %v", err)
		return
	}
	v.at = at
	v.vector("y = y*(x)", v.doc.Y, at.y, v.tol.KKT*(1+norm(at.y)))
	if v.doc.Hypergradient == nil {
		return
	}
	v.gradient("hypergradient", v.doc.Hypergradient, v.doc.GradientError, at)
}

// active is the face that the document claims, or else the one that its
// multipliers show.
func (v *verification) active() []int {
	if c := v.doc.Certificate; c != nil && c.Lower != nil {
		return c.Lower.Active
	}
	var rows []int
	for i, lambda := range v.doc.Lambda {
		if lambda > 0 {
			rows = append(rows, i)
		}
	}
	return rows
}

// gradient compares a claimed gradient of F with the one derived at a point.
func (v *verification) gradient(claim string, claimed []float64, err float64, at *derived) {
	if !(err >= 0) || math.IsInf(err, 1) {
		v.fail(claim, "its claimed error is %v", err)
		return
	}
	found, failure := v.nearest(claimed, at)
	if failure != nil {
		v.fail(claim, "could not be derived again: %v", failure)
		return
	}
	v.vector(claim, claimed, found, err+v.tol.Gradient*(1+norm(found)))
}

// nearest is the gradient of F at a point, of the face of at or, where that is
// not the claimed one, of the face whose gradient is nearest to it.
func (v *verification) nearest(claimed []float64, at *derived) ([]float64, error) {
	found, err := v.deriver.hypergradient(at)
	if err != nil {
		return nil, err
	}
	enough := v.tol.Gradient * (1 + norm(found))
	best := distance(claimed, found)
	if best > enough {
		v.deriver.alternatives(at, func(other *derived) bool {
			if g, err := v.deriver.hypergradient(other); err == nil && distance(claimed, g) < best {
				found, best = g, distance(claimed, g)
			}
			return best > enough
		})
	}
	return found, nil
}

func distance(a, b []float64) float64 {
	away := append([]float64(nil), a...)
	for j, t := range b {
		away[j] -= t
	}
	return norm(away)
}

// goldstein checks a Goldstein certificate: points, gradients, weights,
// normal vector and norm.
func (v *verification) goldstein(c *Goldstein) {
	if len(c.Samples) == 0 || !(c.Delta >= 0) {
		v.fail("Goldstein certificate", "%d samples, delta %v", len(c.Samples), c.Delta)
		return
	}
	if !(c.GradientError >= 0) || math.IsInf(c.GradientError, 1) {
		v.fail("Goldstein certificate", "its claimed error of gradients is %v", c.GradientError)
		return
	}
	sum, largest, total := 0.0, 0.0, 0.0
	worst, detail := 0.0, "no sample is off"
	for k, s := range c.Samples {
		name := fmt.Sprintf("sample %d", k)
		v.atMost(name+" is within delta", c.Delta, distance(s.Point, v.doc.X), v.tol.Value*(1+norm(v.doc.X)), "")
		v.atMost(name+" has a weight of at least 0", 0, -s.Weight, 0, "")
		sum += s.Weight
		largest = math.Max(largest, norm(s.Gradient))
		if !v.upperSet(name, s.Point) {
			continue
		}
		at, err := v.sample(s)
		if err != nil {
			v.fail(name, "its lower level could not be solved again: %v", err)
			continue
		}
		found, err := v.nearest(s.Gradient, at)
		if err != nil {
			v.fail(name+": gradient", "could not be derived again: %v", err)
			continue
		}
		off := s.Weight * distance(s.Gradient, found)
		total += off
		if off > worst {
			worst = off
			detail = fmt.Sprintf("sample %d the worst: %.3g times the weight %.3g", k, off/s.Weight, s.Weight)
		}
	}
	v.atMost("error of the gradients, weighted", c.GradientError, total, v.tol.Gradient*(1+largest), detail)
	v.equal("sum of the weights", 1, sum, v.tol.Value, 1)
	if c.Normal != nil {
		away := normalDistance(v.p, v.doc.X, v.at.y, c.Normal, c.Delta+v.tol.KKT*(1+norm(v.doc.X)))
		v.atMost("normal vector: distance from the normal cone", 0, away, v.tol.KKT*(1+norm(c.Normal)), "")
	}
	v.equal("norm of the combination", c.Norm, norm(c.combination()), v.tol.Value, 1+largest)
	v.equal("epsilon", c.Epsilon, c.Norm+c.GradientError, v.tol.Value, 1+c.Epsilon)
}

// sample derives the lower level at a sample.
func (v *verification) sample(s Sample) (*derived, error) {
	switch {
	case s.Active != nil:
		return v.deriver.lower(s.Point, v.at.y, s.Active, true)
	case distance(s.Point, v.doc.X) == 0:
		return v.at, nil
	}
	return v.deriver.lower(s.Point, v.at.y, v.at.active, false)
}

// gradientMapping checks the gradient, that the projected point is the
// projection (it is in X and D, and what was cut off is normal to them there),
// and the norm.
func (v *verification) gradientMapping(c *GradientMapping) {
	if !(c.Smoothness > 0) || math.IsInf(c.Smoothness, 1) {
		v.fail("gradient mapping", "its smoothness is %v", c.Smoothness)
		return
	}
	v.gradient("gradient mapping: gradient", c.Gradient, c.GradientError, v.at)
	step := mapping(c.Smoothness, v.doc.X, c.Projected)
	normal := make([]float64, v.p.Dx)
	for j := range normal {
		normal[j] = step[j] - c.Gradient[j]
	}
	v.equal("norm of the gradient mapping", c.Norm, norm(step), v.tol.Value, 1+norm(c.Gradient))
	if !v.upperSet("the projected point", c.Projected) {
		return
	}
	at, err := v.deriver.lower(c.Projected, v.at.y, v.at.active, false)
	if err != nil {
		v.fail("the projected point has a feasible y", "not found: %v", err)
		return
	}
	away := normalDistance(v.p, c.Projected, at.y, normal, v.tol.KKT*(1+norm(c.Projected)))
	v.atMost("what the projection cut off is normal", 0, away, v.tol.KKT*(1+norm(c.Gradient)), "")
}
