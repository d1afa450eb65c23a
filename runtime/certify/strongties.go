package certify

import (
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// tied checks that Y is an answer of a follower whose g is convex in y: for any feasible z, with r = grad_y g - B'lambda,
//
//	g(z) >= g(Y) + grad_y g'(z - Y) >= g(Y) + lambda'h(Y) + r'(z - Y),
//
// so that Y is within -lambda'h, and r times how far z is from Y, of the best: for each entry how far its bounds are, or the size of y_j; both are to be rounding of the
// terms of g, each a product of one entry of y and the forces on it, so that the units of other entries do not count. What rounding of its own terms leaves of h does not count: a row of x that leaves y nothing but 0 holds to that,
// and y has no terms.
func (v *verification) tied() {
	p, x, y := v.p, v.doc.X, v.doc.Y
	lo, hi := boundsOfY(p, x)
	at := v.pointOfSystem()
	slack, terms := 0.0, 0.0
	for i, kind := range p.Rows.Kind {
		l := v.doc.Lambda[i]
		if kind == problem.AtMost {
			ofX, _ := p.Rows.A.Row(i)
			ofY, _ := p.Rows.B.Row(i)
			rounding := float64(len(ofX)+len(ofY)+2) * 0x1p-53 * at.reach[i] // of a sum of products (Higham 2002, section 3.1)
			slack += math.Abs(l) * math.Max(0, math.Abs(v.d.residual(i, x, y))-rounding)
		}
		terms = math.Max(terms, math.Abs(l*p.Rows.Rhs[i]))
	}
	loss, brought := slack, v.spread(at)
	for j, r := range v.d.unbalanced(x, y, v.doc.Lambda) {
		terms = math.Max(terms, at.force[j]*at.length[j])
		r = math.Abs(r) - brought[j]
		switch room := math.Max(math.Abs(y[j]-lo[j]), math.Abs(hi[j]-y[j])); { // how far y can go
		case r <= 0 || room == 0:
		case at.length[j] > 0:
			loss += r * math.Min(at.length[j], room)
		case r > tolerance.Certified*at.force[j]: // an entry that is 0 and that nothing sets elsewhere has no length, and its forces are to balance
			loss = math.Inf(1)
		}
	}
	v.atMost("loss of the follower against its best answer, by the terms of g", 0, share(loss, terms), tolerance.Certified, "")
	if c := v.certificate(); v.doc.Hypergradient != nil && (c.Strong == nil && c.Gradient == nil || !v.doc.Strict) {
		v.fail("hypergradient", "a follower with other answers has one where its certificate shows it alone")
	}
	if v.doc.Strict {
		for i, kind := range p.Rows.Kind {
			if kind != problem.Equal && at.slack[i] <= tolerance.Parted && at.mult[i] <= tolerance.Parted {
				v.fail(StrictClaim, "slack and multiplier of row %d are both zero", i)
				return
			}
		}
		v.Check(StrictClaim, true, "")
	}
}

// spread is the rounding that multipliers of rows bring to each entry of y (pointOfSystem.brought), with that of multipliers which are themselves no more than rounding that is brought to an entry of their rows: along a chain of balances where
// nothing else sets them each has that of the one before.
func (v *verification) spread(at *pointOfSystem) []float64 {
	out, b := slices.Clone(at.brought), v.p.Rows.B
	left := each.WhereBelow(len(v.doc.Lambda), func(i int) bool { return v.doc.Lambda[i] != 0 })
	for n := -1; n != len(left); {
		n = len(left)
		left = slices.DeleteFunc(left, func(i int) bool {
			pushed := 0.0
			for j, a := range b.Nonzeros(i) {
				pushed = math.Max(pushed, out[j]/math.Abs(a))
			}
			if !(math.Abs(v.doc.Lambda[i]) <= pushed) {
				return false
			}
			for j, a := range b.Nonzeros(i) {
				out[j] = math.Max(out[j], math.Abs(a)*pushed)
			}
			return true
		})
	}
	return out
}

// gradientOfBranch checks multipliers that show the gradient of F at a point that lies inside one branch: a row with slack has none of s, one with a positive multiplier
// none of lambda, and the leader's own constraints have none. That x moves freely along the branch they do not show.
func (v *verification) gradientOfBranch(m *Multipliers) {
	const name = "gradient along the branch"
	if !v.shaped(name, m) {
		return
	}
	at := v.pointOfSystem()
	left, errorBound, terms, ok := v.multipliersLeave(name, m, at)
	if !ok {
		return
	}
	for i, kind := range v.p.Rows.Kind {
		if kind == problem.Equal {
			continue
		}
		ofSlack, ofMult := v.pairCounts(i, m, at, &terms)
		if ofSlack && at.slack[i] > tolerance.Weak && !v.spared(i, m, at, &terms) || ofMult && at.mult[i] > tolerance.Weak {
			v.fail(name, "row %d has a multiplier of what is not 0", i)
			return
		}
	}
	if maxAbs(m.Rows) > 0 || maxAbs(m.Extended) > 0 || maxAbs(m.Coupled) > 0 || maxAbs(m.Balls) > 0 {
		v.fail(name, "constraints of the leader have multipliers: what is left is none of F")
		return
	}
	v.within(name+": residual, by the terms of grad f", left+errorBound, tolerance.Certified)
	if v.doc.Hypergradient == nil {
		v.fail(name, "the document has no hypergradient")
		return
	}
	v.vector("hypergradient", v.doc.Hypergradient, m.Bound, tolerance.Certified*math.Max(v.d.s.local, maxAbs(m.Bound)))
}

// shift is what the residuals of the follower's conditions make of F, by the terms of f and of the leader's constraints: to first order their products with the leader's multipliers, of which they
// are the right side (Bonnans and Shapiro 2000, section 4.3). What rounding of a residual's own terms makes of it does not count.
func (v *verification) shift(m *Multipliers, at *pointOfSystem) float64 {
	p, x, y := v.p, v.doc.X, v.doc.Y
	sum := 0.0
	off := func(residual, rounding float64) float64 { return math.Max(0, math.Abs(residual)-rounding) }
	for i, kind := range p.Rows.Kind {
		h, l := v.d.residual(i, x, y), v.doc.Lambda[i]
		ofSlack := math.Abs(m.Slack[i]) * off(h, tolerance.Eliminated*at.reach[i])
		ofMult := math.Abs(m.Multiplier[i]) * off(l, tolerance.Eliminated*at.push[i])
		switch {
		case kind == problem.Equal || h > 0:
			sum += ofSlack
		case l < 0:
			sum += ofMult
		default: // one of the two is to be 0
			sum += math.Min(ofSlack, ofMult)
		}
	}
	for j, r := range v.d.unbalanced(x, y, v.doc.Lambda) {
		sum += math.Abs(m.Adjoint[j]) * off(r, tolerance.Eliminated*at.force[j]+at.brought[j])
	}
	answer := p.Signed(m.Coupled).Answer(y, v.doc.Lambda)
	return share(sum, math.Max(math.Abs(v.d.f.Value(x, answer)), terms(v.d.f, x, answer)))
}
