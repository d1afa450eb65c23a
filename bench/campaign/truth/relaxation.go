package truth

import (
	"math/big"

	"bilevelc/internal/each"
	"bilevelc/internal/exact"
)

// Infeasibility is the least t for which some y satisfies every row of the
// lower level at x up to t (and x every row that reads x alone): exact, and 0
// where the lower level has a point.
func (e *Evaluator) Infeasibility(x []float64) float64 {
	m := e.Model
	p := &exact.LP{N: m.Dy + 1}
	at := exact.Doubles(x)
	for _, r := range m.Lower() {
		rhs := new(big.Rat).Sub(r.Rhs, exact.Dot(r.A, at))
		relaxed(p, r.C, rhs, r.Equal)
	}
	return leastRelaxation(p, m.Dy)
}

// JointInfeasibility is the same over x in X and y together: 0 where the
// problem has a point.
func (m *Model) JointInfeasibility() float64 {
	p := &exact.LP{N: m.Dx + m.Dy + 1}
	for _, r := range append(m.upper(), m.Lower()...) {
		relaxed(p, append(append([]*big.Rat(nil), r.A...), r.C...), r.Rhs, r.Equal)
	}
	return leastRelaxation(p, m.Dx+m.Dy)
}

// joint is a linear program in (x, y) over X and the lower level's rows.
func (m *Model) joint() *exact.LP {
	p := &exact.LP{N: m.Dx + m.Dy}
	for _, r := range append(m.upper(), m.Lower()...) {
		a := append(append([]*big.Rat(nil), r.A...), r.C...)
		p.Add(a, r.Rhs, r.Equal)
	}
	return p
}

// relaxed adds a'v <= b + t, and a'v >= b - t for an equality; t comes last.
func relaxed(p *exact.LP, a []*big.Rat, b *big.Rat, equal bool) {
	p.Leq(append(append([]*big.Rat(nil), a...), Rat(-1, 1)), b)
	if equal {
		minus := each.Of(a, func(t *big.Rat) *big.Rat { return new(big.Rat).Neg(t) })
		p.Leq(append(minus, Rat(-1, 1)), new(big.Rat).Neg(b))
	}
}

func leastRelaxation(p *exact.LP, n int) float64 {
	p.Leq(append(Zeros(n), Rat(-1, 1)), Rat(0, 1)) // t >= 0
	cost := Zeros(n + 1)
	cost[n] = Rat(1, 1)
	_, _, value := p.Minimize(cost)
	return Float(value)
}
