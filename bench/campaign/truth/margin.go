package truth

import (
	"math/big"
	"slices"

	"bilevelc/internal/each"
)

// Undecided tells, for a point whose Margin is near 0, whether strict complementarity
// cannot be seen there: whether the exact margin at x, with the model's own decimals, is
// within the rounding of numbers of the size of the face's terms. known is false where
// G is not quadratic or no face is optimal to rounding: then nothing is decided.
func (e *Evaluator) Undecided(x []*big.Rat) (undecided, known bool) {
	if !e.known {
		return false, false
	}
	// A model states decimals, which the tool reads as doubles; sums of some of them.
	rounding := new(big.Rat).SetFloat64(0x1p-50)
	stated, share, _ := e.best(x, rational)
	read, other, _ := e.best(x, func(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) })
	if stated == nil || read == nil {
		return false, false
	}
	twice := func(v *big.Rat) *big.Rat { return new(big.Rat).Add(v, v) }
	return share.Cmp(rounding) <= 0 || other.Cmp(rounding) <= 0 || stated.Cmp(twice(read)) > 0 || read.Cmp(twice(stated)) > 0, true
}

// Y is y*(x) without rounding but the last; nil where it is not known.
func (e *Evaluator) Y(x []*big.Rat) []float64 {
	if !e.known {
		return nil
	}
	_, _, z := e.best(x, rational)
	if z == nil {
		return nil
	}
	return floats(z[:e.s.Dy])
}

// best is the face of the greatest exact margin at x, for a reading of the model's numbers: the margin, its least part of the terms of a row or
// of the forces, and y with the multipliers; nil where none is optimal to rounding.
func (e *Evaluator) best(x []*big.Rat, number func(float64) *big.Rat) (best, share *big.Rat, at []*big.Rat) {
	near := floats(x)
	for _, f := range e.faces {
		if _, _, margin, violation := e.at(f, near); margin < -1e-6 || violation > 1e-6 {
			continue
		}
		z, margin, part, ok := e.exactly(f, x, number)
		if ok && (best == nil || margin != nil && margin.Cmp(best) > 0) {
			best, share, at = margin, part, z
		}
	}
	return best, share, at
}

// exactly is y with the multipliers on a face at x, its margin, and the least part that this is of the terms of the
// row, or of the forces, that it is of; nil where there are no inequalities.
func (e *Evaluator) exactly(f *face, x []*big.Rat, number func(float64) *big.Rat) (z []*big.Rat, margin, share *big.Rat, ok bool) {
	dx, dy := e.s.Dx, e.s.Dy
	n := dy + len(f.rows)
	terms := new(big.Rat) // of the forces, then of a row
	grow := func(v *big.Rat) *big.Rat {
		if a := new(big.Rat).Abs(v); a.Cmp(terms) > 0 {
			terms = a
		}
		return v
	}
	less := func(b *big.Rat, a []float64, v []*big.Rat) { // b - a'v
		for i, t := range a {
			if t != 0 {
				b.Sub(b, grow(new(big.Rat).Mul(number(t), v[i])))
			}
		}
	}
	at := exactFlat{w0: zeros(n), z: each.Below(n, func(i int) []*big.Rat { return unit(n, i) }), given: make([]float64, n)}
	hold := func(a []float64, rows func(i int) float64, b *big.Rat) bool { // a'y and multipliers of the face's rows
		p := rationalPlane{a: append(each.Of(a, number), each.Of(f.rows, func(i int) *big.Rat { return number(rows(i)) })...), b: b}
		return at.restrict(p)
	}
	for j, h := range e.g.H[dx:] {
		b := new(big.Rat).Neg(grow(number(e.g.C[dx+j])))
		less(b, h[:dx], x)
		if !hold(h[dx:], func(i int) float64 { return e.rows[i].C[j] }, b) {
			return nil, nil, nil, false
		}
	}
	forces := terms
	for _, i := range f.rows {
		b := number(e.rows[i].Rhs)
		less(b, e.rows[i].A, x)
		if !hold(e.rows[i].C, func(int) float64 { return 0 }, b) {
			return nil, nil, nil, false
		}
	}
	if len(at.z) > 0 {
		return nil, nil, nil, false
	}
	z, terms = at.w0, forces
	note := func(v *big.Rat) {
		if margin == nil || v.Cmp(margin) < 0 {
			margin = v
		}
		part := new(big.Rat)
		if terms.Sign() > 0 {
			part.Quo(v, terms)
		}
		if share == nil || part.Cmp(share) < 0 {
			share = part
		}
	}
	for _, h := range e.g.H[dx:] {
		less(new(big.Rat), h[dx:], z)
	}
	for k := range f.rows {
		grow(z[dy+k])
	}
	for k, i := range f.rows {
		if !e.rows[i].Equal {
			note(z[dy+k])
		}
	}
	for i, r := range e.rows {
		if r.Equal || f.implied[i] || slices.Contains(f.rows, i) || zero(r.C) {
			continue
		}
		terms = new(big.Rat)
		slack := grow(number(r.Rhs))
		less(slack, r.A, x)
		less(slack, r.C, z)
		note(slack)
	}
	return z, margin, share, true
}
