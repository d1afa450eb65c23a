package certify

import (
	"math"
	"math/rand/v2"
	"slices"

	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// weak are the rows of which the errors of y and lambda leave open whether they
// hold y: those outside of the independent rows of the face that are tight,
// and those inside whose multiplier is zero.
func (d *deriver) weak(at *derived) []int { return d.within(at, 1) }

// within is weak with the errors times a factor.
func (d *deriver) within(at *derived, factor float64) (rows []int) {
	d.sides(at, func(i, k int, in bool, size float64) {
		// Of an equation the multiplier is free, or it depends on the others.
		if d.p.Rows.Kind[i] != problem.Equal && size <= factor*d.coarse(at, i, in) && d.withinUncertainty(at, i, k, in, size, factor) {
			rows = append(rows, i)
		}
	})
	return rows
}

// sides calls f with what shows whether rows that read y hold it: the slack of a row outside of the independent rows of the face, -|h| of an
// equation there, and the way that the k-th one inside gives; equations inside show nothing.
func (d *deriver) sides(at *derived, f func(i, k int, in bool, size float64)) {
	inside := places(at.active)
	for i, kind := range d.p.Rows.Kind {
		if cols, _ := d.p.Rows.B.Row(i); len(cols) == 0 {
			continue // a condition on x alone
		}
		k, in := inside[i]
		switch h := d.residual(i, at.x, at.y); {
		case kind == problem.Equal && in:
		case kind == problem.Equal:
			f(i, k, in, -math.Abs(h))
		case in:
			f(i, k, in, at.lambda[i]*at.system.give(k))
		default:
			f(i, k, in, -h)
		}
	}
}

// coarse bounds uncertainty without a solve, by the error of y as a whole.
func (d *deriver) coarse(at *derived, i int, inside bool) float64 {
	largest := 1.0
	if inside {
		largest = at.system.amplification()
	}
	return tolerance.Margin * (d.s.normB[i]*at.errorY*largest + tolerance.SumRounding*d.terms(at, i))
}

// uncertainty is margin times what the slack of row i, or the way that it gives
// as the k-th row of the face, may be off by: rounding in the forces and rows,
// taken through the adjoint of that number, and what Newton's method has left.
func (d *deriver) uncertainty(at *derived, i, k int, inside bool) float64 {
	t, of, err := at.system.adjoint(i, k, inside, false)
	if err != nil {
		return math.Inf(1)
	}
	rows := slices.Clone(of.v)
	for r, l := range at.system.at[t] {
		rows[r] *= d.s.rows[at.active[l]]
	}
	sum := d.noise()*norm(of.u) + d.s.normB[i]*at.left + tolerance.SumRounding*d.terms(at, i)
	return tolerance.Margin * math.Hypot(sum, tolerance.SumRounding*norm(rows))
}

// withinUncertainty reports that a slack, or the way that a row of the face gives, is no more than a factor
// times its uncertainty.
func (d *deriver) withinUncertainty(at *derived, i, k int, inside bool, size, factor float64) bool {
	return size <= factor*d.uncertainty(at, i, k, inside) && size <= factor*d.bySlopes(at, i, k, inside, size/factor)
}

// bySlopes is uncertainty with what is left of the forces, and their rounding, along the adjoint
// alone: where curvatures are far apart the forces along steep directions are much larger than those
// along flat ones, in which y is then known much better than a rounding of the largest leaves it.
// It ends early where it is at least enough. +Inf where slopes of g are not enclosed, or y has more
// entries than a Hessian is built for.
func (d *deriver) bySlopes(at *derived, i, k int, inside bool, enough float64) float64 {
	g, ok := d.g.(problem.Rounded)
	if !ok || d.p.Dy > tolerance.DenseOrder || !d.p.Facts.QuadraticInY || d.near == nil {
		return math.Inf(1)
	}
	p, q, err := d.adjoint(at, i, k, inside)
	if err != nil {
		return math.Inf(1)
	}
	// What the rows and the entries of the Hessian are known to, and the forces of the rows.
	off := tolerance.SumRounding*d.terms(at, i) + tolerance.SumRounding*float64(d.p.Dy)*d.near.largest()*norm(p)*at.left
	moved, terms := 0.0, 0.0
	for l, row := range at.active {
		for j, v := range d.p.Rows.B.Entries(row) {
			force := at.lambda[row] * v * p[j]
			moved += force
			terms += math.Abs(force)
		}
		moved += q[l] * d.residual(row, at.x, at.y)
		off += math.Abs(q[l]) * tolerance.SumRounding * d.terms(at, row)
	}
	off += tolerance.SumRounding * terms
	if tolerance.Margin*off >= enough {
		return tolerance.Margin * off
	}
	lo, hi, ok := g.SlopeY(p, at.x, at.y)
	if !ok {
		return math.Inf(1)
	}
	moved -= lo + (hi-lo)/2
	off += (hi-lo)/2 + tolerance.SumRounding*(math.Abs(lo)+math.Abs(hi))
	if tolerance.Margin*(math.Abs(moved)+off) >= enough {
		return tolerance.Margin * (math.Abs(moved) + off)
	}
	// The digits that x has over X.
	share := shares[len(shares)-1] // of the way to a probe
	rng := rand.New(rand.NewPCG(4, uint64(d.p.Dx)))
	change := 0.0
	for range probes {
		from, to, ok := g.SlopeY(p, between(at.x, d.s.probe(d.p, at.x, rng), share), at.y)
		if !ok {
			return math.Inf(1)
		}
		change = math.Max(change, math.Max(math.Abs(from-lo), math.Abs(to-hi))/share)
	}
	if sum := math.Abs(moved) + off + tolerance.SumRounding*change; sum >= 0 {
		return tolerance.Margin * sum
	}
	return math.Inf(1)
}

// terms is the size of the terms of row i at a point: those of x over X, and those of y itself,
// since what y is known to is counted apart, and an entry of 1e-200 beside others of size 1 that
// its row does not have is known to its own digits. Below the smallest normal number it has none.
func (d *deriver) terms(at *derived, i int) float64 {
	size := d.s.inX(d.p, i, at.x)
	for j, v := range d.p.Rows.B.Entries(i) {
		size += math.Abs(v) * math.Max(math.Abs(at.y[j]), 0x1p-970)
	}
	return size
}

// adjoint is the solution of the system of the face for what decides row i (see slope).
func (d *deriver) adjoint(at *derived, i, k int, inside bool) (p, q []float64, err error) {
	t, a, err := at.system.adjoint(i, k, inside, true)
	if err != nil {
		return nil, nil, err
	}
	p, q = make([]float64, d.p.Dy), make([]float64, len(at.active))
	at.system.scatter(t, a.u, a.v, p, q)
	return p, q, nil
}

// undecided reports that some weak row is decided by no other: F may have a kink.
func (d *deriver) undecided(at *derived, weak []int) bool {
	_, open, err := d.slopes(at, weak)
	return err != nil || len(open) > 0
}

// tight is an equality row outside of the independent rows of the face that inequality rows among
// these hold at this x alone: beside it one of them gives way, so that F has another piece, or none,
// there. -1 where none is. Rows that pin an entry of y at every x are as equalities.
func (d *deriver) tight(at *derived) int {
	inside := places(at.active)
	for i, kind := range d.p.Rows.Kind {
		cols, _ := d.p.Rows.B.Row(i)
		if _, in := inside[i]; kind != problem.Equal || len(cols) == 0 || in {
			continue
		}
		_, q, err := d.adjoint(at, i, 0, false)
		if err != nil {
			continue
		}
		slope, terms, pressed := make([]float64, d.p.Dx), d.s.rows[i], false
		d.p.Rows.A.AddRow(slope, i, 1)
		for k, row := range at.active {
			if math.Abs(q[k])*d.s.normB[row] <= tolerance.Dependence*d.s.normB[i] {
				continue
			}
			d.p.Rows.A.AddRow(slope, row, -q[k])
			terms = math.Max(terms, math.Abs(q[k])*d.s.rows[row])
			pressed = pressed || d.p.Rows.Kind[row] != problem.Equal && !d.pinned(row)
		}
		if !pressed {
			continue
		}
		slope = d.along(slope)
		if size := norm(slope); size > tolerance.Weak*terms/d.s.x && !d.across(at.x, at.y, scaled(slope, 1/size)) {
			return i
		}
	}
	return -1
}

// pinned reports that row i is a bound of an entry of y of which the other bound is the same
// function of x.
func (d *deriver) pinned(i int) bool {
	j, coef := d.p.Rows.Bound(i)
	if j < 0 {
		return false
	}
	for t, kind := range d.p.Rows.Kind {
		k, other := d.p.Rows.Bound(t)
		if k != j || t == i || other*coef > 0 && kind != problem.Equal {
			continue
		}
		moves := make([]float64, d.p.Dx)
		d.p.Rows.A.AddRow(moves, i, 1)
		d.p.Rows.A.AddRow(moves, t, -coef/other)
		if maxAbs(moves) == 0 && d.p.Rows.Rhs[t]*coef == d.p.Rows.Rhs[i]*other {
			return true
		}
	}
	return false
}
