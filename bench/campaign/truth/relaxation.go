package truth

import "math/big"

// Infeasibility is the least t for which some y satisfies every row of the
// lower level at x up to t (and x every row that reads x alone): exact, and 0
// where the lower level has a point.
func (e *Evaluator) Infeasibility(x []float64) float64 {
	m := e.Model
	p := &LP{N: m.Dy + 1}
	at := exact(x)
	for _, r := range m.Lower() {
		rhs := new(big.Rat).Sub(r.Rhs, dotRat(r.A, at))
		p.relaxed(r.C, rhs, r.Equal)
	}
	return p.leastRelaxation(m.Dy)
}

// JointInfeasibility is the same over x in X and y together: 0 where the
// problem has a point.
func (m *Model) JointInfeasibility() float64 {
	p := &LP{N: m.Dx + m.Dy + 1}
	for _, r := range append(m.upper(), m.Lower()...) {
		p.relaxed(append(append([]*big.Rat(nil), r.A...), r.C...), r.Rhs, r.Equal)
	}
	return p.leastRelaxation(m.Dx + m.Dy)
}

// joint is a linear program in (x, y) over X and the lower level's rows.
func (m *Model) joint() *LP {
	p := &LP{N: m.Dx + m.Dy}
	for _, r := range append(m.upper(), m.Lower()...) {
		a := append(append([]*big.Rat(nil), r.A...), r.C...)
		if r.Equal {
			p.Eq(a, r.Rhs)
		} else {
			p.Leq(a, r.Rhs)
		}
	}
	return p
}

// relaxed adds a'v <= b + t, and a'v >= b - t for an equality; t comes last.
func (p *LP) relaxed(a []*big.Rat, b *big.Rat, equal bool) {
	p.Leq(append(append([]*big.Rat(nil), a...), Rat(-1, 1)), b)
	if equal {
		minus := make([]*big.Rat, len(a))
		for j := range a {
			minus[j] = new(big.Rat).Neg(a[j])
		}
		p.Leq(append(minus, Rat(-1, 1)), new(big.Rat).Neg(b))
	}
}

func (p *LP) leastRelaxation(n int) float64 {
	p.Leq(append(Zeros(n), Rat(-1, 1)), Rat(0, 1)) // t >= 0
	cost := Zeros(n + 1)
	cost[n] = Rat(1, 1)
	_, _, value := p.Minimize(cost)
	return Float(value)
}
