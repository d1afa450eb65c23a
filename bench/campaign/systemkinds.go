package main

import (
	"math"
	"slices"

	"bilevelc/bench/campaign/truth"
	"bilevelc/internal/each"
)

// tolls are prices on some of a follower's ways, who takes the cheapest ones.
func (g *generator) tolls() {
	dx, dy := 1+g.IntN(2), 2+g.IntN(2)
	s := g.System
	s.Dx, s.Dy, s.Whole = dx, dy, make([]bool, dx)
	s.Q, s.P, s.Linear = square(dy), make([][]float64, dx), make([]float64, dy)
	for i := range s.P {
		s.Lo = append(s.Lo, 0)
		s.Hi = append(s.Hi, []float64{5, 20, 1e3, 1e6, 1e9}[g.IntN(5)])
		s.P[i] = make([]float64, dy)
	}
	n := dx + dy
	s.F = truth.Quadratic{C: make([]float64, n), H: square(n)}
	for j := range dy {
		s.Linear[j] = float64(g.IntN(9)) + 1
		for i := range dx {
			if j < dy-1 && (i == j%dx || g.chance(0.3)) {
				s.P[i][j], s.F.H[i][dx+j], s.F.H[dx+j][i] = 1, -1, -1
			}
		}
		g.row(make([]float64, dx), unit(dy, j, -1), 0, 1+j)
	}
	demand := g.positive(5)
	all := slices.Repeat([]float64{1}, dy)
	g.row(make([]float64, dx), all, demand, 0)
	s.Rows[len(s.Rows)-1].Equal = true
	for j := range dy - 1 {
		if g.chance(0.3) {
			g.row(make([]float64, dx), unit(dy, j, 1), g.positive(4), 0)
		}
	}
}

// copies repeats rows, multiplied or added to others: their gradients depend on each other.
func (g *generator) copies() {
	for range 1 + g.IntN(2) {
		i := g.IntN(len(g.Rows))
		r, by := g.Rows[i], float64(1+g.IntN(3))
		other := truth.Linear{A: make([]float64, g.Dx), C: make([]float64, g.Dy)}
		if g.chance(0.5) {
			other = g.Rows[g.IntN(len(g.Rows))]
		}
		if sum := combined(by, r, 1, other); !zero(sum.C) {
			g.add(sum)
		}
	}
}

// wide has boxes of x of 1e3 to 1e9.
func (g *generator) wide() {
	for j := range g.Dx {
		g.Lo[j], g.Hi[j] = -math.Pow10(3+g.IntN(7)), math.Pow10(3+g.IntN(7))
	}
}

// units draws what the model's numbers are in: powers of ten up to most, of either sign.
func (g *generator) units(most int) {
	draw := func(n int) []int {
		return each.Below(n, func(int) int { return g.IntN(2*most+1) - most })
	}
	g.ux, g.uy, g.ur, g.uu = draw(g.Dx), draw(g.Dy), draw(len(g.Rows)), draw(len(g.Upper))
	for j, whole := range g.Whole {
		if whole {
			g.ux[j] = 0
		}
	}
	g.ug = g.IntN(2*most+1) - most
	if g.uf == 0 {
		g.uf = g.IntN(2*most+1) - most
	}
}

// blocks are two or three followers of their own.
func (g *generator) blocks() {
	g.general(g.IntN(3), g.IntN(3))
	for k := range g.Dy {
		g.block = append(g.block, k)
	}
	for i := range g.Rows { // each row is one follower's
		j := g.IntN(g.Dy)
		if g.bound[i] > 0 {
			continue
		}
		if g.Rows[i].C[j] == 0 {
			g.Rows[i].C[j] = 1
		}
		for k := range g.Dy {
			if k != j {
				g.Rows[i].C[k] = 0
			}
		}
	}
	for i := range g.Dy {
		for j := range g.Dy {
			if i != j {
				g.Q[i][j] = 0
			}
		}
	}
	if g.Dy == 3 { // the row that bounds their sum is gone
		for j := range g.Dy {
			g.row(make([]float64, g.Dx), unit(g.Dy, j, 1), 8, 1+j)
		}
	}
}

// equations turns a row into an equation.
func (g *generator) equations() {
	if !slices.Contains(g.bound, 0) {
		g.through(g.within(g.Lo, g.Hi), g.array(g.Dy, 0.7, 2))
	}
	for range 1 + g.IntN(2) {
		if i := g.IntN(len(g.Rows)); g.bound[i] == 0 && !zero(g.Rows[i].C) {
			g.Rows[i].Equal = true
		}
	}
}

// coupled gives the leader rows that read y.
func (g *generator) coupled() {
	x0, y0 := g.within(g.Lo, g.Hi), g.array(g.Dy, 0.7, 3)
	for range 1 + g.IntN(2) {
		a, c := g.array(g.Dx, 0.6, 3), g.array(g.Dy, 0.7, 3)
		c[g.IntN(g.Dy)] = g.sign()
		g.Upper = append(g.Upper, truth.Linear{A: a, C: c, Rhs: decimal(dot(a, x0) + dot(c, y0) + g.gap()), Equal: g.chance(0.1)})
	}
}

// integers makes entries of x whole.
func (g *generator) integers() {
	for j := range g.Dx {
		if g.chance(0.7) || j == 0 {
			g.Whole[j] = true
			if g.chance(0.4) {
				g.Lo[j], g.Hi[j] = 0, 1
			} else {
				g.Lo[j], g.Hi[j] = math.Floor(g.Lo[j]), math.Ceil(g.Hi[j])
			}
		}
	}
}

// duals lets F read multipliers of rows: alone, or times entries of x and y.
func (g *generator) duals() {
	if !slices.Contains(g.bound, 0) {
		g.through(g.within(g.Lo, g.Hi), g.array(g.Dy, 0.7, 2))
	}
	g.grow()
	for i := range g.Rows {
		if g.bound[i] > 0 || g.chance(0.3) {
			continue
		}
		at := g.Dx + g.Dy + i
		if g.chance(0.5) {
			g.F.C[at] = g.number(3)
		} else {
			k, v := g.IntN(g.Dx+g.Dy), g.number(2)
			g.F.H[at][k], g.F.H[k][at] = v, v
		}
	}
}

// degenerate puts more rows through a vertex than it has directions.
func (g *generator) degenerate() {
	x0, y0 := g.within(g.Lo, g.Hi), g.array(g.Dy, 0.7, 3)
	for i := range g.Rows {
		r := &g.Rows[i]
		if g.bound[i] == 0 {
			r.Rhs = decimal(dot(r.A, x0) + dot(r.C, y0))
		} else if v := decimal(r.C[g.bound[i]-1] * y0[g.bound[i]-1]); r.Rhs < v || g.chance(0.3) {
			r.Rhs = v + 0
		}
	}
	for range 2 {
		g.through(x0, y0)
		r := &g.Rows[len(g.Rows)-1]
		r.Rhs = decimal(dot(r.A, x0) + dot(r.C, y0))
	}
}

// contradiction adds rows that most often contradict the others.
func (g *generator) contradiction() {
	r := g.Rows[g.IntN(len(g.Rows))]
	r = combined(-g.positive(3), r, 0, r)
	r.Rhs -= g.positive(3) - float64(g.IntN(2))
	if g.chance(0.5) {
		g.add(r)
	} else {
		r.Rhs = decimal(r.Rhs)
		g.Upper = append(g.Upper, r)
	}
}

// open takes bounds of x away.
func (g *generator) open() {
	for j := range g.Dx {
		if g.chance(0.8) {
			g.Hi[j] = math.Inf(1)
		}
		if g.chance(0.6) {
			g.Lo[j] = math.Inf(-1)
		}
	}
}

// mixed has several of these at a time.
func (g *generator) mixed() {
	g.general(g.IntN(3), g.IntN(4))
	for _, do := range []func(){g.copies, g.wide, g.equations, g.coupled, g.integers, g.degenerate} {
		if g.chance(0.3) {
			do()
		}
	}
	for j, whole := range g.Whole {
		if whole && g.Hi[j]-g.Lo[j] > 20 {
			g.Lo[j], g.Hi[j] = 0, 1
		}
	}
	if g.chance(0.3) {
		g.duals()
	}
	if g.chance(0.3) {
		g.units(4)
	}
}
