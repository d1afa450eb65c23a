package truth

import (
	"math/big"
	"slices"

	"bilevelc/internal/exact"
)

// Dimension is that of the set of x in X for which some y satisfies the lower level's rows: how many
// independent directions it has, exactly; -1 where it is empty. X must be bounded.
func (e *Evaluator) Dimension() int {
	m, p := e.s, e.joint()
	// An orthogonal system of directions that it has and of normals on which it is constant.
	var system [][]*big.Rat
	dimension := 0
	for j := 0; len(system) < m.Dx; {
		d := zeros(m.Dx)
		d[j] = ratio(1, 1)
		orthogonal(d, system)
		if zeroRat(d) {
			j++
			continue
		}
		cost := append(append([]*big.Rat(nil), d...), zeros(m.Dy)...)
		outcome, lowest, least := p.Minimize(cost)
		if outcome == exact.Empty {
			return -1
		}
		for k := range cost {
			cost[k] = new(big.Rat).Neg(cost[k])
		}
		_, highest, most := p.Minimize(cost)
		if least.Cmp(new(big.Rat).Neg(most)) == 0 {
			system = append(system, d)
			continue
		}
		for k := range d {
			d[k] = new(big.Rat).Sub(highest[k], lowest[k])
		}
		orthogonal(d, system)
		system = append(system, d)
		dimension++
	}
	return dimension
}

// heldByX are the entries of x that have one value wherever X and the lower level's rows on x alone hold, nil for others.
func (e *Evaluator) heldByX() []*big.Rat {
	if e.held != nil {
		return e.held
	}
	m := e.s
	p := &exact.LP{N: m.Dx}
	rows, boxAlone := slices.Clone(e.upper), len(m.Upper) == 0
	for _, r := range e.lower {
		if zeroRat(r.c) {
			rows, boxAlone = append(rows, r), false
		}
	}
	for _, r := range rows {
		p.Add(r.a, r.rhs, r.equal)
	}
	e.held = make([]*big.Rat, m.Dx)
	for j, lo := range m.Lo {
		if boxAlone {
			if lo == m.Hi[j] {
				e.held[j] = rational(lo)
			}
			continue
		}
		cost := zeros(m.Dx)
		cost[j] = ratio(1, 1)
		low, _, least := p.Minimize(cost)
		cost[j] = ratio(-1, 1)
		high, _, most := p.Minimize(cost)
		if low == exact.Optimal && high == exact.Optimal && least.Cmp(new(big.Rat).Neg(most)) == 0 {
			e.held[j] = least
		}
	}
	return e.held
}

// orthogonal takes from d its parts along an orthogonal system.
func orthogonal(d []*big.Rat, system [][]*big.Rat) {
	for _, s := range system {
		t := new(big.Rat).Quo(exact.Dot(d, s), exact.Dot(s, s))
		for k := range d {
			d[k] = new(big.Rat).Sub(d[k], new(big.Rat).Mul(t, s[k]))
		}
	}
}

// zeroRat reports a vector of zeros.
func zeroRat(v []*big.Rat) bool {
	return !slices.ContainsFunc(v, func(t *big.Rat) bool { return t.Sign() != 0 })
}
