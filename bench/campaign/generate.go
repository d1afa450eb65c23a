package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"bilevelc/bench/campaign/truth"
	"bilevelc/internal/each"
)

// generator draws programs. Numbers are small decimals, so that rows meet,
// depend on each other and touch exactly, as in models that people write.
type generator struct {
	*rand.Rand
	*system
	odds     int       // of halves and of tenths, one each
	yLo, yHi []float64 // of programs that are examined, until their rows are drawn
}

// newGenerator draws by a seed from a stream of its own.
func newGenerator(seed, stream uint64, odds int) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, stream)), system: &system{System: &truth.System{}}, odds: odds}
}

func (g *generator) chance(p float64) bool { return g.Float64() < p }

// integer is a number of -k..k.
func (g *generator) integer(k int) float64 { return float64(g.IntN(2*k+1) - k) }

// number is a decimal of few digits: most often an integer, now and then a half, or tenths.
func (g *generator) number(k int) float64 {
	switch g.IntN(g.odds) {
	case 0:
		return g.integer(2*k) / 2
	case 1:
		return g.integer(10*k) / 10
	}
	return g.integer(k)
}

// positive is number without zero and sign.
func (g *generator) positive(k int) float64 {
	for {
		if v := math.Abs(g.number(k)); v > 0 {
			return v
		}
	}
}

// sign is 1 or -1.
func (g *generator) sign() float64 { return float64(1 - 2*g.IntN(2)) }

func (g *generator) array(n int, density float64, k int) []float64 {
	return each.Below(n, func(int) float64 {
		if g.chance(density) {
			return g.number(k)
		}
		return 0
	})
}

func (g *generator) entries(n int, density float64) []float64 { return g.array(n, density, 3) }

func (g *generator) matrix(m, n int, density float64) [][]float64 {
	return each.Below(m, func(int) []float64 { return g.entries(n, density) })
}

// row adds an inequality of the follower; bound is 1+j for a bound of y_j that is part of its box.
func (g *generator) row(a, c []float64, rhs float64, bound int) {
	g.Rows, g.bound = append(g.Rows, truth.Linear{A: a, C: c, Rhs: decimal(rhs)}), append(g.bound, bound)
}

// add adds a row of the follower that is no bound.
func (g *generator) add(r truth.Linear) {
	r.Rhs = fine(r.Rhs)
	g.Rows, g.bound = append(g.Rows, r), append(g.bound, 0)
}

// rounded rounds what is made of decimals by sums and products back to one of n places.
func rounded(v float64, n int) float64 {
	t, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'f', n, 64), 64)
	return t + 0
}

func decimal(v float64) float64 { return rounded(v, 4) }

// fine is a decimal that multiples of multiples are.
func fine(v float64) float64 { return rounded(v, 9) }

func unit(n, j int, v float64) []float64 {
	e := make([]float64, n)
	e[j] = v
	return e
}

func square(n int) [][]float64 {
	return each.Below(n, func(int) []float64 { return make([]float64, n) })
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func zero(v []float64) bool {
	return !slices.ContainsFunc(v, func(t float64) bool { return t != 0 })
}

// combined is u a + v b of two rows.
func combined(u float64, a truth.Linear, v float64, b truth.Linear) truth.Linear {
	sum := func(a, b []float64) []float64 {
		return each.Below(len(a), func(j int) float64 { return fine(u*a[j] + v*b[j]) })
	}
	return truth.Linear{A: sum(a.A, b.A), C: sum(a.C, b.C), Rhs: fine(u*a.Rhs + v*b.Rhs)}
}

// model draws one program of a random family that is examined (examine.go).
func (g *generator) model() {
	if g.chance(0.15) {
		g.family = "network"
		g.network()
		return
	}
	g.family = "rows"
	g.Dx = 1 + g.IntN(3)
	if g.chance(0.2) {
		g.Dx = 1 + g.IntN(5)
	}
	g.Dy = 1 + g.IntN(min(5, 8-g.Dx))
	g.lowerObjective()
	g.upperObjective()
	g.sets()
	// A point that satisfies the rows to come, so that most programs have one.
	x0, y0 := g.inside(g.Lo, g.Hi), g.inside(g.yLo, g.yHi)
	g.constraints(x0, y0)
	if g.chance(0.15) {
		g.family = "weak"
		g.cone()
	}
	if g.chance(0.2) && g.entire() {
		g.family = "smooth"
		g.terms()
	}
	if g.chance(0.08) {
		g.upperTerm()
	}
}

// finish gives the box of y to the rows, which are drawn.
func (g *generator) finish() *system {
	g.vector, g.Whole, g.block = true, make([]bool, g.Dx), make([]int, g.Dy)
	for j := range g.Dy {
		if lo := g.yLo[j]; !math.IsInf(lo, -1) {
			g.row(make([]float64, g.Dx), unit(g.Dy, j, -1), -lo, 1+j)
		}
		if hi := g.yHi[j]; !math.IsInf(hi, 1) {
			g.row(make([]float64, g.Dx), unit(g.Dy, j, 1), hi, 1+j)
		}
	}
	g.grow()
	return g.system
}

// lowerObjective draws a strongly convex quadratic in y, coupled with x.
func (g *generator) lowerObjective() {
	g.Linear, g.P, g.Q = g.entries(g.Dy, 0.7), g.matrix(g.Dx, g.Dy, 0.6), square(g.Dy)
	for j := range g.Dy {
		g.Q[j][j] = g.positive(3)
		if g.chance(0.05) {
			g.Q[j][j] = 0.01
		}
	}
	if g.chance(0.5) { // + L L'
		l := g.matrix(g.Dy, 1+g.IntN(g.Dy), 0.6)
		for i := range g.Dy {
			for j := range g.Dy {
				g.Q[i][j] = decimal(g.Q[i][j] + dot(l[i], l[j]))
			}
		}
	}
	if g.chance(0.2) {
		g.Linear = make([]float64, g.Dy)
	}
	if g.chance(0.1) {
		g.OfX = g.entries(g.Dx, 0.5)
	}
}

// upperObjective draws a linear function, or one with squares and products.
func (g *generator) upperObjective() {
	n := g.Dx + g.Dy
	g.F = truth.Quadratic{C: g.entries(n, 0.7), H: square(n)}
	if g.chance(0.35) { // linear over a quadratic follower: F has kinks
		g.F.C[g.Dx+g.IntN(g.Dy)] = g.positive(3)
		return
	}
	for j := g.Dx; j < n; j++ {
		if g.chance(0.8) {
			g.F.H[j][j] = g.positive(2)
		}
	}
	for j := range g.Dx {
		if g.chance(0.5) {
			g.F.H[j][j] = g.positive(2)
		}
	}
	if g.chance(0.3) {
		for i, row := range g.matrix(g.Dx, g.Dy, 0.4) {
			for j, v := range row {
				g.F.H[i][g.Dx+j], g.F.H[g.Dx+j][i] = v, v
			}
		}
	}
}

// sets draws the boxes: of x mostly there, of y of any kind, some of zero width.
func (g *generator) sets() {
	g.Lo, g.Hi = g.box(g.Dx, 0.08)
	if g.chance(0.06) {
		g.Lo, g.Hi = free(g.Dx)
	}
	g.yLo, g.yHi = free(g.Dy)
	switch g.IntN(4) {
	case 0, 1:
		g.yLo = make([]float64, g.Dy)
	case 2:
		g.yLo, g.yHi = g.box(g.Dy, 0.15)
	}
}

func free(n int) (lo, hi []float64) {
	return slices.Repeat([]float64{math.Inf(-1)}, n), slices.Repeat([]float64{math.Inf(1)}, n)
}

func (g *generator) box(n int, closed float64) (lo, hi []float64) {
	lo, hi = slices.Repeat([]float64{-1}, n), slices.Repeat([]float64{1}, n)
	whole := g.chance(0.4)
	for j := range n {
		if !whole {
			lo[j] = g.number(2)
			hi[j] = decimal(lo[j] + g.positive(3))
		}
		if g.chance(closed) {
			hi[j] = lo[j]
		}
	}
	return lo, hi
}

// inside draws a point of a box, often on its boundary.
func (g *generator) inside(lo, hi []float64) []float64 {
	return each.Below(len(lo), func(j int) float64 {
		switch {
		case math.IsInf(lo[j], -1):
			return g.number(2)
		case math.IsInf(hi[j], 1):
			return lo[j] + float64(g.IntN(5))/2
		}
		return decimal(lo[j] + (hi[j]-lo[j])*float64(g.IntN(5))/4)
	})
}

// constraints draws the rows of both levels: free ones, through a point, in x
// alone, copies and multiples of earlier ones, contradictions now and then.
func (g *generator) constraints(x0, y0 []float64) {
	room := func() float64 {
		if g.chance(0.35) {
			return 0
		}
		return g.positive(3)
	}
	bounds := len(each.Where(slices.Concat(g.yLo, g.yHi), func(v float64) bool { return !math.IsInf(v, 0) }))
	n := g.IntN(max(1, 10-bounds))
	if n > 5 {
		n = g.IntN(6)
	}
	equalities := 0
	for range n {
		r := truth.Linear{A: make([]float64, g.Dx), C: g.entries(g.Dy, 0.6)}
		if g.chance(0.5) {
			r.A = g.entries(g.Dx, 0.5)
		}
		if g.chance(0.06) { // reads x alone
			r.A, r.C = g.entries(g.Dx, 0.8), make([]float64, g.Dy)
		}
		if g.chance(0.07) { // forces a variable
			r.A, r.C = make([]float64, g.Dx), unit(g.Dy, g.IntN(g.Dy), 1)
		}
		r.Rhs = dot(r.A, x0) + dot(r.C, y0)
		if g.chance(0.25) && equalities < g.Dy {
			r.Equal = true
			equalities++
		} else {
			r.Rhs += room()
		}
		if k := len(g.Rows); k > 0 && g.chance(0.12) { // a multiple of an earlier row
			old, by := g.Rows[g.IntN(k)], g.positive(3)
			r = combined(by, old, 0, old)
			if r.Equal = old.Equal; !r.Equal && g.chance(0.3) { // and one that faces it
				r = combined(-by, old, 0, old)
				if g.chance(0.7) {
					r.Rhs += g.positive(2)
				}
			}
		} else if k > 1 && g.chance(0.08) { // a sum of two equalities is redundant
			a, b := g.Rows[g.IntN(k)], g.Rows[g.IntN(k)]
			r = combined(1, a, 1, b)
			r.Equal = a.Equal && b.Equal
		}
		if g.chance(0.02) {
			r.Rhs -= g.positive(3) // the point is cut off: perhaps nothing is left
		}
		if !zero(r.A) || !zero(r.C) {
			g.add(r)
		}
	}
	for g.chance(0.25) && len(g.Upper) < 3 {
		r := truth.Linear{A: g.entries(g.Dx, 0.8), C: make([]float64, g.Dy)}
		if zero(r.A) {
			continue
		}
		r.Rhs = dot(r.A, x0)
		if g.chance(0.2) && len(g.Upper) < g.Dx-1 {
			r.Equal = true
		} else {
			r.Rhs += room()
		}
		r.Rhs = fine(r.Rhs)
		g.Upper = append(g.Upper, r)
	}
}

// cone turns the lower level into the projection of C x on the nonnegative
// orthant, or on a polyhedral cone with its apex at a point of X, where every
// row is weakly active at once.
func (g *generator) cone() {
	g.Rows, g.bound, g.Upper = nil, nil, nil
	g.Linear, g.OfX = make([]float64, g.Dy), nil
	for _, row := range g.P {
		for j := range row {
			row[j] = g.integer(2)
			if j > 0 && g.chance(0.4) { // opposed columns: faces with an empty interior
				row[j] = -row[j-1] + 0
			}
		}
	}
	for j := range g.Dx {
		g.Lo[j], g.Hi[j] = -1, 1
	}
	_, g.yHi = free(g.Dy)
	g.yLo = make([]float64, g.Dy)
	if g.chance(0.4) && g.Dy > 1 {
		if c := g.entries(g.Dy, 0.8); !zero(c) {
			g.row(make([]float64, g.Dx), c, 0, 0)
		}
	}
}

// entire tells whether terms may be added: y's bounds leave room.
func (g *generator) entire() bool {
	for j := range g.Dy {
		if g.yLo[j] == g.yHi[j] {
			return false
		}
	}
	return true
}

// terms adds smooth convex terms to the lower objective.
func (g *generator) terms() {
	for range 1 + g.IntN(2) {
		t := truth.Term{Weight: g.positive(2), A: make([]float64, g.Dx), C: make([]float64, g.Dy)}
		j := g.IntN(g.Dy)
		t.C[j] = -g.sign()
		switch k := g.IntN(4); {
		case k == 0 && g.yLo[j] == 0:
			t.Kind = truth.Entropy
			t.C[j] = 1
		case k == 1:
			t.Kind = truth.Exp
		case k == 2:
			t.Kind = truth.Sqrt1
		default:
			t.Kind = truth.Softplus
		}
		if t.Kind != truth.Entropy {
			if g.chance(0.5) {
				t.A[g.IntN(g.Dx)] = g.integer(1)
			}
			if g.chance(0.3) && g.Dy > 1 {
				t.C[(j+1)%g.Dy] = g.integer(1)
			}
		}
		g.LowerTerms = append(g.LowerTerms, t)
	}
}

// upperTerm adds a smooth term to the upper objective.
func (g *generator) upperTerm() {
	t := truth.Term{Kind: []truth.Kind{truth.Exp, truth.Softplus, truth.Sqrt1}[g.IntN(3)], Weight: g.positive(2), Const: g.number(1)}
	t.C = unit(g.Dy, g.IntN(g.Dy), g.integer(1))
	t.A = unit(g.Dx, g.IntN(g.Dx), g.integer(1))
	g.UpperTerms = append(g.UpperTerms, t)
}

// network draws tolls on a small flow network: the follower routes one unit or
// more at least cost, arcs have capacities, some are closed, and the balance
// rows of all nodes are stated, one of which is redundant.
func (g *generator) network() {
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
	g.Dy = len(arcs)
	g.Dx = 1 + g.IntN(min(3, 8-g.Dy, g.Dy))
	n := g.Dx + g.Dy
	demand := float64(1 + g.IntN(3))
	g.Linear, g.Q, g.P = make([]float64, g.Dy), square(g.Dy), square(g.Dy)[:g.Dx]
	g.F = truth.Quadratic{C: make([]float64, n), H: square(n)}
	for j := range arcs {
		g.Q[j][j] = g.positive(2)
		g.Linear[j] = float64(g.IntN(4))
	}
	tolls := g.Perm(g.Dy)
	for i := range g.Dx {
		j := g.Dx + tolls[i]
		g.P[i][tolls[i]], g.F.H[i][j], g.F.H[j][i] = 1, -1, -1 // revenue
		g.Lo, g.Hi = append(g.Lo, 0), append(g.Hi, float64(1+g.IntN(4)))
	}
	if g.chance(0.4) {
		copy(g.F.C[g.Dx:], g.entries(g.Dy, 0.5))
	}
	for j := range arcs {
		high := float64(1 + g.IntN(4))
		if j >= nodes-1 && g.chance(0.3) {
			high = 0 // closed
		} else if j < nodes-1 && high < demand && !g.chance(0.15) {
			high = demand // the path may be just wide enough
		}
		g.yLo, g.yHi = append(g.yLo, 0), append(g.yHi, high)
	}
	for n := range nodes {
		r := truth.Linear{A: make([]float64, g.Dx), C: make([]float64, g.Dy), Rhs: map[int]float64{0: demand, nodes - 1: -demand}[n], Equal: true}
		for j, a := range arcs {
			if a.from == n {
				r.C[j]++
			}
			if a.to == n {
				r.C[j]--
			}
		}
		g.add(r)
	}
}
