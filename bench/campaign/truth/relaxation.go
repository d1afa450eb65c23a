package truth

import (
	"math/big"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/exact"
)

// Infeasibility is the least t for which some y satisfies every row of the
// lower level at x up to t (and x every row that reads x alone): exact, and 0
// where the lower level has a point.
func (e *Evaluator) Infeasibility(x []float64) float64 {
	m := e.s
	p := &exact.LP{N: m.Dy + 1}
	at := exact.Doubles(x)
	for _, r := range e.lower {
		rhs := new(big.Rat).Sub(r.rhs, exact.Dot(r.a, at))
		relaxed(p, r.c, rhs, r.equal)
	}
	return leastRelaxation(p, m.Dy)
}

// JointInfeasibility is the same over x in X and y together: 0 where the
// problem has a point.
func (e *Evaluator) JointInfeasibility() float64 {
	n := e.s.Dx + e.s.Dy
	p := &exact.LP{N: n + 1}
	for _, r := range slices.Concat(e.upper, e.lower) {
		relaxed(p, slices.Concat(r.a, r.c), r.rhs, r.equal)
	}
	return leastRelaxation(p, n)
}

// joint is a linear program in (x, y) over X and the lower level's rows.
func (e *Evaluator) joint() *exact.LP {
	p := &exact.LP{N: e.s.Dx + e.s.Dy}
	for _, r := range slices.Concat(e.upper, e.lower) {
		p.Add(slices.Concat(r.a, r.c), r.rhs, r.equal)
	}
	return p
}

// relaxed adds a'v <= b + t, and a'v >= b - t for an equality; t comes last.
func relaxed(p *exact.LP, a []*big.Rat, b *big.Rat, equal bool) {
	p.Leq(append(slices.Clip(a), ratio(-1, 1)), b)
	if equal {
		minus := each.Of(a, func(t *big.Rat) *big.Rat { return new(big.Rat).Neg(t) })
		p.Leq(append(minus, ratio(-1, 1)), new(big.Rat).Neg(b))
	}
}

func leastRelaxation(p *exact.LP, n int) float64 {
	p.Leq(append(zeros(n), ratio(-1, 1)), ratio(0, 1)) // t >= 0
	cost := zeros(n + 1)
	cost[n] = ratio(1, 1)
	_, _, value := p.Minimize(cost)
	return float(value)
}
