package main

import (
	"flag"
	"strings"
	"testing"

	"bilevelc/bench/campaign/truth"
	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// classes is how many models of each class TestClasses solves in full. The counts of the note are of
//
//	BILEVELC_MEMBERS=full go test ./bench/campaign -run TestClasses -classes 658 -timeout 60m -v
var classes = flag.Int("classes", 24, "models of each class that TestClasses solves in full")

// tied draws a feasible program whose rows tie y to x: equalities and inequalities through a
// common point on the edge of X and of the bounds of y, rows in x alone, sums and multiples.
func (g *generator) tied() {
	g.Dx, g.Dy = 1+g.IntN(3), 1+g.IntN(4)
	g.lowerObjective()
	g.upperObjective()
	g.Lo, g.Hi = g.box(g.Dx, 0.08)
	_, g.yHi = free(g.Dy)
	g.yLo = make([]float64, g.Dy)
	if g.chance(0.5) {
		g.yLo, g.yHi = g.box(g.Dy, 0.1)
	}
	x0, y0 := g.inside(g.Lo, g.Hi), g.inside(g.yLo, g.yHi)
	for k := range 1 + g.IntN(4) {
		r := truth.Linear{A: g.entries(g.Dx, 0.7), C: g.entries(g.Dy, 0.6)}
		r.A[g.IntN(g.Dx)] = g.positive(3)
		if g.chance(0.15) { // a part of X
			r.C = make([]float64, g.Dy)
		}
		r.Rhs = dot(r.A, x0) + dot(r.C, y0)
		if r.Equal = k < g.Dy && g.chance(0.6); !r.Equal && g.chance(0.5) {
			r.Rhs += g.positive(3)
		}
		g.add(r)
		if g.chance(0.15) {
			multiple := combined(g.positive(3), r, 0, r)
			multiple.Equal = r.Equal
			g.add(multiple)
		}
	}
}

// linear draws a program with linear f over a quadratic follower: F is piecewise linear.
func (g *generator) linear() {
	g.Dx, g.Dy = 1+g.IntN(3), 1+g.IntN(5)
	g.lowerObjective()
	g.F = truth.Quadratic{C: g.entries(g.Dx+g.Dy, 0.7), H: square(g.Dx + g.Dy)}
	g.F.C[g.Dx+g.IntN(g.Dy)] = g.positive(3)
	g.Lo, g.Hi = g.box(g.Dx, 0.05)
	g.yLo, g.yHi = free(g.Dy)
	switch g.IntN(3) {
	case 0:
		g.yLo = make([]float64, g.Dy)
	case 1:
		g.yLo, g.yHi = g.box(g.Dy, 0.1)
	}
	g.constraints(g.inside(g.Lo, g.Hi), g.inside(g.yLo, g.yHi))
}

// Two classes of which many once ended as "infeasible", or without an answer: every statement
// about every one of their models is true by enumeration, and nearly all are solved.
func TestClasses(t *testing.T) {
	count := members.Count(*classes)
	for _, class := range []struct {
		name string
		draw func(*generator)
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
				g := newGenerator(seed, 0x7469, 6)
				class.draw(g)
				m := g.finish()
				m.turned = g.chance(0.2)
				e := newExamination(&report{Seed: seed, Text: m.text()}, m)
				dimension := e.eval.Dimension()
				full := dimension == m.Dx
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
						t.Logf("seed %d, dimension %d of %d: %s: %s\n%s", seed, dimension, m.Dx, f.Kind, f.Detail, e.Text)
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
