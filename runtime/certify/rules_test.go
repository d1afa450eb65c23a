package certify

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/planted"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// Each rule of a certificate is caught by its own check, in documents that keep
// all the others.
func TestEachRuleByItself(t *testing.T) {
	for _, c := range []struct {
		name, claim string
		change      func(*Document)
	}{
		{"weights that add up to a half", "sum of the weights", func(d *Document) {
			g := d.Certificate.Goldstein
			g.Samples[0].Weight, g.Samples[1].Weight = 0.25, 0.25
			g.Normal = []float64{0, -0.5}
			g.Norm = norm(g.combination())
			g.Epsilon = g.Norm + g.GradientError
		}},
		{"a negative weight", "weight of at least 0", func(d *Document) {
			g := d.Certificate.Goldstein
			g.Samples[0].Weight, g.Samples[1].Weight = 1.5, -0.5
			g.Norm = norm(g.combination())
			g.Epsilon = g.Norm + g.GradientError
		}},
		{"a multiplier that pulls", "signs of the multipliers", func(d *Document) {
			d.X, d.Y, d.Lambda = []float64{1, 0}, []float64{0}, []float64{-1}
			d.Upper, d.Lower = -1, 0.5
			d.Certificate.Lower = &Lower{Active: []int{0}, Residuals: problem.Residuals{Dual: 1}}
		}},
		{"a gap that leaves out what slack rows pull", "gap of the lower level", func(d *Document) {
			d.X, d.Y, d.Lambda = []float64{-1, 0}, []float64{0.5}, []float64{1.5}
			d.Upper, d.Lower = 2, 1.125
			d.Certificate.Lower = &Lower{Active: []int{0}, Residuals: problem.Residuals{Complementarity: 0.75},
				Bound: &Bound{Modulus: 1, Gap: 0, Distance: 0}}
		}},
		{"a distance that leaves out the rounding of y", "rounding of y", func(d *Document) {
			d.X, d.Y, d.Lambda = []float64{0.5, 0}, []float64{0.5}, []float64{0}
			d.Upper, d.Lower = -1.5, 0
			d.Certificate.Lower = &Lower{Active: []int{}, Bound: &Bound{Modulus: 1}}
		}},
		{"a point beyond delta", "within delta", func(d *Document) { d.Certificate.Goldstein.Delta = 6e-4 }},
		{"a vector that is not normal", "normal vector", func(d *Document) {
			g := d.Certificate.Goldstein
			g.Normal = []float64{0.5, -1}
			g.Norm = norm(g.combination())
			g.Epsilon = g.Norm + g.GradientError
		}},
	} {
		doc := kinkDocument()
		c.change(doc)
		found := slices.ContainsFunc(Verify(doc, kink()).Failures(), func(f Check) bool { return strings.Contains(f.Claim, c.claim) })
		if !found {
			t.Errorf("%s: no failure of %q: %v", c.name, c.claim, Verify(doc, kink()).Failures())
		}
	}
}

// cones is y = max(0, C x), entry by entry: g = |y - C x|^2 / 2 over y >= 0.
type cones struct {
	c [][]float64
}

func (f cones) ValueGrad(dx, dy, x, y []float64) float64 {
	clear(dx)
	v := 0.0
	for j, row := range f.c {
		r := y[j] - floats.Dot(row, x)
		v += r * r / 2
		dy[j] = r
		for k, a := range row {
			dx[k] -= a * r
		}
	}
	return v
}

// At the common vertex of random half-spaces all rows are weakly active. A face is
// a piece of F there exactly if some x has its signs, which sampling shows; with
// units of x and y from 1e-8 to 1e8, and X of no width in some entries.
func TestPiecesAtAVertex(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 3))
	pieces, others := 0, 0
	for trial := range 60 {
		dx, dy := 1+rng.IntN(3), 2+rng.IntN(3)
		ux, uy := math.Pow(10, float64(rng.IntN(17)-8)), math.Pow(10, float64(rng.IntN(17)-8))
		f := cones{}
		for range dy {
			row := make([]float64, dx)
			for k := range row {
				row[k] = float64(rng.IntN(7)-3) * uy / ux
			}
			f.c = append(f.c, row)
		}
		p := &problem.Problem{Name: "cones", Dx: dx, Dy: dy, G: formula(f.ValueGrad), F: quadratic{d: ones(dy)}, Start: make([]float64, dx),
			Rows:  &problem.Rows{Kind: make([]problem.Kind, dy), A: sparse.FromEntries(dy, dx, nil), Rhs: make([]float64, dy)},
			X:     &problem.Set{Lo: make([]float64, dx), Hi: make([]float64, dx), E: sparse.FromEntries(0, dx, nil)},
			Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true}}
		var entries []sparse.Entry
		for j := range dy {
			entries = append(entries, sparse.Entry{Row: j, Col: j, Val: 1})
		}
		p.Rows.B = sparse.FromEntries(dy, dy, entries)
		for k := range dx {
			// Of pieces that differ where x leaves X alone F on X says nothing. (At 0 alone nothing
			// says in which units x is.)
			if p.X.Lo[k], p.X.Hi[k] = -ux, ux; trial>>k%2 == 1 && (k < dx-1 || ux == 1) {
				p.X.Lo[k], p.X.Hi[k] = 0, 0
			}
		}
		felt := 0 // rows that feel what x may do, and rows of nothing
		for j, row := range f.c {
			moves := slices.Clone(row)
			for k := range moves {
				moves[k] *= p.X.Hi[k] / ux
			}
			if norm(moves) > 0 || norm(row) == 0 {
				felt |= 1 << j
			}
		}
		seen := map[int]bool{}
		for range 5000 {
			x := make([]float64, dx)
			for k := range x {
				x[k] = rng.NormFloat64() * p.X.Hi[k] / ux
			}
			pattern, open := 0, true
			for j, row := range f.c {
				v := floats.Dot(row, x)
				if felt>>j&1 == 0 {
					continue
				}
				if v < 0 || norm(row) == 0 { // a row of nothing holds y at 0 everywhere
					pattern |= 1 << j
				}
				open = open && (math.Abs(v) > 0 || norm(row) == 0)
			}
			if open {
				seen[pattern] = true
			}
		}
		zero := func(n int) []float64 { return make([]float64, n) }
		d := newDeriver(p, zero(dx), zero(dy), zero(dy))
		for pattern := range 1 << dy {
			var face []int
			for j := range dy {
				if pattern>>j&1 == 1 {
					face = append(face, j)
				} else if norm(f.c[j]) == 0 {
					face = nil
					break
				}
			}
			if face == nil && pattern != 0 {
				continue
			}
			at, err := d.onFace(zero(dx), zero(dy), face)
			if err != nil {
				t.Fatal(err)
			}
			err = d.attained(at, 1e-6*ux)
			flat := slices.ContainsFunc(f.c, func(row []float64) bool { return norm(row) == 0 })
			if (err == nil) != seen[pattern&felt] && !flat {
				t.Errorf("trial %d, C %v, X %v to %v, rows %v held: %v, seen is %v", trial, f.c, p.X.Lo, p.X.Hi, face, err, seen[pattern&felt])
			}
			if seen[pattern&felt] {
				pieces++
			} else {
				others++
			}
		}
	}
	if pieces < 100 || others < 100 {
		t.Errorf("%d pieces and %d faces that are none: too few to tell", pieces, others)
	}
}

func ones(n int) []float64 {
	v := make([]float64, n)
	for j := range v {
		v[j] = 1
	}
	return v
}

// inUnits is a function of x/ux and y/uy, times its own unit.
type inUnits struct {
	f         problem.Function
	ux, uy, u float64
}

func (f inUnits) ValueGrad(dx, dy, x, y []float64) float64 {
	v := f.f.ValueGrad(dx, dy, scaled(x, 1/f.ux), scaled(y, 1/f.uy))
	for j := range dx {
		dx[j] *= f.u / f.ux
	}
	for j := range dy {
		dy[j] *= f.u / f.uy
	}
	return v * f.u
}
func (f inUnits) Value(x, y []float64) float64 {
	return f.f.Value(scaled(x, 1/f.ux), scaled(y, 1/f.uy)) * f.u
}
func (f inUnits) GradX(dst, x, y []float64) { f.ValueGrad(dst, make([]float64, len(y)), x, y) }
func (f inUnits) GradY(dst, x, y []float64) { f.ValueGrad(make([]float64, len(x)), dst, x, y) }
func (f inUnits) ValueGradY(dst, x, y []float64) float64 {
	return f.ValueGrad(make([]float64, len(x)), dst, x, y)
}
func (f inUnits) Clone() problem.Function { return inUnits{f.f.Clone(), f.ux, f.uy, f.u} }

// A document and its copy in other units are judged alike, true or false.
func TestUnits(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 9))
	unit := func() float64 { return math.Pow(10, float64(rng.IntN(17)-8)) }
	scaleRows := func(m *sparse.CSR, a float64) *sparse.CSR {
		c := *m
		c.Val = scaled(m.Val, a)
		return &c
	}
	for seed := range uint64(12) {
		o := planted.Defaults()
		o.Seed = seed
		in, err := planted.New(o)
		if err != nil {
			t.Fatal(err)
		}
		ux, uy, uf, ug, ur := unit(), unit(), unit(), unit(), unit()
		p := *in.Problem
		p.F, p.G = inUnits{in.Problem.F, ux, uy, uf}, inUnits{in.Problem.G, ux, uy, ug}
		rows, set := *p.Rows, *p.X
		rows.A, rows.B, rows.Rhs = scaleRows(rows.A, ur/ux), scaleRows(rows.B, ur/uy), scaled(rows.Rhs, ur)
		set.Lo, set.Hi = scaled(set.Lo, ux), scaled(set.Hi, ux)
		if set.E != nil && len(set.Kind) > 0 {
			set.E = scaleRows(set.E, 1/ux)
		}
		p.Rows, p.X, p.Start = &rows, &set, scaled(p.Start, ux)
		p.Facts.StrongConvexity *= ug / (uy * uy)
		e, _ := in.Exact(in.Problem.Start)
		x, y, lambda := p.Start, scaled(e.Y, uy), scaled(e.Lambda, ug/ur)
		var active []int
		for i, l := range lambda {
			if rows.Kind[i] == problem.Equal || l > 0 {
				active = append(active, i)
			}
		}
		fresh := func() *Document {
			return &Document{X: slices.Clone(x), Y: slices.Clone(y), Lambda: slices.Clone(lambda), Upper: e.F * uf, Lower: p.G.Value(x, y),
				Hypergradient: scaled(e.Gradient, uf/ux), Certificate: &Certificate{Lower: lowerOf(&p, x, y, lambda, active)}}
		}
		name := fmt.Sprintf("seed %d, units x %g, y %g, F %g, g %g, rows %g", seed, ux, uy, uf, ug, ur)
		requireOK(t, name, Verify(fresh(), &p))
		for what, change := range map[string]func(*Document){
			"y":             func(d *Document) { d.Y[3] += 1e-3 * maxAbs(d.Y) },
			"hypergradient": func(d *Document) { d.Hypergradient[2] += 1e-2 * maxAbs(d.Hypergradient) },
			"multipliers":   func(d *Document) { d.Lambda[1] += 1e-2 * maxAbs(d.Lambda) },
			"upper":         func(d *Document) { d.Upper += 1e-3 * math.Abs(d.Upper) },
		} {
			doc := fresh()
			change(doc)
			if Verify(doc, &p).OK() {
				t.Errorf("%s: a change of %s was not noticed", name, what)
			}
		}
	}
}

// TestStrictOnTheEdgeOfD: y = x_1 beside y <= x_2, which holds y with a multiplier, at an x at which both do: off it F is not defined, and strict
// complementarity is none of F's, though no slack and multiplier are both 0. Where the row has slack it is.
func TestStrictOnTheEdgeOfD(t *testing.T) {
	p := &problem.Problem{Dx: 2, Dy: 1, F: quadratic{d: []float64{0, 1}}, G: quadratic{a: []float64{1}, d: []float64{-3}},
		Rows: &problem.Rows{Kind: []problem.Kind{problem.AtMost, problem.Equal}, A: sparse.FromDense(2, 2, []float64{0, -1, 1, 0}),
			B: sparse.FromDense(2, 1, []float64{-1, 1}), Rhs: []float64{0, 0}},
		X:     &problem.Set{Lo: []float64{-9, -9}, Hi: []float64{9, 9}, E: sparse.FromEntries(0, 2, nil)},
		Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true}}
	for _, c := range []struct {
		x2     float64
		lambda []float64
		active []int
	}{{1, []float64{2, 0}, []int{0, 1}}, {2, []float64{0, -2}, []int{1}}} {
		doc := &Document{X: []float64{1, c.x2}, Y: []float64{1}, Lambda: c.lambda, Lower: -2.5, Strict: true,
			Certificate: &Certificate{Lower: &Lower{Active: c.active}}}
		strict := true
		for _, check := range Verify(doc, p).Checks {
			strict = strict && (check.OK || check.Claim != StrictClaim)
		}
		if strict != (c.x2 > 1) {
			t.Errorf("x_2 = %v: strict complementarity passes: %v, %v", c.x2, strict, Verify(doc, p).Checks)
		}
	}
}
