package curvature

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/members"
	"bilevelc/ir/expr"
)

// seed draws other models, and models more of them:
//
//	BILEVELC_MEMBERS=full go test -run 'Soundness|NoFalse' ./ir/curvature -seed 7 -models 100000
var (
	seed  = flag.Uint64("seed", 26, "of the random models")
	drawn = flag.Int("models", 4000, "how many random models are drawn in full")
)

// TestSoundness holds every claim about random models against second
// derivatives computed at sampled points.
func TestSoundness(t *testing.T) {
	count := members.Of(1000, *drawn) // a millisecond each
	r := members.Rand(t, *seed)
	outcomes := map[string]int{}
	for k := range count {
		m := randomModel(r)
		opts := Defaults()
		opts.Samples = 8
		proof := Prove(m.p, opts)
		name := proof.Convexity.Outcome.String()
		if proof.Convexity.Outcome == proved {
			name += " " + proof.Convexity.Scope.String()
		}
		outcomes[name]++
		for what, b := range map[string]Bound{"C_g": proof.SmoothnessG, "C_g joint": proof.JointG.Bound(), "C_f": proof.SmoothnessF, "L_f": proof.LipschitzF} {
			if b.Known {
				outcomes[what]++
			}
		}
		if !m.holds(t, r, proof) {
			t.Fatalf("model %d\ng:\n%sf:\n%sX: %v\n%s", k, expr.Format(m.p.Lower.Objective), expr.Format(m.p.Upper.Objective), m.p.X, proof.Text(true))
		}
	}
	t.Logf("%v", outcomes)
	for _, name := range []string{"proved for every y", "proved for y within its bounds", "proved along the equality rows", "refuted", "unknown"} {
		if outcomes[name] < count/1000 {
			t.Errorf("only %d of %d models are %s: the test does not see that case", outcomes[name], count, name)
		}
	}
}

// holds checks the claims of a proof at sampled points.
func (m *model) holds(t *testing.T, r *rand.Rand, proof *Proof) bool {
	g, f := m.p.Lower.Objective, m.p.Upper.Objective
	dx, dy := m.p.Upper.Dim, m.p.Lower.Dim
	zero := make([]float64, dx)
	good := true
	fail := func(format string, args ...any) {
		good = false
		t.Errorf(format, args...)
	}
	if c := proof.Convexity; c.Outcome == refuted {
		w := c.Witness
		d, scale := along(g, w.X, w.Y, zero, w.Direction)
		slack := 1e-9 * scale
		if size := math.Sqrt(floats.Dot(w.Direction, w.Direction)); math.Abs(size-1) > 1e-9 {
			fail("the direction has length %v", size)
		}
		if len(w.Ends) > 0 {
			fall := secondDifference(g, w)
			if w.Undefined != math.IsNaN(fall-fall) || fall > w.Curvature+slack || !w.Undefined && w.Curvature >= 0 {
				fail("witness claims a second difference of %v (undefined %v), it is %v", w.Curvature, w.Undefined, fall)
			}
		} else if w.Flat && math.Abs(d[2]) > slack || !w.Flat && (d[2] > w.Curvature+slack || w.Curvature >= 0) {
			fail("witness claims %v (flat %v), the second derivative is %v", w.Curvature, w.Flat, d[2])
		}
		for i, v := range w.X {
			if v < m.p.X.Lo[i] || v > m.p.X.Hi[i] {
				fail("witness x = %v outside X", w.X)
			}
		}
		for i := range m.p.X.Rows {
			if math.Abs(m.p.X.E.RowDot(i, w.X)-m.p.X.Rhs[i]) > 1e-6 {
				fail("witness x = %v outside X", w.X)
			}
		}
	}
	for k := range 12 {
		// The slack is for rounding of the reference alone.
		if c := proof.Convexity; c.Outcome == proved {
			x, y := m.sample(r, c.Scope)
			v := gauss(r, dy)
			if c.Scope == alongEqualities {
				m.project(v)
			} else if k < 4 {
				if worst := leastCurvature(g, x, y); worst != nil {
					v = worst
				}
			}
			d, scale := along(g, x, y, zero, v)
			if least := c.Modulus * floats.Dot(v, v); finite(d) && d[2] < least-1e-9*scale {
				fail("mu = %v, but the second derivative is %v for |v|^2 = %v at x = %v, y = %v, v = %v", c.Modulus, d[2], floats.Dot(v, v), x, y, v)
			}
		}
		bound := func(name string, b Bound, n *expr.Node, vx []float64, order int) {
			x, y := m.sample(r, b.Scope)
			vy := gauss(r, dy)
			if !b.Known {
				return
			}
			d, scale := along(n, x, y, vx, vy)
			size := floats.Dot(vx, vx) + floats.Dot(vy, vy)
			if order == 1 {
				size = math.Sqrt(size)
			}
			if finite(d) && math.Abs(d[order]) > b.Value*size+1e-9*scale {
				fail("%s = %v, but the derivative is %v at x = %v, y = %v", name, b.Value, d[order]/size, x, y)
			}
		}
		// The second derivative along a direction is the same at two points.
		quadratic := func(claimed bool, vx, vy []float64) {
			x, y := m.sample(r, everywhere)
			d, scale := along(g, x, y, vx, vy)
			x, y = m.sample(r, everywhere)
			e, other := along(g, x, y, vx, vy)
			if claimed && finite(d) && finite(e) && math.Abs(d[2]-e[2]) > 1e-9*(scale+other) {
				fail("%+v, but second derivatives of %v and %v along %v, %v", proof.Quadratic, d[2], e[2], vx, vy)
			}
		}
		quadratic(proof.Quadratic.FixedHessian, zero, gauss(r, dy))
		quadratic(proof.Quadratic.Jointly, gauss(r, dx), gauss(r, dy))
		bound("C_g", proof.SmoothnessG, g, zero, 2)
		bound("joint C_g", proof.JointG.Bound(), g, gauss(r, dx), 2)
		bound("C_f", proof.SmoothnessF, f, gauss(r, dx), 2)
		bound("L_f", proof.LipschitzF, f, gauss(r, dx), 1)
		if x, y := m.sample(r, withinBounds); proof.SmoothG.Outcome == proved {
			if d, scale := along(g, x, y, gauss(r, dx), gauss(r, dy)); !math.IsInf(scale, 0) && math.IsNaN(d[0]+d[1]) {
				fail("g is said to be smooth, but is %v at x = %v, y = %v", d, x, y)
			}
		}
	}
	return good
}

// secondDifference is the second divided difference of g that a witness speaks of.
func secondDifference(g *expr.Node, w *Witness) float64 {
	value := func(y []float64) float64 {
		v, _ := expr.Scalar(g, w.X, y)
		return v
	}
	distance := func(p, q []float64) float64 {
		s := 0.0
		for j := range p {
			s += (q[j] - p[j]) * (q[j] - p[j])
		}
		return math.Sqrt(s)
	}
	a, b := distance(w.Ends[0], w.Y), distance(w.Y, w.Ends[1])
	return 2 * ((value(w.Ends[1])-value(w.Y))/b - (value(w.Y)-value(w.Ends[0]))/a) / (a + b)
}

// project moves v into the null space of the equality row (there is at most one).
func (m *model) project(v []float64) {
	for i, row := range m.p.Rows {
		if row.Equal {
			_, vals := m.p.B.Row(i)
			if size := floats.Dot(vals, vals); size > 0 {
				m.p.B.AddRow(v, i, -m.p.B.RowDot(i, v)/size)
			}
		}
	}
}

func finite(d taylor) bool {
	s := d[0] + d[1] + d[2]
	return !math.IsNaN(s) && !math.IsInf(s, 0)
}
