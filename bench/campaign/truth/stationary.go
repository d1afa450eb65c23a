package truth

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/exact"
)

// Gradients are gradients of F that hold on open sets (relative to where F is
// defined) within delta of x: one for each piece met at the given points and
// at n drawn ones. Every element is right; pieces may be missing. Where X holds entries
// of x at one value, pieces beside it count too, and there may be more than F has on X.
func (e *Evaluator) Gradients(x []float64, delta float64, given [][]float64, n int, rng *rand.Rand) [][]float64 {
	return e.gradients(x, delta, given, n, rng, true)
}

// AroundX is Gradients without regard to X: what F does on both sides of its
// bounds.
func (e *Evaluator) AroundX(x []float64, delta float64, given [][]float64, n int, rng *rand.Rand) [][]float64 {
	return e.gradients(x, delta, given, n, rng, false)
}

func (e *Evaluator) gradients(x []float64, delta float64, given [][]float64, n int, rng *rand.Rand, inX bool) [][]float64 {
	var out [][]float64
	seen := map[string]bool{}
	add := func(z []float64, margin float64, once bool) {
		p, ok := e.At(z)
		if !ok || p.Violation > tiny || p.Margin <= margin {
			return
		}
		key := each.Of(p.Active, func(r int) byte { return byte(r) })
		if once && seen[string(key)] {
			return
		}
		seen[string(key)] = true
		out = append(out, p.Grad)
	}
	for _, z := range given {
		add(z, strict, false)
	}
	add(x, strict, false)
	held := e.heldByX()
	anyHeld := slices.ContainsFunc(held, func(v *big.Rat) bool { return v != nil })
	for k := range n {
		// Rows may be weak wherever X holds an entry at one value; beside it they are decided.
		beside := anyHeld && k%2 == 1
		z := make([]float64, len(x))
		for j := range z {
			z[j] = x[j] + delta*(2*rng.Float64()-1)/math.Sqrt(float64(len(z)))
			if !inX || beside && held[j] != nil {
				continue
			}
			z[j] = math.Min(math.Max(z[j], e.s.Lo[j]), e.s.Hi[j])
		}
		if !inX || beside || e.OutsideX(z) <= 1e-12 {
			add(z, math.Min(strict, 1e-6*delta), true)
		}
	}
	return out
}

// strict is the margin above which multipliers and slacks of numbers of
// moderate size are positive in spite of the rounding of a small dense system.
const strict = 1e-12

// Spread draws points within delta of x at which F is defined, also where that
// set has no interior: convex combinations of vertices of it.
func (e *Evaluator) Spread(x []float64, delta float64, n int, rng *rand.Rand) [][]float64 {
	m := e.s
	p := e.joint()
	at, radius := exact.Doubles(x), new(big.Rat).SetFloat64(delta/math.Sqrt(float64(m.Dx)))
	for j := range m.Dx {
		for _, sign := range []int64{1, -1} {
			a := zeros(m.Dx + m.Dy)
			a[j] = ratio(sign, 1)
			b := new(big.Rat).Mul(ratio(sign, 1), at[j])
			p.Leq(a, b.Add(b, radius))
		}
	}
	var corners [][]float64
	for range 6 * (m.Dx + 1) {
		cost := zeros(m.Dx + m.Dy)
		for j := range m.Dx {
			cost[j] = ratio(int64(rng.IntN(2001)-1000), 1000)
		}
		outcome, v, _ := p.Minimize(cost)
		if outcome != exact.Optimal {
			return nil
		}
		corners = append(corners, floats(v[:m.Dx]))
	}
	out := make([][]float64, n)
	for i := range out {
		out[i] = make([]float64, m.Dx)
		sum := 0.0
		weights := make([]float64, len(corners))
		for k := range weights {
			weights[k] = math.Pow(rng.ExpFloat64(), 4) // near a few of the corners
			sum += weights[k]
		}
		for k, c := range corners {
			axpy(out[i], weights[k]/sum, c)
		}
	}
	return out
}

// OutsideX is how far x misses a row of X.
func (e *Evaluator) OutsideX(x []float64) float64 {
	none := make([]float64, e.s.Dy)
	return each.Largest(e.s.leader(), func(r Linear) float64 { return r.Misses(x, none) })
}

// Descent is the steepest certain descent at a point: the greatest v such that
// some z with |z - x| <= rho in the max norm, at which F is defined, has
// G'(z - x) <= -v rho for every gradient G. It is 0 where 0 is in the convex
// hull of the gradients plus the normal cone at x, and at most the 1-norm
// distance from it elsewhere; it lies between the 2-norm distance and
// sqrt(Dx) times it for rho small enough.
func (e *Evaluator) Descent(p *Point, rho float64, gradients [][]float64) float64 {
	// Rows that y* misses by what Newton's method has left are to hold at z; where none does so, they give way by that.
	if v, ok := e.descent(p, rho, gradients, math.Inf(-1)); ok {
		return v
	}
	v, _ := e.descent(p, rho, gradients, 0)
	return v
}

// descent is Descent where no row has less room at p than the least; false where no z has that.
func (e *Evaluator) descent(p *Point, rho float64, gradients [][]float64, least float64) (v float64, ok bool) {
	m := e.s
	n := m.Dx + m.Dy + 1 // (z - x)/rho, (y - y*)/rho, and the bound -v
	lp := &exact.LP{N: n}
	size := each.Largest(slices.Concat(gradients...), math.Abs)
	if size == 0 || len(gradients) == 0 {
		return 0, true
	}
	for _, g := range gradients {
		a := zeros(n)
		for j, v := range g {
			a[j] = rounded(v / size)
		}
		a[n-1] = ratio(-1, 1)
		lp.Leq(a, new(big.Rat))
	}
	for j := range m.Dx {
		for _, sign := range []int64{1, -1} {
			a := zeros(n)
			a[j] = ratio(sign, 1)
			lp.Leq(a, ratio(1, 1))
		}
	}
	rows := append(m.leader(), m.Rows...)
	for i, r := range slices.Concat(e.upper, e.lower) {
		room := rows[i].slack(p.X, p.Y) / rho
		a := append(slices.Concat(r.a, r.c), new(big.Rat))
		switch {
		case r.equal:
			lp.Add(a, new(big.Rat), true) // p satisfies it, up to rounding
		case room < 1e9:
			lp.Leq(a, rounded(math.Max(room, least)))
		}
	}
	cost := zeros(n)
	cost[n-1] = ratio(1, 1)
	outcome, _, value := lp.Minimize(cost)
	if outcome != exact.Optimal {
		return 0, false
	}
	return math.Max(0, -size*float(value)), true
}

// rounded is v to 26 binary places, which keeps exact pivots short.
func rounded(v float64) *big.Rat {
	return new(big.Rat).SetFrac(big.NewInt(int64(math.Round(math.Ldexp(v, 26)))), big.NewInt(1<<26))
}

// FallsFar looks for points far out at which F is far below what it is near
// the origin, and goes on falling.
func (e *Evaluator) FallsFar(rng *rand.Rand) bool {
	dx := e.s.Dx
	best := func(radius float64) float64 {
		least := math.Inf(1)
		for range 400 {
			x := make([]float64, dx)
			for j := range x {
				x[j] = radius * (2*rng.Float64() - 1)
				if rng.IntN(3) == 0 {
					x[j] = 0
				}
			}
			if e.OutsideX(x) > 1e-9*radius {
				continue
			}
			if p, ok := e.At(x); ok && p.Violation <= 1e-9*radius && len(p.Y) > 0 {
				least = math.Min(least, p.F)
			}
		}
		return least
	}
	near, mid, out := best(10), best(1e3), best(1e5)
	return mid < near-10 && out < 10*mid
}
