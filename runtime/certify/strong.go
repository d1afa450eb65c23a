package certify

import (
	"fmt"
	"math"

	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Strong certifies that a point of the follower's KKT system is strongly stationary (Scheel and Scholtes 2000), or B-stationary: multipliers
// that make up grad f at (x, y, lambda),
//
//	grad_x (f + Coupled'c)      =  G' Adjoint - A' Slack + Bound - E' Rows - (normals of balls)' Balls
//	grad_y (f + Coupled'c)      =  H  Adjoint + B' Slack
//	grad_lambda (f + Coupled'c) = -B  Adjoint + Multiplier
//
// with H and G the derivatives of grad_y g in y and x. Where Slack and Multiplier are >= 0 on the biactive rows (s = lambda = 0) no
// direction lowers f over the system to first order. Where no multipliers are that on all of them, Leaves has some for each part
// of the branches that meet there. Lengths are those of the problem's dimensions.
type Strong struct {
	Biactive []int `json:"biactive"` // rows of the lower level, ascending
	Multipliers
	Leaves []StrongLeaf `json:"leaves,omitempty"`
	// Residual is what the multipliers leave of grad f, relative to its terms.
	Residual float64 `json:"residual"`
	// Curvature says what is known of second order along critical directions of the branch: "holds", "fails" or "not checked".
	Curvature string `json:"second_order"`
}

// Multipliers are those of one set of branches.
type Multipliers struct {
	Adjoint    []float64 `json:"adjoint,omitempty"`    // len Dy, of the follower's stationarity
	Slack      []float64 `json:"slack,omitempty"`      // len m, of s >= 0
	Multiplier []float64 `json:"multiplier,omitempty"` // len m, of lambda >= 0
	Bound      []float64 `json:"bound,omitempty"`      // len Dx, of the bounds of X: >= 0 at the lower one
	Rows       []float64 `json:"rows,omitempty"`       // of the rows of X
	Extended   []float64 `json:"extended,omitempty"`   // of the rows of its extended formulation
	Coupled    []float64 `json:"coupled,omitempty"`    // of the coupled constraints
	Balls      []float64 `json:"balls,omitempty"`      // of the balls of X, |x - center| <= radius: outward normals of length 1
}

// StrongLeaf are multipliers on the branches on which s = 0 for the rows in Slack and lambda = 0 for those in Multiplier, whatever
// the other biactive rows do.
type StrongLeaf struct {
	SlackZero      []int `json:"slack_zero"`
	MultiplierZero []int `json:"multiplier_zero"`
	Multipliers
}

// finite reports that all numbers are.
func (c *Strong) finite() bool {
	all := []*Multipliers{&c.Multipliers}
	for i := range c.Leaves {
		all = append(all, &c.Leaves[i].Multipliers)
	}
	for _, m := range all {
		if !m.finite() {
			return false
		}
	}
	return isFinite([]float64{c.Residual})
}

func (m *Multipliers) finite() bool {
	for _, part := range [][]float64{m.Adjoint, m.Slack, m.Multiplier, m.Bound, m.Rows, m.Extended, m.Coupled, m.Balls} {
		if !isFinite(part) {
			return false
		}
	}
	return true
}

// Tolerances of a certificate at a point itself. All are relative to the terms that make up what is compared.
const (
	// cancelling is how much larger than f's own terms those of the multipliers may be for their rounding to count: tolerance.Certified leaves room for it.
	cancelling = 1e3
	// parted is how far a slack or a multiplier has to be from 0 for the row not to be biactive: less than any solver calls 0.
	parted = 1e-11
)

// strong checks a certificate of strong or B-stationarity.
func (v *verification) strong(c *Strong) {
	const name = "strong stationarity"
	p := v.p
	at := v.pointOfSystem()
	for _, i := range c.Biactive {
		if i < 0 || i >= p.Rows.Len() || p.Rows.Kind[i] == problem.Equal {
			v.fail(name, "row %d cannot be biactive", i)
			return
		}
		if at.rounded[i] { // no other row is said to be so: biactive rows have the signs of both multipliers to keep
			at.slack[i] = 0
		}
		if at.slack[i] > tolerance.Weak || at.mult[i] > tolerance.Weak {
			v.fail(name, "row %d is not biactive: slack %.3g, multiplier %.3g, by the size of their terms", i, at.slack[i], at.mult[i])
			return
		}
	}
	found, errorBound := 0.0, 0.0 // the largest residual, and what differences of gradients leave open of it
	shift := math.Inf(1)
	if len(c.Leaves) == 0 {
		found, errorBound = v.branchMultipliers(name, &c.Multipliers, at, nil, nil)
		shift = v.shift(&c.Multipliers, at)
		v.atMost(name+": residual", c.Residual, found, v.residualRounding()+errorBound, "")
	} else {
		for k := range c.Leaves {
			leaf := &c.Leaves[k]
			residual, e := v.branchMultipliers(fmt.Sprintf("B-stationarity, part %d", k), &leaf.Multipliers, at, set(leaf.SlackZero), set(leaf.MultiplierZero))
			found, errorBound = math.Max(found, residual), math.Max(errorBound, e)
			shift = math.Min(shift, v.shift(&leaf.Multipliers, at))
		}
		v.atMost("B-stationarity: residual", c.Residual, found, v.residualRounding()+errorBound, "")
		v.check("B-stationarity: the parts are all branches that meet at the point", covers(c.Leaves, nil, nil), "")
	}
	v.atMost("what residuals of the lower level make of F, by its terms", 0, shift, tolerance.Certified, "multipliers of the leader times the residuals")
	for j, is := range p.Integer {
		if is && v.doc.X[j] != math.Round(v.doc.X[j]) {
			v.fail(name, "entry %d of x takes whole numbers only, and is %v", j, v.doc.X[j])
		}
	}
	if claimed := v.doc.Coupled; claimed != nil && len(c.Leaves) == 0 {
		if len(claimed.Multipliers) != len(c.Coupled) {
			v.fail(name, "the document has %d multipliers of upper constraints, its certificate %d", len(claimed.Multipliers), len(c.Coupled))
		} else {
			v.vector(name+": multipliers of the upper constraints", claimed.Multipliers, c.Coupled, 0)
		}
	}
	v.within(name+": residual, by the terms of grad f, with the error of differences", found+errorBound, tolerance.Certified)
	if v.doc.Tied && v.doc.Hypergradient != nil && len(c.Leaves) == 0 {
		v.ofMultipliers(c)
	}
	v.Unchecked = append(v.Unchecked, "certificate.strong (where the rows that hold are dependent the follower has other multipliers: the certificate is about those of the document)",
		"certificate.strong.second_order (what a run found of curvature)")
}

func set(rows []int) map[int]bool {
	out := map[int]bool{}
	for _, i := range rows {
		out[i] = true
	}
	return out
}

// covers reports that each way to choose a side for every row is one of a leaf's, given those in slack (s = 0) and mult (lambda = 0) so far.
func covers(leaves []StrongLeaf, slack, mult map[int]bool) bool {
	fits := leaves[:0:0]
	for _, l := range leaves {
		ok, whole := true, true
		for _, i := range l.SlackZero {
			ok, whole = ok && !mult[i], whole && slack[i]
		}
		for _, i := range l.MultiplierZero {
			ok, whole = ok && !slack[i], whole && mult[i]
		}
		if ok && whole {
			return true
		}
		if ok {
			fits = append(fits, l)
		}
	}
	if len(fits) == 0 {
		return false
	}
	row := -1
	for _, list := range [][]int{fits[0].SlackZero, fits[0].MultiplierZero} {
		for _, i := range list {
			if !slack[i] && !mult[i] && row < 0 {
				row = i
			}
		}
	}
	with := func(m map[int]bool) map[int]bool {
		out := map[int]bool{row: true}
		for i := range m {
			out[i] = true
		}
		return out
	}
	return covers(fits, with(slack), mult) && covers(fits, slack, with(mult))
}

// branchMultipliers checks the multipliers on the branches with s = 0 in slack and lambda = 0 in mult, and returns what they leave of grad f relative to its terms, and
// the error with which that is known.
func (v *verification) branchMultipliers(name string, m *Multipliers, at *pointOfSystem, slack, mult map[int]bool) (left, errorBound float64) {
	left, errorBound, terms, ok := v.multipliersLeave(name, m, at)
	if !ok {
		return math.Inf(1), 0
	}
	for i, kind := range v.p.Rows.Kind {
		if kind != problem.Equal {
			v.pairSigns(name, i, m, at, terms, slack[i], mult[i])
		}
	}
	v.normalSigns(name, m, terms)
	return left, errorBound
}

// multipliersLeave is what multipliers leave of grad f, relative to its terms, whatever their signs, and its error; false where they have not the shape of the problem.
func (v *verification) multipliersLeave(name string, m *Multipliers, at *pointOfSystem) (worst, errorBound float64, terms sizesOfF, ok bool) {
	p, x, y := v.p, v.doc.X, v.doc.Y
	coupled := 0
	if p.Coupled != nil {
		coupled = len(p.Coupled.Kind)
	}
	for _, part := range []struct {
		what string
		have []float64
		want int
	}{{"adjoint", m.Adjoint, p.Dy}, {"slack", m.Slack, p.Rows.Len()}, {"multiplier", m.Multiplier, p.Rows.Len()}, {"bound", m.Bound, p.Dx},
		{"rows", m.Rows, len(p.X.Kind)}, {"extended", m.Extended, p.X.Extended.Len()}, {"coupled", m.Coupled, coupled}, {"balls", m.Balls, len(p.X.Balls)}} {
		if len(part.have) != part.want {
			v.fail(name, "%s has %d entries, the problem %d", part.what, len(part.have), part.want)
			return 0, 0, terms, false
		}
	}
	gx, ga, terms := v.gradientOfSystem(m, at.length)
	// G'Adjoint and H Adjoint are derivatives of grad g along it.
	hx, hy, errX, errY, err := v.d.products(x, y, m.Adjoint)
	if err != nil {
		v.fail(name, "%v", err)
		return 0, 0, terms, false
	}
	for j := range gx {
		gx[j] -= hx[j] + m.Bound[j]
	}
	for j := range hy {
		ga[j] -= hy[j]
	}
	// What the multipliers of rows carry to x and to y, as far as it counts (see gradientOfSystem): an f that reads multipliers alone has no terms in y of its own.
	carried, carriedY := 0.0, 0.0
	for i, t := range m.Slack {
		_, vals := p.Rows.A.Row(i)
		for _, a := range vals {
			carried = math.Max(carried, math.Abs(a*t))
		}
		_, vals = p.Rows.B.Row(i)
		for _, b := range vals {
			carriedY = math.Max(carriedY, math.Abs(b*t))
		}
	}
	carried = math.Min(carried, math.Max(terms.most, cancelling*share(terms.value, maxAbs(x))))
	carriedY = math.Min(carriedY, cancelling*share(terms.value, maxAbs(y)))
	p.Rows.A.AddMulVecT(gx, 1, m.Slack)
	p.Rows.B.AddMulVecT(ga[:p.Dy], -1, m.Slack)
	for i, t := range m.Rows {
		p.X.E.AddRow(gx, i, t)
	}
	further := make([]float64, p.Dx+p.X.Extended.Extra())
	for i, t := range m.Extended {
		p.X.Extended.E.AddRow(further, i, t)
	}
	for j := range gx {
		gx[j] += further[j]
	}
	for k, t := range m.Balls {
		offset, length := fromCenter(&p.X.Balls[k], x)
		for j, u := range offset {
			gx[p.X.Balls[k].Start+j] += share(t*u, length)
		}
	}
	read := map[int]float64{} // grad_lambda f
	for k, i := range p.Duals {
		read[i] += ga[p.Dy+k]
	}
	// Entries of y and of lambda count in the units in which they move with x: per entry of grad f the largest term.
	worst = share(maxAbs(gx), math.Max(terms.x, carried))
	worst = math.Max(worst, share(maxAbs(further[p.Dx:]), terms.x))
	if terms.y == 0 { // f reads multipliers alone, and those of slacks may be all rounding: what they make of f as far as y reaches
		carriedY = math.Max(carriedY, share(terms.value, v.length()))
	}
	inY := share(maxAbs(ga[:p.Dy]), math.Max(terms.y, carriedY))
	errorBound = math.Max(share(errX, terms.x), share(errY, terms.y))
	left, size := 0.0, 0.0
	for i, kind := range p.Rows.Kind {
		rest := read[i] + p.Rows.B.RowDot(i, m.Adjoint)
		size = math.Max(size, math.Abs(read[i]))
		cols, vals := p.Rows.B.Row(i)
		for t, j := range cols {
			size = math.Max(size, math.Abs(vals[t]*m.Adjoint[j]))
		}
		if at.push[i] > 0 { // an adjoint that is all rounding: what it makes of f as far as lambda reaches
			size = math.Max(size, terms.value/at.push[i])
		}
		if kind == problem.Equal {
			left = math.Max(left, math.Abs(rest))
			if m.Multiplier[i] != 0 {
				v.fail(name, "the equality row %d has a multiplier of lambda >= 0", i)
			}
			continue
		}
		left = math.Max(left, math.Abs(rest-m.Multiplier[i]))
	}
	if inY > tolerance.Certified {
		inY = math.Min(inY, v.byAdjoint(ga[:p.Dy], terms, size))
	}
	return math.Max(math.Max(worst, share(left, size)), inY), errorBound, terms, true
}

// byAdjoint is what a residual r of the multipliers in y is by the terms of grad f in x and of the rows' part: another adjoint, by u = H^-1 r, leaves none in y, and G'u and B u more of
// those; H >= mu says what becomes of what the solution of that system leaves. Where f does not feel y, and the adjoint is rounding, r has no terms of its own to be compared with; then what the change of the rows' part
// makes of f as far as lambda reaches counts.
func (v *verification) byAdjoint(r []float64, terms sizesOfF, rows float64) float64 {
	p, x, y := v.p, v.doc.X, v.doc.Y
	mu, reach, steep, ones := p.Facts.StrongConvexity, 0.0, 0.0, make([]float64, p.Dy)
	if !(mu > 0) {
		return math.Inf(1)
	}
	for j := range ones {
		ones[j] = 1
	}
	for k := range signings { // |G'd| for entries of d of size 1
		gx, _, _, _, err := v.d.products(x, y, turned(ones, k))
		if err != nil {
			return math.Inf(1)
		}
		reach = math.Max(reach, maxAbs(gx))
	}
	for i := range p.Rows.Kind {
		_, vals := p.Rows.B.Row(i)
		steep = math.Max(steep, norm(vals))
	}
	if steep > 0 {
		grad := make([]float64, p.Dy)
		v.d.g.GradY(grad, x, y)
		rows = math.Max(rows, share(terms.value*steep, v.steepness(grad)))
	}
	u, inX, left := v.solved(r)
	step := norm(left) / mu
	return math.Max(share(maxAbs(inX)+reach*step, terms.x), share(steep*(norm(u)+step), rows))
}

// solved is u = H^-1 r, as far as factors of H go and products with H, which have no errors of their own, refine what they leave; G'u, and what is left of r.
func (v *verification) solved(r []float64) (u, inX, left []float64) {
	p, x, y := v.p, v.doc.X, v.doc.Y
	u, inX, left = make([]float64, p.Dy), make([]float64, p.Dx), r
	h, err := v.d.hessian(x, y)
	if err != nil {
		return u, inX, left
	}
	system, err := h.system(nil)
	if err != nil {
		return u, inX, left
	}
	for norm(left) > 0x1p-52*norm(r) {
		more, _, err := system.solve(left, nil)
		if err != nil || !isFinite(more) {
			return u, inX, left
		}
		gx, hy, _, _, err := v.d.products(x, y, more)
		if err != nil {
			return u, inX, left
		}
		rest := moved(left, -1, hy)
		if !(norm(rest) < norm(left)/2) {
			return u, inX, left
		}
		u, inX, left = moved(u, 1, more), moved(inX, 1, gx), rest
	}
	return u, inX, left
}

// counts reports that a multiplier t is more than rounding: of what it carries to grad_x f and to grad_y f, per unit of it, by the terms of these, or of what it makes of f as far as the values reach that it
// multiplies. At x = 0 and y = 0 nothing reaches anywhere.
func (terms *sizesOfF) counts(t, perX, perY, reach float64) bool {
	t = math.Abs(t)
	return t*perX > tolerance.Certified*terms.x || t*perY > tolerance.Certified*terms.y || terms.value > 0 && t*reach > tolerance.Certified*terms.value
}

// pairCounts reports whether the multipliers of slack i and of its multiplier count.
func (v *verification) pairCounts(i int, m *Multipliers, at *pointOfSystem, terms *sizesOfF) (ofSlack, ofMult bool) {
	perX, perY, adjoint := 0.0, 0.0, 0.0
	_, vals := v.p.Rows.A.Row(i)
	for _, a := range vals {
		perX = math.Max(perX, math.Abs(a))
	}
	cols, vals := v.p.Rows.B.Row(i)
	for k, b := range vals {
		perY, adjoint = math.Max(perY, math.Abs(b)), math.Max(adjoint, math.Abs(b*m.Adjoint[cols[k]]))
	}
	ofMult = math.Abs(m.Multiplier[i])*at.push[i] > tolerance.Certified*terms.sum
	if at.push[i] == 0 || terms.sum == 0 {
		ofMult = math.Abs(m.Multiplier[i]) > tolerance.Certified*adjoint
	}
	return terms.counts(m.Slack[i], perX, perY, at.reach[i]), ofMult
}

// pairSigns checks the two multipliers of a pair, those that count.
func (v *verification) pairSigns(name string, i int, m *Multipliers, at *pointOfSystem, terms sizesOfF, slackZero, multZero bool) {
	ofSlack, ofMult := v.pairCounts(i, m, at, &terms)
	slack := at.slack[i]
	if ofSlack && at.rounded[i] { // it is said to be 0, and has the signs of both multipliers to keep
		slack = 0
	}
	switch {
	case ofSlack && slack > tolerance.Weak:
		v.fail(name, "row %d is slack and has a multiplier", i)
	case ofMult && at.mult[i] > tolerance.Weak:
		v.fail(name, "the multiplier of row %d is positive and has a multiplier itself", i)
	case ofSlack && m.Slack[i] < 0 && !slackZero && (at.mult[i] <= parted || ofMult):
		v.fail(name, "row %d, biactive: the multiplier %.3g of its slack is negative", i, m.Slack[i])
	case ofMult && m.Multiplier[i] < 0 && !multZero && (slack <= parted || ofSlack):
		v.fail(name, "row %d, biactive: the multiplier %.3g of its multiplier is negative", i, m.Multiplier[i])
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
	for i, t := range m.Rows {
		reach, per := math.Abs(p.X.Rhs[i]), 0.0
		cols, vals := p.X.E.Row(i)
		for k, j := range cols {
			reach, per = reach+math.Abs(vals[k]*x[j]), math.Max(per, math.Abs(vals[k]))
		}
		row("row of X", i, p.X.Kind[i] == problem.Equal, t, per, 0, p.X.E.RowDot(i, x)-p.X.Rhs[i], reach, math.Max(reach, per*size))
	}
	if e := p.X.Extended; e.Len() > 0 {
		least := e.Least(x)
		for i, t := range m.Extended {
			reach, per := math.Abs(e.Rhs[i]), 0.0
			cols, vals := e.E.Row(i)
			for k, j := range cols {
				reach, per = reach+math.Abs(vals[k]*least[j]), math.Max(per, math.Abs(vals[k]))
			}
			row("row of the extended X", i, false, t, per, 0, e.E.RowDot(i, least)-e.Rhs[i], reach, math.Max(reach, per*size))
		}
	}
	for k, t := range m.Balls {
		_, length := fromCenter(&p.X.Balls[k], x)
		row("ball of X", k, false, t, 1, 0, length-p.X.Balls[k].Radius, math.Max(length, p.X.Balls[k].Radius), math.Max(length, p.X.Balls[k].Radius))
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

// termsOfCoupled are the sizes of the terms of the coupled constraints at the document's point: of their values c, and of what their slopes make of its entries; steep are the largest slopes in x and in y.
func (v *verification) termsOfCoupled(c []float64) (sizes []float64, steep [][2]float64) {
	p, x := v.p, v.doc.X
	answer := p.Answer(v.doc.Y, v.doc.Lambda)
	weights := make([]float64, len(c))
	at := func() (gx, ga []float64) {
		gx, ga = make([]float64, p.Dx), make([]float64, p.AnswerLen())
		v.d.f.ValueGrad(gx, ga, x, p.Signed(weights).Answer(v.doc.Y, v.doc.Lambda))
		return gx, ga[:p.Dy+len(p.Duals)]
	}
	x0, a0 := at()
	sizes, steep = make([]float64, len(c)), make([][2]float64, len(c))
	for i := range c {
		weights[i] = 1
		x1, a1 := at()
		weights[i] = 0
		sizes[i] = math.Abs(c[i])
		for j := range x1 {
			sizes[i] += math.Abs((x1[j] - x0[j]) * x[j])
		}
		for j := range a1 {
			sizes[i] += math.Abs((a1[j] - a0[j]) * answer[j])
		}
		steep[i] = [2]float64{apart(x0, x1), apart(a0[:p.Dy], a1[:p.Dy])}
	}
	return sizes, steep
}

// fromCenter is how far x is from the center of a ball, in its entries and in length.
func fromCenter(b *problem.Ball, x []float64) (offset []float64, length float64) {
	offset = append([]float64(nil), x[b.Start:b.End]...)
	for k := range offset {
		if b.Center != nil {
			offset[k] -= b.Center[k]
		}
	}
	return offset, norm(offset)
}

// coupledValues are those of the coupled constraints at the document's point: the derivatives of F in their weights.
func (v *verification) coupledValues() []float64 {
	gx, ga := make([]float64, v.p.Dx), make([]float64, v.p.AnswerLen())
	v.d.f.ValueGrad(gx, ga, v.doc.X, v.p.Answer(v.doc.Y, v.doc.Lambda))
	return v.p.CoupledPart(ga)
}
