package certify

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// counts reports that a multiplier t is more than rounding: of what it carries to grad_x f and to grad_y f, per unit of it, by the terms of these, or of what it makes of f as far as the values reach that it
// multiplies. At x = 0 and y = 0 nothing reaches anywhere.
func (terms *sizesOfF) counts(t, perX, perY, reach float64) bool {
	t = math.Abs(t)
	return t*perX > tolerance.Certified*terms.x || t*perY > tolerance.Certified*terms.y || terms.sum > 0 && t*reach > tolerance.Certified*terms.sum
}

// pairCounts reports whether the multipliers of slack i and of its multiplier count.
func (v *verification) pairCounts(i int, m *Multipliers, at *pointOfSystem, terms *sizesOfF) (ofSlack, ofMult bool) {
	ofMult = math.Abs(m.Multiplier[i])*at.push[i] > tolerance.Certified*terms.sum
	if at.push[i] == 0 || terms.sum == 0 {
		ofMult = math.Abs(m.Multiplier[i]) > tolerance.Certified*v.adjointOf(i, m, terms)
	}
	return terms.counts(m.Slack[i], largest(v.p.Rows.A, i), largest(v.p.Rows.B, i), at.reach[i]), ofMult
}

// adjointOf is how large the adjoint is in row i. Where f is 0 without terms, as y is, it may be all rounding, since multipliers of slacks take all of grad_y f: it is what H makes of the terms of that then.
func (v *verification) adjointOf(i int, m *Multipliers, terms *sizesOfF) (size float64) {
	for j, b := range v.p.Rows.B.Entries(i) {
		size = math.Max(size, math.Abs(b*m.Adjoint[j]))
		if terms.sum == 0 {
			size = math.Max(size, math.Abs(b)*share(terms.y, v.curvature(j)))
		}
	}
	return size
}

// spared reports that the multiplier of slack i counts in y alone, and that those of other rows, which are held whatever their sign, can do without it: f has no terms in y, or next to none.
func (v *verification) spared(i int, m *Multipliers, at *pointOfSystem, terms *sizesOfF) bool {
	if terms.counts(m.Slack[i], largest(v.p.Rows.A, i), 0, at.reach[i]) {
		return false
	}
	alone := make([]float64, v.p.Dy)
	v.p.Rows.B.AddRow(alone, i, m.Slack[i])
	return v.bySlacks(alone, at, *terms) <= tolerance.Certified
}

// pairSigns checks the two multipliers of a pair, those that count.
func (v *verification) pairSigns(name string, i int, m *Multipliers, at *pointOfSystem, terms sizesOfF, slackZero, multZero bool) {
	counts, ofMult := v.pairCounts(i, m, at, &terms)
	broken := func(ofSlack bool) string {
		slack := at.slack[i]
		if ofSlack && at.rounded[i] { // it is said to be 0, and has the signs of both multipliers to keep
			slack = 0
		}
		switch {
		case ofSlack && slack > tolerance.Weak:
			return fmt.Sprintf("row %d is slack and has a multiplier", i)
		case ofMult && at.mult[i] > tolerance.Weak:
			return fmt.Sprintf("the multiplier of row %d is positive and has a multiplier itself", i)
		case ofSlack && m.Slack[i] < 0 && !slackZero && (at.mult[i] <= tolerance.Parted || ofMult):
			return fmt.Sprintf("row %d, biactive: the multiplier %.3g of its slack is negative", i, m.Slack[i])
		case ofMult && m.Multiplier[i] < 0 && !multZero && (slack <= tolerance.Parted || ofSlack):
			return fmt.Sprintf("row %d, biactive: the multiplier %.3g of its multiplier is negative", i, m.Multiplier[i])
		}
		return ""
	}
	why := broken(counts)
	if why != "" && counts && v.spared(i, m, at, &terms) {
		why = broken(false)
	}
	if why != "" {
		v.fail(name, "%s", why)
	}
}

// normalSigns checks the multipliers of X and of the coupled constraints: which sides they are of, and that these hold with equality.
func (v *verification) normalSigns(name string, m *Multipliers, terms sizesOfF) {
	p, x := v.p, v.doc.X
	size := maxAbs(x)
	for j, t := range m.Bound {
		if p.Integer != nil && p.Integer[j] {
			continue // stationarity is of the continuous part, at the whole numbers that x has
		}
		if !terms.counts(t, 1, 0, size) {
			continue
		}
		bound := p.X.Lo[j]
		if t < 0 {
			bound = p.X.Hi[j]
		}
		if math.IsInf(bound, 0) || !(math.Abs(x[j]-bound) <= tolerance.Weak*math.Max(size, math.Abs(bound))) {
			v.fail(name, "entry %d of x has the multiplier %.3g of a bound at which it is not", j, t)
		}
	}
	// A row of X holds within what a bound does: an entry of x that is 0 to rounding of the others makes none of its terms.
	row := func(what string, i int, equal bool, t, perX, perY, value, reach, room float64) {
		switch {
		case equal || !terms.counts(t, perX, perY, reach):
		case t < 0:
			v.fail(name, "%s %d has the negative multiplier %.3g", what, i, t)
		case value < -tolerance.Weak*room:
			v.fail(name, "%s %d has a multiplier and does not hold with equality", what, i)
		}
	}
	linear := func(what string, i int, equal bool, t float64, e *sparse.CSR, rhs float64, z []float64) {
		reach, per := e.AddTerms(math.Abs(rhs), i, z), largest(e, i)
		row(what, i, equal, t, per, 0, e.RowDot(i, z)-rhs, reach, math.Max(reach, per*size))
	}
	for i, t := range m.Rows {
		linear("row of X", i, p.X.Kind[i] == problem.Equal, t, p.X.E, p.X.Rhs[i], x)
	}
	if e := p.X.Extended; e.Len() > 0 {
		least := e.Least(x)
		for i, t := range m.Extended {
			linear("row of the extended X", i, false, t, e.E, e.Rhs[i], least)
		}
	}
	for k, t := range m.Balls {
		_, length := fromCenter(&p.X.Balls[k], x)
		reach := math.Max(length, p.X.Balls[k].Radius)
		row("ball of X", k, false, t, 1, 0, length-p.X.Balls[k].Radius, reach, reach)
	}
	if p.Coupled == nil {
		return
	}
	c := v.coupledValues()
	sizes, steep := v.termsOfCoupled(c)
	for i, t := range m.Coupled {
		row("constraint", i, p.Coupled.Kind[i] == problem.Equal, t, steep[i][0], steep[i][1], c[i], sizes[i], sizes[i])
	}
}

// termsOfCoupled are the sizes of the terms of the coupled constraints at the document's point: of their values c, and of what their slopes make of its entries, and so much that Weak of it covers the rounding of the largest entry of y, of which one near 0 may be the difference (see hiddenTerms: of the entries that are no such rounding none is hidden); steep are the largest
// slopes in x and in y.
func (v *verification) termsOfCoupled(c []float64) (sizes []float64, steep [][2]float64) {
	p, x := v.p, v.doc.X
	answer := p.Answer(v.doc.Y, v.doc.Lambda)
	weights := make([]float64, len(c))
	at := func(x, y []float64) (gx, ga []float64) {
		gx, ga = gradXY(v.d.f, x, p.Signed(weights).Answer(y, v.doc.Lambda))
		return gx, ga[:p.Dy+len(p.Duals)]
	}
	x0, a0 := at(x, v.doc.Y)
	longest, xh, yh := maxAbs(v.doc.Y), halfWay(x, 0), halfWay(v.doc.Y, 0)
	_, h0 := at(xh, yh)
	sizes, steep = make([]float64, len(c)), make([][2]float64, len(c))
	for i := range c {
		weights[i] = 1
		x1, a1 := at(x, v.doc.Y)
		_, h1 := at(xh, yh)
		weights[i] = 0
		slopes, least := each.Of(minus(a1, a0), math.Abs), math.Inf(1)
		raise(slopes, h1, h0, 1)
		for j, y := range v.doc.Y {
			if slopes[j] > 0 && math.Abs(y) > tolerance.SumRounding/tolerance.Weak*longest {
				least = math.Min(least, slopes[j]*longest)
			}
		}
		steep[i] = [2]float64{apart(x0, x1), apart(a0[:p.Dy], a1[:p.Dy])}
		sizes[i] = math.Abs(c[i]) + absolute(minus(x1, x0), x) + absolute(minus(a1, a0), answer) + hiddenTerms(tolerance.SumRounding/tolerance.Weak*steep[i][1]*longest, least)
	}
	return sizes, steep
}

// fromCenter is how far x is from the center of a ball, in its entries and in length.
func fromCenter(b *problem.Ball, x []float64) (offset []float64, length float64) {
	offset = slices.Clone(x[b.Start:b.End])
	if b.Center != nil {
		floats.Sub(offset, b.Center)
	}
	return offset, norm(offset)
}

// coupledValues are those of the coupled constraints at the document's point.
func (v *verification) coupledValues() []float64 {
	return v.d.coupled(&derived{x: v.doc.X, y: v.doc.Y, lambda: v.doc.Lambda})
}
