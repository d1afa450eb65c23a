package certify

import (
	"fmt"
	"maps"
	"math"
	"slices"

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

// hold makes the problem the one that a certificate is about at a point where entries of x are at bounds of X from which f rises without end of its slope: those entries are fixed there. f is
//
//	f(z) >= f_held(z) + M sum_held |x_j - bound_j|    next to the point, for any M,
//
// and equal at the point itself. Multipliers that show it stationary with the entries held, of whatever sign at these bounds, show it so without.
func (v *verification) hold() {
	held := v.p.AtHeld(v.doc.X)
	if held != v.p && v.doc.Hypergradient != nil {
		v.fail("hypergradient", "F has no slope with an end in an entry of x at its bound")
	}
	v.p = held
}

// shaped checks that multipliers have the shape of the problem.
func (v *verification) shaped(name string, m *Multipliers) bool {
	p := v.p
	for _, part := range []struct {
		name    string
		entries []float64
		want    int
	}{
		{"adjoint", m.Adjoint, p.Dy}, {"slack", m.Slack, p.Rows.Len()}, {"multiplier", m.Multiplier, p.Rows.Len()}, {"bound", m.Bound, p.Dx},
		{"rows", m.Rows, len(p.X.Kind)}, {"extended", m.Extended, p.X.Extended.Len()}, {"coupled", m.Coupled, p.FaceLen() - p.Rows.Len()}, {"balls", m.Balls, len(p.X.Balls)},
	} {
		if len(part.entries) != part.want {
			v.fail(name, "%s has %d entries, the problem %d", part.name, len(part.entries), part.want)
			return false
		}
	}
	return true
}

// strong checks a certificate of strong or B-stationarity.
func (v *verification) strong(c *Strong) {
	const name = "strong stationarity"
	p := v.p
	parts, claim := c.Leaves, "B-stationarity"
	if len(parts) == 0 {
		parts, claim = []StrongLeaf{{Multipliers: c.Multipliers}}, name
	}
	for k := range parts {
		if !v.shaped(name, &parts[k].Multipliers) {
			return
		}
	}
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
	for k := range parts {
		leaf, of := &parts[k], claim
		if len(c.Leaves) > 0 {
			of = fmt.Sprintf("%s, part %d", claim, k)
		}
		residual, e := v.branchMultipliers(of, &leaf.Multipliers, at, set(leaf.SlackZero), set(leaf.MultiplierZero))
		found, errorBound = math.Max(found, residual), math.Max(errorBound, e)
		shift = math.Min(shift, v.shift(&leaf.Multipliers, at))
	}
	v.atMost(claim+": residual", c.Residual, found, v.residualRounding()+errorBound, "")
	if len(c.Leaves) > 0 {
		v.Check("B-stationarity: the parts are all branches that meet at the point", covers(c.Leaves, nil, nil), "")
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
	// Inside one branch the hypergradient of a follower with other answers elsewhere is what the multipliers of the leader's own constraints make up.
	switch tied := v.doc.Tied && v.doc.Hypergradient != nil && len(c.Leaves) == 0; {
	case tied && maxAbs(c.Coupled) != 0:
		v.fail("hypergradient", "a constraint that reads the follower has a multiplier: what is left is none of F")
	case tied:
		inX, _ := v.ofLeader(&c.Multipliers)
		v.vector("hypergradient", v.doc.Hypergradient, scaled(inX, -1), v.doc.GradientError+tolerance.Certified*v.d.s.local)
	}
	v.Unchecked = append(v.Unchecked, "certificate.strong (where the rows that hold are dependent the follower has other multipliers: the certificate is about those of the document)",
		"certificate.strong.second_order (what a run found of curvature)")
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
	rows := slices.Concat(fits[0].SlackZero, fits[0].MultiplierZero)
	row := rows[slices.IndexFunc(rows, func(i int) bool { return !slack[i] && !mult[i] })] // there is one, since it is not whole
	with := func(m map[int]bool) map[int]bool {
		out := map[int]bool{row: true}
		maps.Copy(out, m)
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
