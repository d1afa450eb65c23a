package certify

import (
	"fmt"
	"math"

	"bilevelc/runtime/problem"
)

// Tolerances of a verification. All are relative to the sizes of the problem
// (scales).
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
	// Radius is the share of the size of x that delta may be, and Share that of
	// the size of the gradients which a measure of stationarity and the claimed
	// errors of gradients may be, where a document says that it is solved: beyond
	// a hundredth and a fiftieth a certificate says next to nothing.
	Radius, Share float64
}

// DefaultTolerances are for documents written in full precision.
func DefaultTolerances() Tolerances {
	return Tolerances{Value: 1e-9, KKT: 1e-6, Gradient: 1e-5, Radius: 1e-2, Share: 2e-2}
}

// Verify evaluates every claim of the document again.
func Verify(doc *Document, p *problem.Problem) *Report { return verifyTo(doc, p, DefaultTolerances()) }

// verifyTo is Verify with tolerances of the caller's.
func verifyTo(doc *Document, p *problem.Problem, tol Tolerances) *Report {
	v := &verification{doc: doc, p: p, tol: tol}
	if !v.lengths() {
		return &v.Report
	}
	v.d = newDeriver(p, tol, doc.X, doc.Y, doc.Lambda)
	v.Force = v.d.s.force
	if !v.upperSet("x", doc.X) {
		return &v.Report
	}
	v.values()
	v.lowerLevel()
	if v.rough() {
		return &v.Report
	}
	v.derive()
	v.coupled()
	if doc.Solved {
		v.required()
	}
	if c := doc.Certificate; c != nil && v.at != nil {
		if c.Goldstein != nil {
			v.goldstein(c.Goldstein)
		}
		if c.GradientMapping != nil {
			v.gradientMapping(c.GradientMapping)
		}
	}
	return &v.Report
}

// verification is one document under examination.
type verification struct {
	Report
	doc *Document
	p   *problem.Problem
	tol Tolerances
	d   *deriver
	at  *derived // the lower level at x, derived here; nil where that failed
}

// lengths checks the shape of everything, that all numbers are finite and all
// rows there.
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
	rows := func(claim string, active []int, count int) {
		last := -1
		for _, i := range active {
			if i < 0 || i >= count {
				v.fail(claim, "there is no row %d", i)
				return
			}
			if i <= last {
				v.fail(claim, "row %d comes after row %d", i, last)
				return
			}
			last = i
		}
	}
	check("x", v.doc.X, v.p.Dx)
	check("y", v.doc.Y, v.p.Dy)
	check("multipliers", v.doc.Lambda, v.p.Rows.Len())
	constraints := 0
	if v.p.Coupled != nil {
		constraints = len(v.p.Coupled.Kind)
	}
	if c := v.doc.Coupled; c != nil {
		check("upper constraints", c.Values, constraints)
	}
	if v.doc.Hypergradient != nil {
		check("hypergradient", v.doc.Hypergradient, v.p.Dx)
	}
	if c := v.doc.Certificate; c != nil {
		if c.Lower != nil {
			rows("active rows", c.Lower.Active, v.p.Rows.Len())
		}
		if g := c.Goldstein; g != nil {
			for k, s := range g.Samples {
				check(fmt.Sprintf("sample %d: point", k), s.Point, v.p.Dx)
				check(fmt.Sprintf("sample %d: gradient", k), s.Gradient, v.p.Dx)
				rows(fmt.Sprintf("sample %d: active rows", k), s.Active, v.p.Rows.Len()+constraints)
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
		if e := excess / orOne(scale); e > worst || math.IsNaN(e) {
			worst, where = e, name
		}
	}
	size := func(j int) float64 { return math.Max(math.Abs(x[j]), v.d.s.width[j]) }
	for j, t := range x {
		note(v.p.X.Lo[j]-t, size(j), fmt.Sprintf("lower bound of entry %d", j))
		note(t-v.p.X.Hi[j], size(j), fmt.Sprintf("upper bound of entry %d", j))
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
		scale := math.Abs(v.p.X.Rhs[i])
		cols, vals := v.p.X.E.Row(i)
		for k, j := range cols {
			scale += math.Abs(vals[k]) * size(j)
		}
		note(h, scale, name)
	}
	for _, b := range v.p.X.Balls {
		away := append([]float64(nil), x[b.Start:b.End]...)
		for j, c := range b.Center {
			away[j] -= c
		}
		note(norm(away)-b.Radius, math.Max(b.Radius, norm(x[b.Start:b.End])), "ball "+b.Name)
	}
	v.atMost(what+" is in X", 0, worst, v.tol.KKT, where)
	return v.Checks[len(v.Checks)-1].OK
}

// values checks f and g at (x, y).
func (v *verification) values() {
	v.equal("upper objective", v.doc.Upper, v.d.f.Value(v.doc.X, v.p.Answer(v.doc.Y, v.doc.Lambda)), v.tol.Value, v.d.s.value)
	v.equal("lower objective", v.doc.Lower, v.d.g.Value(v.doc.X, v.doc.Y), v.tol.Value, v.d.s.lower)
}

// required is what must be there for a document to say that it is solved.
func (v *verification) required() {
	c := v.doc.Certificate
	if c == nil || c.Lower == nil {
		v.fail("solved", "there is no certificate of the lower level")
		return
	}
	v.within("solved: error of the hypergradient, by the size of gradients", share(v.doc.GradientError, v.d.s.gradient), v.tol.Share)
	if v.doc.Hypergradient == nil {
		v.fail("solved", "there is no hypergradient")
	}
	if !v.doc.Stationary {
		return
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
	case c.GradientMapping != nil:
		m := c.GradientMapping
		largest := math.Max(v.d.s.gradient, norm(m.Gradient))
		v.measure("solved: gradient mapping, by the size of gradients", m.Norm, largest)
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
		v.doc.Hypergradient == nil && !v.doc.Strict && (c == nil || c.Goldstein == nil && c.GradientMapping == nil), "")
	v.Unchecked = append(v.Unchecked, "lower.variables (the document says that the lower level was not solved to its tolerance; its residuals are checked)")
	return true
}

// StrictClaim is the check of Document.Strict.
const StrictClaim = "strict complementarity"

// derive finds y*(x), its multipliers and the hypergradient by other means
// and compares.
func (v *verification) derive() {
	at, err := v.d.lower(v.doc.X, v.doc.Y, v.active())
	if err != nil {
		v.fail("y = y*(x)", "could not be derived again: %v", err)
		return
	}
	v.at = at
	v.vector("y = y*(x)", v.doc.Y, at.y, v.tol.KKT*v.d.sizeY(at.y))
	if v.doc.Strict {
		weak := v.d.weak(at)
		if len(weak) > 0 && v.d.undecided(at, weak) {
			v.fail(StrictClaim, "slack and multiplier of row %d are both zero to the accuracy they are known with", weak[0])
		} else {
			v.check(StrictClaim, true, "")
		}
	}
	if v.doc.Hypergradient == nil {
		return
	}
	v.gradient("hypergradient", v.doc.Hypergradient, v.doc.GradientError, v.doc.X, v.hints())
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

// hints are the faces that the document names at x.
func (v *verification) hints() [][]int {
	faces := [][]int{v.active()}
	if c := v.doc.Certificate; c != nil && c.Goldstein != nil {
		for _, s := range c.Goldstein.Samples {
			if s.Active != nil && distance(s.Point, v.doc.X) <= c.Goldstein.Delta {
				rows, _ := v.split(s.Active)
				faces = append(faces, rows)
			}
		}
	}
	return faces
}

// gradient compares a claimed gradient of F with those derived at a point.
func (v *verification) gradient(claim string, claimed []float64, err float64, x []float64, hints [][]int) {
	if !(err >= 0) || math.IsInf(err, 1) {
		v.fail(claim, "its claimed error is %v", err)
		return
	}
	if err > math.Max(v.d.s.gradient, norm(claimed)) {
		v.fail(claim, "its claimed error %.3g is larger than the gradients, %.3g", err, v.d.s.gradient)
		return
	}
	enough := err + v.tol.Gradient*v.d.s.gradient
	_, found, failure := v.d.gradientNear(x, v.at.y, hints, claimed, enough, v.radius())
	if failure != nil {
		if near := v.ofSample(claimed, enough); near != nil {
			v.vector(claim, v.d.along(claimed), v.d.along(near), enough)
			return
		}
		v.fail(claim, "could not be derived again: %v", failure)
		return
	}
	if v.d.apart(claimed, found) > enough {
		if near := v.ofSample(claimed, enough); near != nil {
			found = near
		}
	}
	v.vector(claim, v.d.along(claimed), v.d.along(found), enough)
}

// ofSample derives the gradient of the sample that has the claimed one; nil where there
// is none. At a kink a document shows the gradient of the piece that its Goldstein
// certificate relies on most, which may be one within delta and not at the point: where
// little curvature makes y move fast pieces are narrow.
func (v *verification) ofSample(claimed []float64, enough float64) []float64 {
	c := v.doc.Certificate
	if c == nil || c.Goldstein == nil || v.doc.Strict || v.p.Coupled != nil {
		return nil
	}
	for _, s := range c.Goldstein.Samples {
		if len(s.Point) != v.p.Dx || len(s.Gradient) != v.p.Dx || distance(s.Point, v.doc.X) > c.Goldstein.Delta || !(v.d.apart(claimed, s.Gradient) <= enough) {
			continue
		}
		rows, _ := v.split(s.Active)
		if _, found, err := v.d.gradientNear(s.Point, v.at.y, [][]int{rows}, claimed, enough, v.radius()); err == nil {
			return found
		}
	}
	return nil
}

// radius is how far from a point its pieces are looked for.
func (v *verification) radius() float64 {
	r := 1e-6 * v.d.s.x
	if c := v.doc.Certificate; c != nil && c.Goldstein != nil && c.Goldstein.Delta > 0 {
		r = math.Min(r, c.Goldstein.Delta/2)
	}
	return r
}

// goldstein checks a Goldstein certificate: points, gradients, weights,
// normal vector and norm.
func (v *verification) goldstein(c *Goldstein) {
	if len(c.Samples) == 0 || !(c.Delta >= 0) || math.IsInf(c.Delta, 1) {
		v.fail("Goldstein certificate", "%d samples, delta %v", len(c.Samples), c.Delta)
		return
	}
	if !(c.GradientError >= 0) || math.IsInf(c.GradientError, 1) {
		v.fail("Goldstein certificate", "its claimed error of gradients is %v", c.GradientError)
		return
	}
	sum, largest, total := 0.0, v.d.s.gradient, 0.0
	worst, detail := 0.0, "no sample is off"
	if !v.penalized() {
		return
	}
	defer func() { v.d.coupling = nil }()
	var multipliers []float64
	for _, s := range c.Samples {
		largest = math.Max(largest, norm(s.Gradient))
	}
	for k, s := range c.Samples {
		name := fmt.Sprintf("sample %d", k)
		v.atMost(name+" is within delta", c.Delta, distance(s.Point, v.doc.X), v.tol.Value*v.d.s.x, "")
		v.check(name+" has a weight of at least 0", s.Weight >= 0, "")
		sum += s.Weight
		if !v.upperSet(name, s.Point) {
			continue
		}
		hints := [][]int{v.at.face}
		rows, positive := v.split(s.Active)
		if s.Active != nil {
			hints = [][]int{rows}
		}
		if v.d.coupling != nil {
			v.d.coupling.positive = positive
		}
		enough := c.GradientError + v.tol.Gradient*largest
		at, found, err := v.d.gradientNear(s.Point, v.at.y, hints, s.Gradient, enough, v.radius())
		if err != nil {
			v.fail(name+": gradient", "could not be derived again: %v", err)
			continue
		}
		if s.Active != nil {
			v.face(name, rows, at)
		}
		if v.d.coupling != nil {
			if multipliers == nil {
				multipliers = make([]float64, len(v.d.coupling.weight))
			}
			for i, sign := range v.d.signed(at) {
				multipliers[i] += s.Weight * sign
			}
		}
		off := s.Weight * v.d.apart(s.Gradient, found)
		total += off
		if off > worst {
			worst = off
			detail = fmt.Sprintf("sample %d the worst: %.3g times the weight %.3g", k, off/s.Weight, s.Weight)
		}
	}
	if c.GradientError > largest {
		v.fail("error of the gradients", "claimed as %.3g, more than the gradients, %.3g", c.GradientError, largest)
	}
	v.atMost("error of the gradients, weighted", c.GradientError, total, v.tol.Gradient*largest, detail)
	v.equal("sum of the weights", 1, sum, v.tol.Value, 1)
	if multipliers != nil {
		v.multipliers(multipliers)
	}
	if c.Normal != nil {
		size := math.Max(norm(c.Normal), largest)
		away := normalDistance(v.p, v.doc.X, v.at.y, c.Normal, c.Delta+v.tol.KKT*v.d.s.x, v.tol.KKT*size)
		v.atMost("normal vector: distance from the normal cone", 0, away, v.tol.KKT*size, "")
	}
	v.equal("norm of the combination", c.Norm, norm(c.combination()), v.tol.Value, largest)
	v.equal("epsilon", c.Epsilon, c.Norm+c.GradientError, v.tol.Value, largest)
}

// face checks the rows that a sample names as those its gradient was taken on:
// the derived face, up to rows that are weakly active there or depend on others.
func (v *verification) face(name string, claimed []int, at *derived) {
	held := make(map[int]bool, len(at.face))
	for _, i := range at.active {
		held[i] = true
	}
	undecided := make(map[int]bool)
	for _, i := range v.d.weak(at) {
		undecided[i] = true
	}
	for _, i := range claimed {
		if cols, _ := v.p.Rows.B.Row(i); !held[i] && !undecided[i] && len(cols) > 0 && v.p.Rows.Kind[i] == problem.AtMost {
			v.fail(name+": active rows", "row %d does not hold with equality", i)
			return
		}
		delete(held, i)
	}
	for i := range held {
		if !undecided[i] {
			v.fail(name+": active rows", "row %d holds y and is not among them", i)
			return
		}
	}
}

// gradientMapping checks the gradient, that the projected point is the
// projection (it is in X and D, and what was cut off is normal to them there),
// and the norm.
func (v *verification) gradientMapping(c *GradientMapping) {
	if !(c.Smoothness > 0) || math.IsInf(c.Smoothness, 1) {
		v.fail("gradient mapping", "its smoothness is %v", c.Smoothness)
		return
	}
	v.gradient("gradient mapping: gradient", c.Gradient, c.GradientError, v.doc.X, v.hints())
	step := mapping(c.Smoothness, v.doc.X, c.Projected)
	normal := make([]float64, v.p.Dx)
	for j := range normal {
		normal[j] = step[j] - c.Gradient[j]
	}
	size := math.Max(norm(c.Gradient), v.d.s.gradient)
	v.equal("norm of the gradient mapping", c.Norm, norm(step), v.tol.Value, size)
	if !v.upperSet("the projected point", c.Projected) {
		return
	}
	at, err := v.d.lower(c.Projected, v.at.y, v.at.face)
	if err != nil {
		v.fail("the projected point has a feasible y", "not found: %v", err)
		return
	}
	// The projection is known to rounding of x, which the step magnifies by L.
	enough := v.tol.KKT*size + c.Smoothness*0x1p-50*math.Max(norm(v.doc.X), v.d.s.x)
	away := normalDistance(v.p, c.Projected, at.y, normal, v.tol.KKT*v.d.s.x, enough)
	v.atMost("what the projection cut off is normal", 0, away, enough, "")
}

// combination is sum w_i G_i + n.
func (c *Goldstein) combination() []float64 {
	sum := append([]float64(nil), c.Normal...)
	for _, s := range c.Samples {
		if sum == nil {
			sum = make([]float64, len(s.Gradient))
		}
		for j, g := range s.Gradient {
			sum[j] += s.Weight * g
		}
	}
	return sum
}

// mapping is L (x - x+).
func mapping(smoothness float64, x, projected []float64) []float64 {
	step := make([]float64, len(x))
	for j := range step {
		step[j] = smoothness * (x[j] - projected[j])
	}
	return step
}
