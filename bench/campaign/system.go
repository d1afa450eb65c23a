package main

import (
	"math"
	"slices"

	"bilevelc/bench/campaign/truth"
)

// system is a random program with a linear or convex quadratic follower, and how it is put into words.
type system struct {
	*truth.System
	family string
	bound  []int // of each row: 0, or 1+j for a bound of y_j that is part of its box
	block  []int // of each entry of y: its follower
	maxF   bool
	maxG   bool
	turned bool
	vector bool  // arrays in the place of scalars
	tables bool  // data in the place of written-out sums, of arrays
	ux, uy []int // units as powers of ten: the model's x_j is 10^ux[j] times the truth's
	ur     []int // by which rows are multiplied
	uu     []int // and rows of the leader
	uf, ug int
}

// families are what a program may be of. Each draws a whole program.
var families = []struct {
	name string
	draw func(g *generator)
}{
	{"tolls", (*generator).tolls},
	{"linear", func(g *generator) { g.general(0, linearF) }},
	{"linear, quadratic f", func(g *generator) { g.general(0, convexF) }},
	{"linear, bilinear f", func(g *generator) { g.general(0, bilinearF) }},
	{"quadratic", func(g *generator) { g.general(2, linearF) }},
	{"quadratic, convex f", func(g *generator) { g.general(2, convexF) }},
	{"nonconvex f", func(g *generator) { g.general(2*g.IntN(2), indefiniteF) }},
	{"semidefinite", func(g *generator) { g.general(1, g.IntN(3)) }},
	{"biactive", func(g *generator) { g.general(g.IntN(3), g.IntN(2)); g.copies() }},
	{"wide", func(g *generator) { g.general(g.IntN(3), g.IntN(2)); g.wide() }},
	{"units", func(g *generator) { g.general(g.IntN(3), g.IntN(2)); g.units(6) }},
	{"large or small F", func(g *generator) { g.general(g.IntN(3), g.IntN(3)); g.uf = g.IntN(28) - 12 }},
	{"followers", func(g *generator) { g.blocks() }},
	{"equations", func(g *generator) { g.general(g.IntN(3), g.IntN(3)); g.equations() }},
	{"coupled", func(g *generator) { g.general(g.IntN(3), g.IntN(3)); g.coupled() }},
	{"whole", func(g *generator) { g.general(g.IntN(3), g.IntN(2)); g.integers() }},
	{"duals", func(g *generator) { g.general(2*g.IntN(2), linearF); g.duals() }},
	{"degenerate", func(g *generator) { g.general(0, g.IntN(3)); g.degenerate() }},
	{"infeasible", func(g *generator) { g.general(g.IntN(3), g.IntN(2)); g.contradiction() }},
	{"unbounded", func(g *generator) { g.general(2*g.IntN(2), g.IntN(3)); g.open() }},
	{"mixed", (*generator).mixed},
}

// What f may be.
const (
	linearF = iota
	convexF
	bilinearF
	indefiniteF
)

// drawSystem draws the program of a seed.
func drawSystem(seed uint64) *system {
	g := newGenerator(seed, 0x73797374, 8)
	f := families[seed%uint64(len(families))]
	g.family = f.name
	f.draw(g)
	if g.block == nil {
		g.block = make([]int, g.Dy)
	}
	g.grow()
	g.words()
	return g.system
}

// words draws how the program is written, where it is not drawn yet.
func (g *generator) words() {
	g.maxF, g.maxG, g.turned = g.chance(0.3), g.chance(0.2), g.chance(0.2)
	g.vector = g.chance(0.5) && !slices.Contains(g.Whole, true) && slices.Max(g.block) == 0
	if g.chance(0.15) {
		g.units(4)
	}
}

// general draws a program with one follower: kind 0 linear, 1 semidefinite, 2 strictly convex.
func (g *generator) general(kind, f int) {
	dx, dy := 1+g.IntN(2), 1+g.IntN(3)
	s := g.System
	s.Dx, s.Dy = dx, dy
	s.Whole = make([]bool, dx)
	for range dx {
		lo := -g.number(4)
		s.Lo, s.Hi = append(s.Lo, lo), append(s.Hi, decimal(lo+g.positive(8)))
	}
	s.Q, s.P = square(dy), make([][]float64, dx)
	for i := range s.P {
		s.P[i] = make([]float64, dy)
		if g.chance(0.6) {
			s.P[i] = g.array(dy, 0.6, 3)
		}
	}
	s.Linear = g.array(dy, 0.8, 4)
	for range kind { // L L', once of few columns; with the diagonal as well it is definite
		l := g.column(dy)
		for i := range l {
			for j := range l {
				s.Q[i][j] += l[i] * l[j]
			}
		}
	}
	if kind == 2 {
		for j := range dy {
			s.Q[j][j] += g.positive(3)
		}
	}
	x0, y0 := g.within(s.Lo, s.Hi), g.array(dy, 0.7, 3)
	for j := range dy { // bounds of y through or beside y0
		lo, hi := y0[j]-g.gap(), y0[j]+g.gap()+1
		if g.chance(0.5) {
			lo = math.Min(0, lo)
		}
		if kind < 2 || g.chance(0.4) {
			g.row(make([]float64, dx), unit(dy, j, -1), -lo, 1+j)
		}
		if kind < 2 && dy < 3 || g.chance(0.3) {
			g.row(make([]float64, dx), unit(dy, j, 1), hi, 1+j)
		} else if kind < 2 {
			s.Linear[j] = math.Abs(s.Linear[j]) // toward its bound, or capped below
		}
	}
	if kind < 2 && dy == 3 {
		g.row(make([]float64, dx), []float64{1, 1, 1}, y0[0]+y0[1]+y0[2]+g.gap()+1, 0)
	}
	for k := range 1 + g.IntN(3) + g.IntN(2) {
		if k > 0 || len(s.Rows) == 0 {
			g.through(x0, y0)
		}
	}
	g.objective(f)
}

// gap is 0, or not.
func (g *generator) gap() float64 {
	if g.chance(0.3) {
		return 0
	}
	return g.positive(4)
}

// column draws one of L, of integers: what is semidefinite is so in doubles.
func (g *generator) column(n int) []float64 {
	l := make([]float64, n)
	for i := range l {
		if g.chance(0.7) {
			l[i] = float64(g.IntN(5) - 2)
		}
	}
	return l
}

// within is a point of a box, often a corner.
func (g *generator) within(lo, hi []float64) []float64 {
	x := make([]float64, len(lo))
	for j := range x {
		switch g.IntN(5) {
		case 0:
			x[j] = lo[j]
		case 1:
			x[j] = hi[j]
		default:
			x[j] = math.Round((lo[j]+(hi[j]-lo[j])*g.Float64())*10) / 10
		}
	}
	return x
}

// through draws a row that (x0, y0) satisfies.
func (g *generator) through(x0, y0 []float64) {
	c := g.array(g.Dy, 0.7, 3)
	if zero(c) {
		c[g.IntN(len(c))] = 1
	}
	a := g.array(g.Dx, 0.6, 3)
	g.row(a, c, dot(a, x0)+dot(c, y0)+g.gap(), 0)
}

// objective draws F.
func (g *generator) objective(kind int) {
	n := g.Dx + g.Dy
	g.F = truth.Quadratic{C: g.array(n, 0.7, 4)}
	g.F.C[g.Dx+g.IntN(g.Dy)] = g.positive(4) * g.sign()
	h := square(n)
	switch kind {
	case convexF:
		for range 1 + g.IntN(2) {
			l := g.column(n)
			for i := range l {
				for j := range l {
					h[i][j] += l[i] * l[j]
				}
			}
		}
	case bilinearF:
		for i := range g.Dx {
			j := g.Dx + g.IntN(g.Dy)
			v := g.positive(2) * g.sign()
			h[i][j], h[j][i] = v, v
		}
	case indefiniteF:
		for i := range n {
			for j := range i + 1 {
				if g.chance(0.4) {
					v := g.number(2)
					h[i][j], h[j][i] = v, v
				}
			}
		}
	}
	if g.chance(0.2) {
		g.F.Const = g.number(9)
	}
	g.F.H = h
}

// grow gives F a zero for each multiplier; it is called when the rows are drawn.
func (s *system) grow() {
	n := s.Dim()
	for len(s.F.C) < n {
		s.F.C = append(s.F.C, 0)
	}
	for i, row := range s.F.H {
		for len(row) < n {
			row = append(row, 0)
		}
		s.F.H[i] = row
	}
	for len(s.F.H) < n {
		s.F.H = append(s.F.H, make([]float64, n))
	}
}

// strict reports whether the follower's Hessian is definite: else ties have to be broken.
func (s *system) strict() bool { return truth.Definite(s.Q, 1e-9) }

// box are the bounds of y that are part of its declaration.
func (s *system) box() (lo, hi []float64) {
	for range s.Dy {
		lo, hi = append(lo, math.Inf(-1)), append(hi, math.Inf(1))
	}
	for i, k := range s.bound {
		if k == 0 {
			continue
		}
		if c := s.Rows[i].C[k-1]; c > 0 {
			hi[k-1] = math.Min(hi[k-1], s.Rows[i].Rhs/c)
		} else {
			lo[k-1] = math.Max(lo[k-1], s.Rows[i].Rhs/c)
		}
	}
	return lo, hi
}
