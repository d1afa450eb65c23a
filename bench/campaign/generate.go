package main

import (
	"math/big"
	"math/rand/v2"

	"bilevelc/bench/campaign/truth"
	"bilevelc/internal/each"
	"bilevelc/internal/exact"
)

// generator draws programs. Numbers are small decimals, so that rows meet,
// depend on each other and touch exactly, as in models that people write.
type generator struct {
	*rand.Rand
	family string
}

func (g *generator) chance(p float64) bool { return g.Float64() < p }

// integer is a number of -k..k.
func (g *generator) integer(k int) *big.Rat { return truth.Rat(int64(g.IntN(2*k+1)-k), 1) }

// number is a small decimal: an integer, a half, or a tenth.
func (g *generator) number(k int) *big.Rat {
	switch g.IntN(6) {
	case 0:
		return truth.Rat(int64(g.IntN(4*k+1)-2*k), 2)
	case 1:
		return truth.Rat(int64(g.IntN(20*k+1)-10*k), 10)
	}
	return g.integer(k)
}

// positive is number without zero and sign.
func (g *generator) positive(k int) *big.Rat {
	for {
		if v := g.number(k); v.Sign() != 0 {
			return v.Abs(v)
		}
	}
}

func (g *generator) vector(n int, density float64) []*big.Rat {
	v := truth.Zeros(n)
	for j := range v {
		if g.chance(density) {
			v[j] = g.number(3)
		}
	}
	return v
}

func (g *generator) matrix(m, n int, density float64) [][]*big.Rat {
	return each.Below(m, func(int) []*big.Rat { return g.vector(n, density) })
}

// model draws one program of a random family.
func (g *generator) model() *truth.Model {
	if g.chance(0.15) {
		g.family = "network"
		return g.network()
	}
	g.family = "rows"
	m := &truth.Model{}
	m.Dx = 1 + g.IntN(3)
	if g.chance(0.2) {
		m.Dx = 1 + g.IntN(5)
	}
	m.Dy = 1 + g.IntN(min(5, 8-m.Dx))
	g.lowerObjective(m)
	g.upperObjective(m)
	g.sets(m)
	// A point that satisfies the rows to come, so that most programs have one.
	x0, y0 := g.inside(m.XLo, m.XHi), g.inside(m.YLo, m.YHi)
	g.rows(m, x0, y0)
	if g.chance(0.15) {
		g.family = "weak"
		g.cone(m)
	}
	if g.chance(0.2) && g.entire(m) {
		g.family = "smooth"
		g.terms(m)
	}
	if g.chance(0.08) {
		g.upperTerm(m)
	}
	return m
}

// lowerObjective draws a strongly convex quadratic in y, coupled with x.
func (g *generator) lowerObjective(m *truth.Model) {
	m.G = truth.Function{Lx: truth.Zeros(m.Dx), Ly: g.vector(m.Dy, 0.7), Xy: g.matrix(m.Dx, m.Dy, 0.6), Yy: make([][]*big.Rat, m.Dy)}
	for j := range m.Dy {
		m.G.Yy[j] = truth.Zeros(m.Dy)
		m.G.Yy[j][j] = g.positive(3)
		if g.chance(0.05) {
			m.G.Yy[j][j] = truth.Rat(1, 100)
		}
	}
	if g.chance(0.5) { // + L L'
		l := g.matrix(m.Dy, 1+g.IntN(m.Dy), 0.6)
		for i := range m.Dy {
			for j := range m.Dy {
				for k := range l[i] {
					m.G.Yy[i][j].Add(m.G.Yy[i][j], new(big.Rat).Mul(l[i][k], l[j][k]))
				}
			}
		}
	}
	if g.chance(0.2) {
		m.G.Ly = truth.Zeros(m.Dy)
	}
	if g.chance(0.1) {
		m.G.Lx = g.vector(m.Dx, 0.5)
	}
}

// upperObjective draws a linear function, or one with squares and products.
func (g *generator) upperObjective(m *truth.Model) {
	m.F = truth.Function{Lx: g.vector(m.Dx, 0.7), Ly: g.vector(m.Dy, 0.7)}
	if g.chance(0.35) { // linear over a quadratic follower: F has kinks
		m.F.Ly[g.IntN(m.Dy)] = g.positive(3)
		return
	}
	m.F.Yy = make([][]*big.Rat, m.Dy)
	for j := range m.Dy {
		m.F.Yy[j] = truth.Zeros(m.Dy)
		if g.chance(0.8) {
			m.F.Yy[j][j] = g.positive(2)
		}
	}
	m.F.Xx = make([][]*big.Rat, m.Dx)
	for j := range m.Dx {
		m.F.Xx[j] = truth.Zeros(m.Dx)
		if g.chance(0.5) {
			m.F.Xx[j][j] = g.positive(2)
		}
	}
	if g.chance(0.3) {
		m.F.Xy = g.matrix(m.Dx, m.Dy, 0.4)
	}
}

// sets draws the boxes: of x mostly there, of y of any kind, some of zero width.
func (g *generator) sets(m *truth.Model) {
	m.XLo, m.XHi = g.box(m.Dx, 0.08)
	if g.chance(0.06) {
		m.XLo, m.XHi = make([]*big.Rat, m.Dx), make([]*big.Rat, m.Dx)
	}
	m.YLo, m.YHi = make([]*big.Rat, m.Dy), make([]*big.Rat, m.Dy)
	switch g.IntN(4) {
	case 0, 1:
		m.YLo = truth.Zeros(m.Dy)
	case 2:
		m.YLo, m.YHi = g.box(m.Dy, 0.15)
	}
}

func (g *generator) box(n int, closed float64) (lo, hi []*big.Rat) {
	lo, hi = make([]*big.Rat, n), make([]*big.Rat, n)
	whole := g.chance(0.4)
	for j := range n {
		lo[j], hi[j] = truth.Rat(-1, 1), truth.Rat(1, 1)
		if !whole {
			lo[j] = g.number(2)
			hi[j] = new(big.Rat).Add(lo[j], g.positive(3))
		}
		if g.chance(closed) {
			hi[j] = lo[j]
		}
	}
	return lo, hi
}

// inside draws a point of a box, often on its boundary.
func (g *generator) inside(lo, hi []*big.Rat) []*big.Rat {
	out := make([]*big.Rat, len(lo))
	for j := range out {
		switch {
		case lo[j] == nil && hi[j] == nil:
			out[j] = g.number(2)
		case hi[j] == nil:
			out[j] = new(big.Rat).Add(lo[j], truth.Rat(int64(g.IntN(5)), 2))
		default:
			t := truth.Rat(int64(g.IntN(5)), 4)
			out[j] = new(big.Rat).Sub(hi[j], lo[j])
			out[j].Add(lo[j], out[j].Mul(out[j], t))
		}
	}
	return out
}

// rows draws the constraints of both levels: free ones, through a point, in x
// alone, copies and multiples of earlier ones, contradictions now and then.
func (g *generator) rows(m *truth.Model, x0, y0 []*big.Rat) {
	room := func() *big.Rat {
		if g.chance(0.35) {
			return new(big.Rat)
		}
		return g.positive(3)
	}
	bounds := 0
	for j := range m.YLo {
		if m.YLo[j] != nil {
			bounds++
		}
		if m.YHi[j] != nil {
			bounds++
		}
	}
	n := g.IntN(max(1, 10-bounds))
	if n > 5 {
		n = g.IntN(6)
	}
	equalities := 0
	for range n {
		r := truth.Row{A: truth.Zeros(m.Dx), C: g.vector(m.Dy, 0.6)}
		if g.chance(0.5) {
			r.A = g.vector(m.Dx, 0.5)
		}
		if g.chance(0.06) { // reads x alone
			r.A, r.C = g.vector(m.Dx, 0.8), truth.Zeros(m.Dy)
		}
		if g.chance(0.07) { // forces a variable
			j := g.IntN(m.Dy)
			r.A, r.C = truth.Zeros(m.Dx), truth.Zeros(m.Dy)
			r.C[j] = truth.Rat(1, 1)
		}
		r.Rhs = new(big.Rat).Add(exact.Dot(r.A, x0), exact.Dot(r.C, y0))
		if g.chance(0.25) && equalities < m.Dy {
			r.Equal = true
			equalities++
		} else {
			r.Rhs.Add(r.Rhs, room())
		}
		if k := len(m.Rows); k > 0 && g.chance(0.12) { // a multiple of an earlier row
			old, by := m.Rows[g.IntN(k)], g.positive(3)
			r = truth.Row{A: times(old.A, by), C: times(old.C, by), Rhs: new(big.Rat).Mul(old.Rhs, by), Equal: old.Equal}
			if !r.Equal && g.chance(0.3) { // and one that faces it
				r.A, r.C = times(r.A, truth.Rat(-1, 1)), times(r.C, truth.Rat(-1, 1))
				r.Rhs.Neg(r.Rhs)
				if g.chance(0.7) {
					r.Rhs.Add(r.Rhs, g.positive(2))
				}
			}
		} else if k > 1 && g.chance(0.08) { // a sum of two equalities is redundant
			a, b := m.Rows[g.IntN(k)], m.Rows[g.IntN(k)]
			r = truth.Row{A: plus(a.A, b.A), C: plus(a.C, b.C), Rhs: new(big.Rat).Add(a.Rhs, b.Rhs), Equal: a.Equal && b.Equal}
		}
		if g.chance(0.02) {
			r.Rhs.Sub(r.Rhs, g.positive(3)) // the point is cut off: perhaps nothing is left
		}
		if truth.AllZero(r.A) && truth.AllZero(r.C) {
			continue
		}
		m.Rows = append(m.Rows, r)
	}
	for g.chance(0.25) && len(m.XRows) < 3 {
		r := truth.Row{A: g.vector(m.Dx, 0.8)}
		if truth.AllZero(r.A) {
			continue
		}
		r.Rhs = exact.Dot(r.A, x0)
		if g.chance(0.2) && len(m.XRows) < m.Dx-1 {
			r.Equal = true
		} else {
			r.Rhs.Add(r.Rhs, room())
		}
		m.XRows = append(m.XRows, r)
	}
}

func times(v []*big.Rat, by *big.Rat) []*big.Rat {
	return each.Of(v, func(t *big.Rat) *big.Rat { return new(big.Rat).Mul(t, by) })
}

func plus(v, w []*big.Rat) []*big.Rat {
	return each.Below(len(v), func(j int) *big.Rat { return new(big.Rat).Add(v[j], w[j]) })
}

// cone turns the lower level into the projection of C x on the nonnegative
// orthant, or on a polyhedral cone with its apex at a point of X, where every
// row is weakly active at once.
func (g *generator) cone(m *truth.Model) {
	m.Rows = nil
	m.G.Ly, m.G.Lx = truth.Zeros(m.Dy), truth.Zeros(m.Dx)
	m.G.Xy = make([][]*big.Rat, m.Dx)
	for i := range m.G.Xy {
		m.G.Xy[i] = truth.Zeros(m.Dy)
		for j := range m.G.Xy[i] {
			m.G.Xy[i][j] = g.integer(2)
			if j > 0 && g.chance(0.4) { // opposed columns: faces with an empty interior
				m.G.Xy[i][j].Neg(m.G.Xy[i][j-1])
			}
		}
	}
	for j := range m.Dx {
		m.XLo[j], m.XHi[j] = truth.Rat(-1, 1), truth.Rat(1, 1)
	}
	m.XRows = nil
	for j := range m.Dy {
		m.YLo[j], m.YHi[j] = new(big.Rat), nil
	}
	if g.chance(0.4) && m.Dy > 1 {
		r := truth.Row{A: truth.Zeros(m.Dx), C: g.vector(m.Dy, 0.8), Rhs: new(big.Rat)}
		if !truth.AllZero(r.C) {
			m.Rows = append(m.Rows, r)
		}
	}
}

// entire tells whether terms may be added: y's bounds leave room.
func (g *generator) entire(m *truth.Model) bool {
	for j := range m.YLo {
		if m.YLo[j] != nil && m.YHi[j] != nil && m.YLo[j].Cmp(m.YHi[j]) == 0 {
			return false
		}
	}
	return true
}

// terms adds smooth convex terms to the lower objective.
func (g *generator) terms(m *truth.Model) {
	for range 1 + g.IntN(2) {
		t := truth.Term{Weight: g.positive(2), A: truth.Zeros(m.Dx), C: truth.Zeros(m.Dy), Const: new(big.Rat)}
		j := g.IntN(m.Dy)
		t.C[j] = truth.Rat(int64(2*g.IntN(2)-1), 1)
		switch k := g.IntN(4); {
		case k == 0 && m.YLo[j] != nil && m.YLo[j].Sign() == 0:
			t.Kind = truth.Entropy
			t.C[j] = truth.Rat(1, 1)
		case k == 1:
			t.Kind = truth.Exp
		case k == 2:
			t.Kind = truth.Sqrt1
		default:
			t.Kind = truth.Softplus
		}
		if t.Kind != truth.Entropy {
			if g.chance(0.5) {
				t.A[g.IntN(m.Dx)] = g.integer(1)
			}
			if g.chance(0.3) && m.Dy > 1 {
				t.C[(j+1)%m.Dy] = g.integer(1)
			}
		}
		m.G.Terms = append(m.G.Terms, t)
	}
}

// upperTerm adds a smooth term to the upper objective.
func (g *generator) upperTerm(m *truth.Model) {
	t := truth.Term{Kind: []truth.Kind{truth.Exp, truth.Softplus, truth.Sqrt1}[g.IntN(3)], Weight: g.positive(2),
		A: truth.Zeros(m.Dx), C: truth.Zeros(m.Dy), Const: g.number(1)}
	t.C[g.IntN(m.Dy)] = g.integer(1)
	t.A[g.IntN(m.Dx)] = g.integer(1)
	m.F.Terms = append(m.F.Terms, t)
}

// network draws tolls on a small flow network: the follower routes one unit or
// more at least cost, arcs have capacities, some are closed, and the balance
// rows of all nodes are stated, one of which is redundant.
func (g *generator) network() *truth.Model {
	nodes := 3 + g.IntN(2)
	type arc struct{ from, to int }
	var arcs []arc
	for k := range nodes - 1 { // a path, so that the demand can be met
		arcs = append(arcs, arc{k, k + 1})
	}
	for range 2 + g.IntN(2) {
		from, to := g.IntN(nodes), g.IntN(nodes)
		if from != to {
			arcs = append(arcs, arc{from, to})
		}
	}
	m := &truth.Model{Dy: len(arcs)}
	m.Dx = 1 + g.IntN(min(3, 8-m.Dy, m.Dy))
	demand := truth.Rat(int64(1+g.IntN(3)), 1)
	zero := func() []*big.Rat { return truth.Zeros(m.Dy) }
	m.G = truth.Function{Lx: truth.Zeros(m.Dx), Ly: zero(), Xy: make([][]*big.Rat, m.Dx), Yy: make([][]*big.Rat, m.Dy)}
	m.F = truth.Function{Lx: truth.Zeros(m.Dx), Ly: zero(), Xy: make([][]*big.Rat, m.Dx)}
	for j := range arcs {
		m.G.Yy[j] = zero()
		m.G.Yy[j][j] = g.positive(2)
		m.G.Ly[j] = truth.Rat(int64(g.IntN(4)), 1)
	}
	tolls := g.Perm(m.Dy)
	for i := range m.Dx {
		m.G.Xy[i], m.F.Xy[i] = zero(), zero()
		m.G.Xy[i][tolls[i]] = truth.Rat(1, 1)
		m.F.Xy[i][tolls[i]] = truth.Rat(-1, 1) // revenue
		m.XLo = append(m.XLo, new(big.Rat))
		m.XHi = append(m.XHi, truth.Rat(int64(1+g.IntN(4)), 1))
	}
	if g.chance(0.4) {
		m.F.Ly = g.vector(m.Dy, 0.5)
	}
	for j := range arcs {
		m.YLo = append(m.YLo, new(big.Rat))
		high := truth.Rat(int64(1+g.IntN(4)), 1)
		if j >= nodes-1 && g.chance(0.3) {
			high = new(big.Rat) // closed
		} else if j < nodes-1 && high.Cmp(demand) < 0 && !g.chance(0.15) {
			high = demand // the path may be just wide enough
		}
		m.YHi = append(m.YHi, high)
	}
	for n := range nodes {
		r := truth.Row{A: truth.Zeros(m.Dx), C: zero(), Rhs: new(big.Rat), Equal: true}
		for j, a := range arcs {
			if a.from == n {
				r.C[j].Add(r.C[j], truth.Rat(1, 1))
			}
			if a.to == n {
				r.C[j].Sub(r.C[j], truth.Rat(1, 1))
			}
		}
		switch n {
		case 0:
			r.Rhs.Set(demand)
		case nodes - 1:
			r.Rhs.Neg(demand)
		}
		m.Rows = append(m.Rows, r)
	}
	return m
}
