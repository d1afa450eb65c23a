package certify

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Tolerances of a verification are relative to the sizes of the problem (scales), and for documents written in full precision: tolerance.SolveAccuracy for values of f and g, norms and bounds,
// which are evaluated by the same formulas as the document's; tolerance.Target for KKT residuals and entries of y against y*.

// gradientTolerance is that of gradients of F, beyond the error that the document claims: a solver's differences and the differences here. With tolerance.Target pieces of F next to a kink are not found again.
const gradientTolerance = 1e-5

// Share is what a document that says it is solved may claim at the most,
// whatever accuracy was asked of it, as a part of the size of the
// gradients: a document is otherwise held to the accuracy that it says was asked for
// (measure). By Lebourg's mean value theorem a measure e at the radius d says that to
// first order F falls by at most e per length along any feasible step, where F is
// seen no closer than d. Over X, of the size w, F changes by G w: with e = Share G a
// certificate leaves a fiftieth of that open, for its measure, for the errors of
// its gradients, and between two points within d of x alike, which are 2 d apart: d is at most Share/2 w. It is a limit of what the word may be used for,
// not an accuracy. It is exported for runs: a hypergradient with an error that is no larger a part of it passes for known.
const Share = 2e-2

// Verify evaluates every claim of the document again.
func Verify(doc *Document, p *problem.Problem) *Report {
	v := &verification{doc: doc, p: p}
	if !v.lengths() {
		return &v.Report
	}
	c := v.certificate()
	if c.Strong != nil {
		v.hold()
	}
	v.d = newDeriver(v.p, doc.X, doc.Y, doc.Lambda)
	v.Force, v.Gradient = v.d.s.force, v.d.s.gradient
	inside := v.upperSet("x", doc.X)
	v.values()
	v.lowerLevel()
	if !inside {
		return &v.Report
	}
	if v.rough() {
		if doc.Unbounded {
			v.fail(rayClaim, "no ray shows it where the lower level is not solved")
		}
		return &v.Report
	}
	if doc.Tied {
		v.tied()
	} else {
		v.derive()
	}
	v.coupled()
	if doc.Solved {
		v.required()
	}
	if c.Strong != nil {
		v.strong(c.Strong)
	}
	switch {
	case c.Ray != nil:
		v.ray(c.Ray)
	case doc.Unbounded:
		v.fail(rayClaim, "there is no ray that shows it")
	}
	if c.Gradient != nil {
		v.gradientOfBranch(c.Gradient)
	}
	if c.Goldstein != nil && v.at != nil {
		v.goldstein(c.Goldstein)
	}
	if c.GradientMapping != nil && v.at != nil {
		v.gradientMapping(c.GradientMapping)
	}
	return &v.Report
}

// verification is one document under examination.
type verification struct {
	Report
	doc *Document
	p   *problem.Problem
	d   *deriver
	at  *derived // the lower level at x, derived here; nil where that failed
}

// certificate is that of the document; one of nothing where none is claimed.
func (v *verification) certificate() *Certificate { return cmp.Or(v.doc.Certificate, &Certificate{}) }

// samples are those of a Goldstein certificate within its radius of the document's x.
func (v *verification) samples() []Sample {
	g := v.certificate().Goldstein
	if g == nil {
		return nil
	}
	return each.Where(g.Samples, func(s Sample) bool { return distance(s.Point, v.doc.X) <= g.Delta })
}

// delta is the radius of a Goldstein certificate; 0 where none is claimed.
func (v *verification) delta() float64 {
	if g := v.certificate().Goldstein; g != nil {
		return g.Delta
	}
	return 0
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
			if !isNumber(t) {
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
	if c := v.doc.Coupled; c != nil {
		check("upper constraints", c.Values, v.p.FaceLen()-v.p.Rows.Len())
	}
	if v.doc.Hypergradient != nil {
		check("hypergradient", v.doc.Hypergradient, v.p.Dx)
	}
	c := v.certificate()
	if c.Lower != nil {
		rows("active rows", c.Lower.Active, v.p.Rows.Len())
	}
	if g := c.Goldstein; g != nil {
		for k, s := range g.Samples {
			check(fmt.Sprintf("sample %d: point", k), s.Point, v.p.Dx)
			check(fmt.Sprintf("sample %d: gradient", k), s.Gradient, v.p.Dx)
			rows(fmt.Sprintf("sample %d: active rows", k), s.Active, v.p.FaceLen())
		}
		if g.Normal != nil {
			check("normal vector", g.Normal, v.p.Dx)
		}
	}
	if m := c.GradientMapping; m != nil {
		check("gradient mapping: gradient", m.Gradient, v.p.Dx)
		check("gradient mapping: projected point", m.Projected, v.p.Dx)
	}
	return len(v.Checks) == before
}

// upperSet checks that x is in X.
func (v *verification) upperSet(what string, x []float64) bool {
	worst, where := v.outsideX(x)
	return v.atMost(what+" is in X", 0, worst, tolerance.Target, where)
}

// outsideX is how far a point is outside of X, relative to the terms of what it is outside of most.
func (v *verification) outsideX(x []float64) (worst float64, where string) {
	where = "every bound, row and ball"
	note := func(excess, scale float64, name string) {
		if e := excess / orOne(scale); e > worst || math.IsNaN(e) {
			worst, where = e, name
		}
	}
	// Of an entry at the point itself, however wide X is, and so much of that that the tolerance covers its rounding (see rowTerms).
	size := func(j int) float64 { return math.Abs(x[j]) + tolerance.SumRounding/tolerance.Target*v.d.s.width[j] }
	for j, t := range x {
		note(v.p.X.Lo[j]-t, size(j), fmt.Sprintf("lower bound of entry %d", j))
		note(t-v.p.X.Hi[j], size(j), fmt.Sprintf("upper bound of entry %d", j))
	}
	for i, kind := range v.p.X.Kind {
		h := kind.Over(v.p.X.E.RowDot(i, x) - v.p.X.Rhs[i])
		name := fmt.Sprintf("row %d of X", i)
		if i < len(v.p.X.Name) {
			name = v.p.X.Name[i]
		}
		over, least := 0.0, math.Inf(1)
		for j, e := range v.p.X.E.Entries(i) {
			if term := math.Abs(e) * v.d.s.width[j]; term > 0 {
				over, least = over+term, math.Min(least, term)
			}
		}
		note(h, v.p.X.E.AddTerms(math.Abs(v.p.X.Rhs[i]), i, x)+hiddenTerms(tolerance.SumRounding/tolerance.Target*over, least), name)
	}
	v.p.X.Extended.Each(x, size, func(i int, excess, terms float64) { note(excess, terms, v.p.X.Extended.Name[i]) })
	for _, b := range v.p.X.Balls {
		_, away := fromCenter(&b, x)
		note(away-b.Radius, math.Max(b.Radius, norm(x[b.Start:b.End])), "ball "+b.Name)
	}
	return worst, where
}

// terms is the sum of what entries of x and of y make of f or g, to first order at the point and half way to 0, where terms that cancel show.
func terms(of problem.Function, x, y []float64) float64 {
	gx, gy := gradXY(of, x, y)
	mx, my := gradXY(of, halfWay(x, 0), halfWay(y, 0))
	grad := slices.Concat(gx, gy)
	slopes := each.Of(grad, math.Abs)
	raise(slopes, grad, slices.Concat(mx, my), 2)
	return absolute(slopes, slices.Concat(x, y))
}

// values checks f and g at (x, y).
func (v *verification) values() {
	// Both are at the document's own point: what may be between claimed and found is rounding of terms there, however wide X is.
	for _, level := range []struct {
		claim   string
		claimed float64
		of      problem.Function
		y       []float64
	}{
		{ObjectiveClaim, v.doc.Upper, v.d.f, v.p.Answer(v.doc.Y, v.doc.Lambda)},
		{"lower objective", v.doc.Lower, v.d.g, v.doc.Y},
	} {
		value := level.of.Value(v.doc.X, level.y)
		size := math.Max(math.Abs(value), finite(terms(level.of, v.doc.X, level.y)))
		v.equal(level.claim, level.claimed, value, size)
	}
}

// StrictClaim is the check of Document.Strict, AnswerClaim that of Document.Y, ObjectiveClaim that
// of Document.Upper, whose tolerance is what rounding may leave of f's terms, ModulusClaim that
// of the modulus in the bound on the distance to y*(x), and GradientErrorClaim that of Document.GradientError as a part of the gradients.
const (
	ObjectiveClaim = "upper objective"
	StrictClaim    = "strict complementarity"
	AnswerClaim    = "y = y*(x)"
	ModulusClaim   = "modulus of strong convexity"

	GradientErrorClaim = "solved: error of the hypergradient, by the size of gradients"
)

// derive finds y*(x), its multipliers and the hypergradient by other means
// and compares.
func (v *verification) derive() {
	at, err := v.d.lower(v.doc.X, v.doc.Y, v.active())
	if err != nil {
		v.fail(AnswerClaim, "could not be derived again: %v", err)
		return
	}
	v.at = at
	v.vector(AnswerClaim, v.doc.Y, at.y, tolerance.Target*math.Max(norm(at.y), v.length())+tolerance.SumRounding*v.d.s.y+v.d.s.hidden) // faces are corrected to a rounding of their rows (off)
	if v.doc.Strict {
		if weak := v.weakest(at); len(weak) > 0 {
			v.fail(StrictClaim, "slack and multiplier of row %d are both zero to the accuracy they are known with", weak[0])
		} else {
			v.Check(StrictClaim, true, "")
		}
	}
	if v.doc.Hypergradient == nil {
		return
	}
	v.gradient("hypergradient", v.doc.Hypergradient, v.doc.GradientError, v.doc.X, v.hints())
}

// weakest are the rows whose slack and multiplier are both zero to within their errors at y*, or may be (tight),
// unless others decide them. The errors themselves refute a claim of strict complementarity,
// without the margin over them: who made it had estimates of its own, and kept a margin over
// those.
func (v *verification) weakest(at *derived) []int {
	if i := v.d.tight(at); i >= 0 {
		return []int{i}
	}
	weak := v.d.within(at, 1.0/tolerance.Margin)
	if len(weak) == 0 || !v.d.undecided(at, weak) {
		return nil
	}
	return weak
}

// active is the face that the document claims, or else the one that its
// multipliers show.
func (v *verification) active() []int {
	if c := v.certificate().Lower; c != nil {
		return c.Active
	}
	return pressed(v.doc.Lambda)
}

// pressed are the rows with a positive multiplier.
func pressed(lambda []float64) []int {
	return each.WhereBelow(len(lambda), func(i int) bool { return lambda[i] > 0 })
}

// hints are the faces that the document names at x.
func (v *verification) hints() [][]int {
	faces := [][]int{v.active()}
	for _, s := range v.samples() {
		if s.Active != nil {
			rows, _ := v.split(s.Active)
			faces = append(faces, rows)
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
	size := math.Max(v.d.s.local, norm(claimed)) // where y moves by far less over X than next to the point the claim alone tells
	// Below the smallest normal number errors and gradients have no digits to compare.
	if err >= 0x1p-1022 && err > size && err > v.overRadius() {
		v.fail(claim, "its claimed error %.3g is larger than the gradients, %.3g", err, size)
		return
	}
	enough := err + gradientTolerance*size
	_, found, failure := v.d.gradientNear(x, v.at.y, hints, claimed, enough, v.radius())
	if failure != nil || v.d.apart(claimed, found) > enough {
		if near := v.ofSample(claimed, enough); near != nil {
			found, failure = near, nil
		}
	}
	if failure != nil {
		v.fail(claim, "could not be derived again: %v", failure)
		return
	}
	v.vector(claim, v.d.along(claimed), v.d.along(found), enough)
}

// ofSample derives the gradient of the sample that has the claimed one; nil where there
// is none. At a kink a document shows the gradient of the piece that its Goldstein
// certificate relies on most, which may be one within delta and not at the point: where
// little curvature makes y move fast pieces are narrow.
func (v *verification) ofSample(claimed []float64, enough float64) []float64 {
	if v.doc.Strict || v.p.Coupled != nil {
		return nil
	}
	for _, s := range v.samples() {
		if !(v.d.apart(claimed, s.Gradient) <= enough) {
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
	if delta := v.delta(); delta > 0 {
		r = math.Min(r, delta/2)
	}
	return r
}
