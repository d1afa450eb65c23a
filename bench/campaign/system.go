package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

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
	ux, uy []int // units as powers of ten: the model's x_j is 10^ux[j] times the truth's
	ur     []int // by which rows are multiplied
	uu     []int // and rows of the leader
	uf, ug int
}

// systems draws programs of the families below.
type systems struct {
	*rand.Rand
	*system
}

func (g *systems) chance(p float64) bool { return g.Float64() < p }

// small is a decimal of few digits, most often an integer.
func (g *systems) small(k int) float64 {
	switch g.IntN(8) {
	case 0:
		return float64(g.IntN(4*k+1)-2*k) / 2
	case 1:
		return float64(g.IntN(20*k+1)-10*k) / 10
	}
	return float64(g.IntN(2*k+1) - k)
}

func (g *systems) positive(k int) float64 {
	for {
		if v := math.Abs(g.small(k)); v > 0 {
			return v
		}
	}
}

func (g *systems) array(n int, density float64, k int) []float64 {
	v := make([]float64, n)
	for j := range v {
		if g.chance(density) {
			v[j] = g.small(k)
		}
	}
	return v
}

// families are what a program may be of. Each draws a whole program.
var families = []struct {
	name string
	draw func(g *systems)
}{
	{"tolls", (*systems).tolls},
	{"linear", func(g *systems) { g.general(0, linearF) }},
	{"linear, quadratic f", func(g *systems) { g.general(0, convexF) }},
	{"linear, bilinear f", func(g *systems) { g.general(0, bilinearF) }},
	{"quadratic", func(g *systems) { g.general(2, linearF) }},
	{"quadratic, convex f", func(g *systems) { g.general(2, convexF) }},
	{"nonconvex f", func(g *systems) { g.general(2*g.IntN(2), indefiniteF) }},
	{"semidefinite", func(g *systems) { g.general(1, g.IntN(3)) }},
	{"biactive", func(g *systems) { g.general(g.IntN(3), g.IntN(2)); g.copies() }},
	{"wide", func(g *systems) { g.general(g.IntN(3), g.IntN(2)); g.wide() }},
	{"units", func(g *systems) { g.general(g.IntN(3), g.IntN(2)); g.units(6) }},
	{"large or small F", func(g *systems) { g.general(g.IntN(3), g.IntN(3)); g.uf = g.IntN(28) - 12 }},
	{"followers", func(g *systems) { g.blocks() }},
	{"equations", func(g *systems) { g.general(g.IntN(3), g.IntN(3)); g.equations() }},
	{"coupled", func(g *systems) { g.general(g.IntN(3), g.IntN(3)); g.coupled() }},
	{"whole", func(g *systems) { g.general(g.IntN(3), g.IntN(2)); g.integers() }},
	{"duals", func(g *systems) { g.general(2*g.IntN(2), linearF); g.duals() }},
	{"degenerate", func(g *systems) { g.general(0, g.IntN(3)); g.degenerate() }},
	{"infeasible", func(g *systems) { g.general(g.IntN(3), g.IntN(2)); g.contradiction() }},
	{"unbounded", func(g *systems) { g.general(2*g.IntN(2), g.IntN(3)); g.open() }},
	{"mixed", (*systems).mixed},
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
	g := &systems{Rand: rand.New(rand.NewPCG(seed, 0x73797374)), system: &system{System: &truth.System{}}}
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
func (g *systems) words() {
	g.maxF, g.maxG, g.turned = g.chance(0.3), g.chance(0.2), g.chance(0.2)
	g.vector = g.chance(0.5) && !slices.Contains(g.Whole, true) && slices.Max(g.block) == 0
	if g.chance(0.15) {
		g.units(4)
	}
}

// general draws a program with one follower: kind 0 linear, 1 semidefinite, 2 strictly convex.
func (g *systems) general(kind, f int) {
	dx, dy := 1+g.IntN(2), 1+g.IntN(3)
	s := g.System
	s.Dx, s.Dy = dx, dy
	s.Whole = make([]bool, dx)
	for range dx {
		lo := -g.small(4)
		s.Lo, s.Hi = append(s.Lo, lo), append(s.Hi, lo+g.positive(8))
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
func (g *systems) gap() float64 {
	if g.chance(0.3) {
		return 0
	}
	return g.positive(4)
}

// column draws one of L, of integers: what is semidefinite is so in doubles.
func (g *systems) column(n int) []float64 {
	l := make([]float64, n)
	for i := range l {
		if g.chance(0.7) {
			l[i] = float64(g.IntN(5) - 2)
		}
	}
	return l
}

func unit(n, j int, v float64) []float64 {
	e := make([]float64, n)
	e[j] = v
	return e
}

func square(n int) [][]float64 {
	m := make([][]float64, n)
	for i := range m {
		m[i] = make([]float64, n)
	}
	return m
}

// within is a point of a box, often a corner.
func (g *systems) within(lo, hi []float64) []float64 {
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

func (g *systems) row(a, c []float64, rhs float64, bound int) {
	g.Rows = append(g.Rows, truth.Linear{A: a, C: c, Rhs: decimal(rhs)})
	g.bound = append(g.bound, bound)
}

// decimal rounds what is a sum of products of decimals back to one.
func decimal(v float64) float64 {
	t, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'f', 4, 64), 64)
	return t + 0
}

// through draws a row that (x0, y0) satisfies.
func (g *systems) through(x0, y0 []float64) {
	c := g.array(g.Dy, 0.7, 3)
	if !slices.ContainsFunc(c, func(v float64) bool { return v != 0 }) {
		c[g.IntN(len(c))] = 1
	}
	a := g.array(g.Dx, 0.6, 3)
	g.row(a, c, dot(a, x0)+dot(c, y0)+g.gap(), 0)
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// objective draws F.
func (g *systems) objective(kind int) {
	n := g.Dx + g.Dy
	g.F = truth.Quadratic{C: g.array(n, 0.7, 4)}
	g.F.C[g.Dx+g.IntN(g.Dy)] = g.positive(4) * float64(1-2*g.IntN(2))
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
			v := g.positive(2) * float64(1-2*g.IntN(2))
			h[i][j], h[j][i] = v, v
		}
	case indefiniteF:
		for i := range n {
			for j := range i + 1 {
				if g.chance(0.4) {
					v := g.small(2)
					h[i][j], h[j][i] = v, v
				}
			}
		}
	}
	if g.chance(0.2) {
		g.F.Const = g.small(9)
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

// tolls are prices on some of a follower's ways, who takes the cheapest ones.
func (g *systems) tolls() {
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
	all := make([]float64, dy)
	for j := range all {
		all[j] = 1
	}
	g.row(make([]float64, dx), all, demand, 0)
	s.Rows[len(s.Rows)-1].Equal = true
	for j := range dy - 1 {
		if g.chance(0.3) {
			g.row(make([]float64, dx), unit(dy, j, 1), g.positive(4), 0)
		}
	}
}

// copies repeats rows, multiplied or added to others: their gradients depend on each other.
func (g *systems) copies() {
	for range 1 + g.IntN(2) {
		i := g.IntN(len(g.Rows))
		r, by := g.Rows[i], float64(1+g.IntN(3))
		a, c := make([]float64, g.Dx), make([]float64, g.Dy)
		other := truth.Linear{A: make([]float64, g.Dx), C: make([]float64, g.Dy)}
		if g.chance(0.5) {
			other = g.Rows[g.IntN(len(g.Rows))]
		}
		for j := range a {
			a[j] = decimal(by*r.A[j] + other.A[j])
		}
		for j := range c {
			c[j] = decimal(by*r.C[j] + other.C[j])
		}
		if slices.ContainsFunc(c, func(v float64) bool { return v != 0 }) {
			g.row(a, c, by*r.Rhs+other.Rhs, 0)
		}
	}
}

// wide has boxes of x of 1e3 to 1e9.
func (g *systems) wide() {
	for j := range g.Dx {
		g.Lo[j], g.Hi[j] = -math.Pow10(3+g.IntN(7)), math.Pow10(3+g.IntN(7))
	}
}

// units draws what the model's numbers are in: powers of ten up to most, of either sign.
func (g *systems) units(most int) {
	draw := func(n int) []int {
		u := make([]int, n)
		for i := range u {
			u[i] = g.IntN(2*most+1) - most
		}
		return u
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
func (g *systems) blocks() {
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
func (g *systems) equations() {
	if !slices.Contains(g.bound, 0) {
		g.through(g.within(g.Lo, g.Hi), g.array(g.Dy, 0.7, 2))
	}
	for range 1 + g.IntN(2) {
		if i := g.IntN(len(g.Rows)); g.bound[i] == 0 && slices.ContainsFunc(g.Rows[i].C, func(v float64) bool { return v != 0 }) {
			g.Rows[i].Equal = true
		}
	}
}

// coupled gives the leader rows that read y.
func (g *systems) coupled() {
	x0, y0 := g.within(g.Lo, g.Hi), g.array(g.Dy, 0.7, 3)
	for range 1 + g.IntN(2) {
		a, c := g.array(g.Dx, 0.6, 3), g.array(g.Dy, 0.7, 3)
		c[g.IntN(g.Dy)] = float64(1 - 2*g.IntN(2))
		g.Upper = append(g.Upper, truth.Linear{A: a, C: c, Rhs: decimal(dot(a, x0) + dot(c, y0) + g.gap()), Equal: g.chance(0.1)})
	}
}

// integers makes entries of x whole.
func (g *systems) integers() {
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
func (g *systems) duals() {
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
			g.F.C[at] = g.small(3)
		} else {
			k, v := g.IntN(g.Dx+g.Dy), g.small(2)
			g.F.H[at][k], g.F.H[k][at] = v, v
		}
	}
}

// degenerate puts more rows through a vertex than it has directions.
func (g *systems) degenerate() {
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
func (g *systems) contradiction() {
	r := g.Rows[g.IntN(len(g.Rows))]
	by := g.positive(3)
	a, c := make([]float64, g.Dx), make([]float64, g.Dy)
	for j := range a {
		a[j] = decimal(-by * r.A[j])
	}
	for j := range c {
		c[j] = decimal(-by * r.C[j])
	}
	rhs := decimal(-by*r.Rhs - g.positive(3) + []float64{0, 1}[g.IntN(2)])
	if g.chance(0.5) {
		g.row(a, c, rhs, 0)
	} else {
		g.Upper = append(g.Upper, truth.Linear{A: a, C: c, Rhs: rhs})
	}
}

// open takes bounds of x away.
func (g *systems) open() {
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
func (g *systems) mixed() {
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

// strict reports whether the follower's Hessian is definite: else ties have to be broken.
func (s *system) strict() bool {
	for j := range s.Dy {
		for k := range j {
			if s.Q[j][k] != 0 {
				return s.definite()
			}
		}
		if s.Q[j][j] <= 0 {
			return false
		}
	}
	return true
}

func (s *system) definite() bool {
	a := square(s.Dy)
	for i := range a {
		copy(a[i], s.Q[i])
	}
	for p := range a {
		if a[p][p] < 1e-9 {
			return false
		}
		for i := p + 1; i < len(a); i++ {
			for j := p + 1; j < len(a); j++ {
				a[i][j] -= a[i][p] * a[p][j] / a[p][p]
			}
		}
	}
	return true
}

// decimalLiteral is v * 10^exponent.
func decimalLiteral(v float64, exponent int) string {
	t := strconv.FormatFloat(v, 'f', -1, 64)
	if exponent != 0 && v != 0 && !math.IsInf(v, 0) {
		t += fmt.Sprintf("e%d", exponent)
	}
	if math.IsInf(v, 0) {
		t = map[bool]string{true: "inf", false: "-inf"}[v > 0]
	}
	return t
}

// at is an element of units, of which there may be none.
func at(u []int, i int) int {
	if i < len(u) {
		return u[i]
	}
	return 0
}

func (s *system) x(j int) string { return s.name("x", j) }
func (s *system) y(j int) string { return s.name("y", j) }

func (s *system) name(v string, j int) string {
	if s.vector {
		return fmt.Sprintf("%s[%d]", v, j+1)
	}
	return fmt.Sprintf("%s%d", v, j+1)
}

// sum joins terms, each a coefficient in front of a product.
type sumText struct{ strings.Builder }

func (t *sumText) add(v float64, exponent int, product string) {
	if v == 0 {
		return
	}
	sign := " + "
	if v < 0 {
		sign = " - "
	}
	if t.Len() == 0 {
		sign = strings.TrimSpace(strings.TrimLeft(sign, " +"))
	}
	t.WriteString(sign)
	word := decimalLiteral(math.Abs(v), exponent)
	switch {
	case product == "":
		t.WriteString(word)
	case word == "1":
		t.WriteString(product)
	default:
		t.WriteString(word + " * " + product)
	}
}

func (t *sumText) text() string {
	if t.Len() == 0 {
		return "0"
	}
	return t.String()
}

// text is the model.
func (s *system) text() string {
	var b strings.Builder
	b.WriteString("model m\nupper {\n")
	if s.vector {
		fmt.Fprintf(&b, "  var x: vector[%d]%s\n", s.Dx, s.set(s.Lo, s.Hi, s.ux))
	} else {
		for j := range s.Dx {
			kind := "real"
			set := s.interval(s.Lo[j], s.Hi[j], at(s.ux, j))
			switch {
			case s.Whole[j] && s.Lo[j] == 0 && s.Hi[j] == 1:
				kind, set = "binary", ""
			case s.Whole[j]:
				kind = "integer"
			}
			fmt.Fprintf(&b, "  var x%d: %s%s\n", j+1, kind, set)
		}
	}
	word := map[bool]string{false: "minimize", true: "maximize"}
	fmt.Fprintf(&b, "  %s %s\n", word[s.maxF], s.leader())
	s.writeRows(&b, "u", s.Upper, s.uu, func(int) bool { return true })
	b.WriteString("}\n")
	for k := range slices.Max(s.block) + 1 {
		name := ""
		if slices.Max(s.block) > 0 {
			name = fmt.Sprintf(" f%d", k+1)
		}
		fmt.Fprintf(&b, "lower%s {\n", name)
		lo, hi := s.box()
		if s.vector {
			fmt.Fprintf(&b, "  var y: vector[%d]%s\n", s.Dy, s.set(lo, hi, s.uy))
		} else {
			for j := range s.Dy {
				if s.block[j] == k {
					fmt.Fprintf(&b, "  var y%d: real%s\n", j+1, s.interval(lo[j], hi[j], at(s.uy, j)))
				}
			}
		}
		fmt.Fprintf(&b, "  %s %s\n", word[s.maxG], s.follower(k))
		s.writeRows(&b, "r", s.Rows, s.ur, func(i int) bool { return s.bound[i] == 0 && s.blockOf(i) == k })
		b.WriteString("}\n")
	}
	if !s.strict() {
		b.WriteString("solve { ties = optimistic }\n")
	}
	return b.String()
}

// blockOf is the follower of a row.
func (s *system) blockOf(i int) int {
	for j, c := range s.Rows[i].C {
		if c != 0 {
			return s.block[j]
		}
	}
	return 0
}

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

func (s *system) interval(lo, hi float64, u int) string {
	switch {
	case math.IsInf(lo, -1) && math.IsInf(hi, 1):
		return ""
	case lo == 0 && math.IsInf(hi, 1):
		return " in nonneg"
	}
	return fmt.Sprintf(" in box(%s, %s)", decimalLiteral(lo+0, u), decimalLiteral(hi+0, u))
}

func (s *system) set(lo, hi []float64, u []int) string {
	if !slices.ContainsFunc(lo, func(v float64) bool { return !math.IsInf(v, -1) }) && !slices.ContainsFunc(hi, func(v float64) bool { return !math.IsInf(v, 1) }) {
		return ""
	}
	words := func(v []float64) string {
		t := make([]string, len(v))
		for j := range v {
			t[j] = decimalLiteral(v[j]+0, at(u, j))
		}
		return "[" + strings.Join(t, ", ") + "]"
	}
	return fmt.Sprintf(" in box(%s, %s)", words(lo), words(hi))
}

func (s *system) writeRows(b *strings.Builder, prefix string, rows []truth.Linear, units []int, take func(int) bool) {
	head := "  subject to\n"
	for i, r := range rows {
		if !take(i) {
			continue
		}
		u := at(units, i)
		sign, relation := 1.0, "<="
		if r.Equal {
			relation = "=="
		} else if s.turned {
			sign, relation = -1, ">="
		}
		t := &sumText{}
		for j, v := range r.A {
			t.add(sign*v, u-at(s.ux, j), s.x(j))
		}
		for j, v := range r.C {
			t.add(sign*v, u-at(s.uy, j), s.y(j))
		}
		fmt.Fprintf(b, "%s    %s%d: %s %s %s\n", head, prefix, i+1, t.text(), relation, decimalLiteral(sign*r.Rhs+0, u))
		head = ""
	}
}

// leader is F in words.
func (s *system) leader() string {
	sign := 1.0
	if s.maxF {
		sign = -1
	}
	name := func(i int) (string, int) {
		switch {
		case i < s.Dx:
			return s.x(i), at(s.ux, i)
		case i < s.Dx+s.Dy:
			return s.y(i - s.Dx), at(s.uy, i-s.Dx)
		}
		return fmt.Sprintf("dual(r%d)", i-s.Dx-s.Dy+1), s.ug - at(s.ur, i-s.Dx-s.Dy)
	}
	t := &sumText{}
	t.add(sign*s.F.Const, s.uf, "")
	for i, v := range s.F.C {
		n, u := name(i)
		t.add(sign*v, s.uf-u, n)
	}
	for i := range s.F.H {
		a, ua := name(i)
		for j := range i {
			c, uc := name(j)
			t.add(sign*s.F.H[i][j], s.uf-ua-uc, c+" * "+a)
		}
		t.add(sign*s.F.H[i][i]/2, s.uf-2*ua, a+"^2")
	}
	return t.text()
}

// follower is the objective of a block.
func (s *system) follower(k int) string {
	sign := 1.0
	if s.maxG {
		sign = -1
	}
	t := &sumText{}
	for j := range s.Dy {
		if s.block[j] != k {
			continue
		}
		u := at(s.uy, j)
		t.add(sign*s.Linear[j], s.ug-u, s.y(j))
		for i := range s.Dx {
			t.add(sign*s.P[i][j], s.ug-u-at(s.ux, i), s.x(i)+" * "+s.y(j))
		}
		for l := range j {
			t.add(sign*s.Q[j][l], s.ug-u-at(s.uy, l), s.y(l)+" * "+s.y(j))
		}
		t.add(sign*s.Q[j][j]/2, s.ug-2*u, s.y(j)+"^2")
	}
	return t.text()
}
