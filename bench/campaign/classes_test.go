package main

import (
	"flag"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/bench/campaign/truth"
	"bilevelc/internal/exact"
	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// classes is how many models of each class TestClasses solves in full. The counts of the note are of
//
//	BILEVELC_MEMBERS=full go test ./bench/campaign -run TestClasses -classes 658 -timeout 60m -v
var classes = flag.Int("classes", 24, "models of each class that TestClasses solves in full")

// tied draws a feasible program whose rows tie y to x: equalities and inequalities through a
// common point on the edge of X and of the bounds of y, rows in x alone, sums and multiples.
func (g *generator) tied() *truth.Model {
	m := &truth.Model{Dx: 1 + g.IntN(3), Dy: 1 + g.IntN(4)}
	g.lowerObjective(m)
	g.upperObjective(m)
	m.XLo, m.XHi = g.box(m.Dx, 0.08)
	m.YLo, m.YHi = truth.Zeros(m.Dy), make([]*big.Rat, m.Dy)
	if g.chance(0.5) {
		m.YLo, m.YHi = g.box(m.Dy, 0.1)
	}
	x0, y0 := g.inside(m.XLo, m.XHi), g.inside(m.YLo, m.YHi)
	for k := range 1 + g.IntN(4) {
		r := truth.Row{A: g.vector(m.Dx, 0.7), C: g.vector(m.Dy, 0.6)}
		r.A[g.IntN(m.Dx)] = g.positive(3)
		if g.chance(0.15) { // a part of X
			r.C = truth.Zeros(m.Dy)
		}
		r.Rhs = new(big.Rat).Add(exact.Dot(r.A, x0), exact.Dot(r.C, y0))
		if r.Equal = k < m.Dy && g.chance(0.6); !r.Equal && g.chance(0.5) {
			r.Rhs.Add(r.Rhs, g.positive(3))
		}
		m.Rows = append(m.Rows, r)
		if g.chance(0.15) {
			by := g.positive(3)
			m.Rows = append(m.Rows, truth.Row{A: times(r.A, by), C: times(r.C, by), Rhs: new(big.Rat).Mul(r.Rhs, by), Equal: r.Equal})
		}
	}
	return m
}

// linear draws a program with linear f over a quadratic follower: F is piecewise linear.
func (g *generator) linear() *truth.Model {
	m := &truth.Model{Dx: 1 + g.IntN(3), Dy: 1 + g.IntN(5)}
	g.lowerObjective(m)
	m.F = truth.Function{Lx: g.vector(m.Dx, 0.7), Ly: g.vector(m.Dy, 0.7)}
	m.F.Ly[g.IntN(m.Dy)] = g.positive(3)
	m.XLo, m.XHi = g.box(m.Dx, 0.05)
	m.YLo, m.YHi = make([]*big.Rat, m.Dy), make([]*big.Rat, m.Dy)
	switch g.IntN(3) {
	case 0:
		m.YLo = truth.Zeros(m.Dy)
	case 1:
		m.YLo, m.YHi = g.box(m.Dy, 0.1)
	}
	g.rows(m, g.inside(m.XLo, m.XHi), g.inside(m.YLo, m.YHi))
	return m
}

// Two classes of which many once ended as "infeasible", or without an answer: every statement
// about every one of their models is true by enumeration, and nearly all are solved.
func TestClasses(t *testing.T) {
	count := members.Count(*classes)
	for _, class := range []struct {
		name string
		draw func(*generator) *truth.Model
	}{
		{"rows tie y to x", (*generator).tied},
		{"linear f", (*generator).linear},
	} {
		t.Run(class.name, func(t *testing.T) {
			// Where the x that have a y fill no open set, rows may be weak wherever x can go, and
			// gradients of open pieces are what certificates are made of: such runs may fail.
			ends := map[bool]map[string]int{false: {}, true: {}}
			solved, open := 0, 0
			for seed := range members.Seeds(t, *classes) {
				g := &generator{Rand: rand.New(rand.NewPCG(seed, 0x7469))}
				m := class.draw(g)
				dimension := m.Dimension()
				full := dimension == m.Dx
				e := newExamination(m, style{turned: g.chance(0.2)}, seed)
				r := e.run(runtime.Options{Seed: 1, Starts: 1, TimeLimit: timeLimit})
				if r == nil {
					t.Errorf("seed %d: no result", seed)
					continue
				}
				ends[full][r.Status.String()]++
				if dimension >= 0 && r.Status == runtime.Infeasible {
					t.Errorf("seed %d: infeasible, and %d dimensions of X are not", seed, dimension)
				}
				if full {
					open++
					if r.Status == runtime.Solved {
						solved++
					}
				}
				for _, f := range e.Findings {
					switch {
					case !f.Soft:
						t.Errorf("seed %d: %s: %s", seed, f.Kind, f.Detail)
					case strings.HasPrefix(f.Kind, "default "):
						t.Logf("seed %d, dimension %d of %d: %s: %s\n%s", seed, dimension, m.Dx, f.Kind, f.Detail, e.text)
					}
				}
			}
			t.Logf("%d models: x fill an open set %v, or do not %v", count, ends[true], ends[false])
			if open-solved > members.Misses(count, 0.02) {
				t.Errorf("%d of %d models ended without an answer", open-solved, open)
			}
		})
	}
}
