package truth

import (
	"math/big"

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
	stated, share, _ := e.best(x)
	read, other, _ := NewEvaluator(e.Model.Map(func(r *big.Rat) *big.Rat { return new(big.Rat).SetFloat64(Float(r)) })).best(x)
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
	_, _, z := e.best(x)
	if z == nil {
		return nil
	}
	return floats(z[:e.Model.Dy])
}

// best is the face of the greatest exact margin at x: the margin, its least part of the terms of a row or
// of the forces, and y with the multipliers; nil where none is optimal to rounding.
func (e *Evaluator) best(x []*big.Rat) (best, share *big.Rat, at []*big.Rat) {
	near := floats(x)
	for _, f := range e.faces {
		if _, _, margin, violation := e.at(f, near); margin < -1e-6 || violation > 1e-6 {
			continue
		}
		z, margin, part, ok := e.exactly(f, x)
		if ok && (best == nil || margin != nil && margin.Cmp(best) > 0) {
			best, share, at = margin, part, z
		}
	}
	return best, share, at
}

// exactly is y with the multipliers on a face at x, its margin, and the least part that this is of the terms of the
// row, or of the forces, that it is of; nil where there are no inequalities.
func (e *Evaluator) exactly(f *face, x []*big.Rat) (z []*big.Rat, margin, share *big.Rat, ok bool) {
	m, lower := e.Model, e.Model.Lower()
	n := m.Dy + len(f.rows)
	system := make([][]*big.Rat, n) // the last column is the right side
	terms := new(big.Rat)           // of the forces, then of a row
	grow := func(v *big.Rat) *big.Rat {
		if a := new(big.Rat).Abs(v); a.Cmp(terms) > 0 {
			terms = a
		}
		return v
	}
	product := func(a, b *big.Rat) *big.Rat { return grow(new(big.Rat).Mul(a, b)) }
	for i := range system {
		system[i] = Zeros(n + 1)
	}
	for j := range m.Dy {
		for k := range m.Dy {
			if m.G.Yy != nil {
				system[j][k].Set(m.G.Yy[j][k])
			}
		}
		system[j][n].Neg(grow(m.G.Ly[j]))
		for i := range m.Dx {
			if m.G.Xy != nil {
				system[j][n].Sub(system[j][n], product(m.G.Xy[i][j], x[i]))
			}
		}
	}
	for k, i := range f.rows {
		row := m.Dy + k
		for j, c := range lower[i].C {
			system[j][row].Set(c)
			system[row][j].Set(c)
		}
		system[row][n].Set(lower[i].Rhs)
		for j, a := range lower[i].A {
			system[row][n].Sub(system[row][n], new(big.Rat).Mul(a, x[j]))
		}
	}
	if z, ok = eliminate(system); !ok {
		return nil, nil, nil, false
	}
	in := map[int]bool{}
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
	for j := range m.Dy {
		for k := range m.Dy {
			if m.G.Yy != nil {
				product(m.G.Yy[j][k], z[k])
			}
		}
	}
	for k := range f.rows {
		grow(z[m.Dy+k])
	}
	for k, i := range f.rows {
		in[i] = true
		if !e.rows[i].equal {
			note(z[m.Dy+k])
		}
	}
	for i, r := range lower {
		if in[i] || e.rows[i].equal || f.implied[i] || zero(e.rows[i].c) {
			continue
		}
		terms = new(big.Rat)
		slack := new(big.Rat).Set(grow(r.Rhs))
		for j, a := range r.A {
			slack.Sub(slack, product(a, x[j]))
		}
		for j, c := range r.C {
			slack.Sub(slack, product(c, z[j]))
		}
		note(slack)
	}
	return z, margin, share, true
}

// eliminate solves a square system with the right side as the last column.
func eliminate(a [][]*big.Rat) ([]*big.Rat, bool) {
	n := len(a)
	for c := range n {
		pivot := c
		for pivot < n && a[pivot][c].Sign() == 0 {
			pivot++
		}
		if pivot == n {
			return nil, false
		}
		a[c], a[pivot] = a[pivot], a[c]
		for i := range a {
			if i == c || a[i][c].Sign() == 0 {
				continue
			}
			by := new(big.Rat).Quo(a[i][c], a[c][c])
			for j := c; j <= n; j++ {
				a[i][j].Sub(a[i][j], new(big.Rat).Mul(by, a[c][j]))
			}
		}
	}
	return each.Below(n, func(i int) *big.Rat { return new(big.Rat).Quo(a[i][n], a[i][i]) }), true
}
