package oracle_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/oracle/oracletest"
	"bilevelc/runtime/problem"
)

// The errors that oracles state are errors: of a difference with a long step, where the
// truncation shows, and of every oracle at its defaults, against the exact gradient.
func TestStatedErrors(t *testing.T) {
	spec, err := lower.Lookup(lower.Default)
	if err != nil {
		t.Fatal(err)
	}
	gradient := func(c oracletest.Case, o oracle.Oracle) *oracle.Point {
		s, err := spec.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		h := oracle.New(c.Problem, s, o)
		x := append([]float64(nil), c.Start...)
		for j := range x {
			x[j] += 0.37 + 0.11*float64(j)
		}
		if err := h.Project(x, x); err != nil {
			t.Fatal(err)
		}
		pt, err := h.Gradient(context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		return pt
	}
	coarse := *oracle.DefaultDifference()
	coarse.Central, coarse.Reach = false, 1e-2
	seen := 0
	for _, c := range append(oracletest.Bolib(), oracletest.Quota(), oracletest.Toll()) {
		exact := gradient(c, &oracle.Face{Settings: *oracle.DefaultFace()})
		if !exact.Strict {
			continue
		}
		for name, o := range map[string]oracle.Oracle{"coarse difference": &oracle.Difference{Settings: coarse},
			"difference": &oracle.Difference{Settings: *oracle.DefaultDifference()}, "penalty": &oracle.Penalty{Settings: *oracle.DefaultPenalty()},
			"value": &oracle.Value{Settings: *oracle.DefaultValue()}} {
			pt := gradient(c, o)
			off, size := 0.0, 0.0
			for j, g := range exact.Grad {
				off, size = math.Hypot(off, g-pt.Grad[j]), math.Hypot(size, g)
			}
			if off > 10*pt.GradError+exact.GradError {
				t.Errorf("%s on %s: off by %.2e, stated %.2e, gradient %.2e", name, c.Name, off, pt.GradError, size)
			}
			if off > 1e-6*size {
				seen++
			}
		}
	}
	if seen < 3 {
		t.Errorf("only %d errors were there to be stated", seen)
	}
}

// A difference of values says the error that an iterative solver left in them: 60 followers whose
// curvature spreads over three decades, y_i = max(0, c_i + s_i x)/d_i in closed form.
func TestDifferencesStateTheSolversError(t *testing.T) {
	shown := 0
	for _, solver := range []string{"agd", "pdg"} {
		spec, err := lower.Lookup(solver)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(30) {
			p, exact := spread(rand.New(rand.NewPCG(seed, 3)))
			s, err := spec.New(nil)
			if err != nil {
				t.Fatal(err)
			}
			pt, err := oracle.New(p, s, &oracle.Value{Settings: *oracle.DefaultValue()}).Gradient(context.Background(), p.Start)
			if err != nil {
				t.Fatalf("%s, seed %d: %v", solver, seed, err)
			}
			off := math.Abs(pt.Grad[0] - exact)
			if off > pt.GradError+1e-9*math.Abs(exact) {
				t.Errorf("%s, seed %d: off by %.2e, stated %.2e, gradient %.3g", solver, seed, off, pt.GradError, exact)
			}
			if off > 1e-6*math.Abs(exact) {
				shown++
			}
			if pt.GradError > math.Abs(exact) {
				t.Errorf("%s, seed %d: the stated error %.2e says nothing of a gradient %.3g", solver, seed, pt.GradError, exact)
			}
		}
	}
	if shown < 10 {
		t.Errorf("only %d solves left an error to be stated", shown)
	}
}

// spread draws a problem of one upper variable, and dF/dx at its start.
func spread(r *rand.Rand) (*problem.Problem, float64) {
	n := 2 + r.IntN(4)
	d, c, s, q := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	names := make([]string, n)
	x, exact, smooth := r.Float64(), 1.0, 0.0
	for i := range n {
		d[i], c[i], s[i], q[i] = math.Pow(10, 3*r.Float64()-2), r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
		smooth, names[i] = max(smooth, d[i]), "a"+string(rune('0'+i))
		if c[i]+s[i]*x > 0 {
			exact += q[i] * s[i] / d[i]
		}
	}
	p := &problem.Problem{Name: "spread", Dx: 1, Dy: n, X: oracletest.Box(1, -5, 5), Start: []float64{x},
		F: oracletest.FromFormula(1, n, func(x, y []float64) float64 { return x[0] + linalg.Dot(q, y) }),
		G: oracletest.FromFormula(1, n, func(x, y []float64) float64 {
			g := 0.0
			for i := range y {
				g += d[i]*y[i]*y[i]/2 - (c[i]+s[i]*x[0])*y[i]
			}
			return g
		}),
		Rows: oracletest.RowsFromFormula(1, n, names, func(_, y []float64) []float64 {
			h := make([]float64, len(y))
			for i := range y {
				h[i] = -y[i]
			}
			return h
		}),
	}
	p.Facts.QuadraticInY, p.Facts.FixedHessian = true, true
	p.Facts.StrongConvexity, p.Facts.Smoothness = slices.Min(d), smooth
	return p, exact
}
