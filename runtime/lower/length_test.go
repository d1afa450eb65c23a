package lower

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// exponential is sum_k w_k exp(a_k'z) + mu/2 |z|^2 + c'z times factor, where z = y / unit.
type exponential struct {
	a            [][]float64
	w, c         []float64
	mu           float64
	unit, factor float64
}

func (g *exponential) Clone() problem.Function   { return g }
func (g *exponential) GradX(dst, x, y []float64) { clear(dst) }
func (g *exponential) GradY(dst, x, y []float64) { g.ValueGradY(dst, x, y) }
func (g *exponential) Value(x, y []float64) float64 {
	return g.ValueGradY(make([]float64, len(y)), x, y)
}
func (g *exponential) ValueGrad(dx, dy, x, y []float64) float64 {
	clear(dx)
	return g.ValueGradY(dy, x, y)
}

func (g *exponential) ValueGradY(dst, x, y []float64) float64 {
	value := 0.0
	clear(dst)
	for j := range y {
		z := y[j] / g.unit
		value += g.mu*z*z/2 + g.c[j]*z
		dst[j] = g.mu*z + g.c[j]
	}
	for k, row := range g.a {
		u := 0.0
		for j, v := range row {
			u += v * y[j] / g.unit
		}
		e := g.w[k] * math.Exp(u)
		value += e
		for j, v := range row {
			dst[j] += e * v
		}
	}
	for j := range dst {
		dst[j] *= g.factor / g.unit
	}
	return value * g.factor
}

// drawExponential draws one whose minimizer is moderate in z.
func drawExponential(rng *rand.Rand) *exponential {
	n := 1 + rng.IntN(4)
	g := &exponential{mu: 0.1 + rng.Float64(), unit: math.Pow(10, float64(rng.IntN(25)-12)), factor: math.Pow(10, float64(rng.IntN(17)-8))}
	for range 1 + rng.IntN(3) {
		row := make([]float64, n)
		for j := range row {
			row[j] = rng.NormFloat64()
		}
		g.a, g.w = append(g.a, row), append(g.w, 0.1+2*rng.Float64())
	}
	g.c = make([]float64, n)
	for j := range g.c {
		g.c[j] = 2 * rng.NormFloat64()
	}
	if rng.IntN(4) == 0 { // stationary at the start but for the exponentials' rounding
		for j := range g.c {
			g.c[j] = 0
			for k := range g.a {
				g.c[j] -= g.w[k] * g.a[k][j]
			}
		}
	}
	return g
}

// Objectives that are not quadratic are solved in whatever units y and they are
// stated: differences have the length on which the objective is curved. The truth is the
// analytic gradient at the answer, which strong convexity turns into a distance.
func TestLengthsInAnyUnits(t *testing.T) {
	for seed := uint64(0); seed < 300; seed++ {
		rng := rand.New(rand.NewPCG(seed, 59))
		g := drawExponential(rng)
		n := len(g.c)
		p := &problem.Problem{Dx: 1, Dy: n, G: g, F: g, Rows: &problem.Rows{A: sparse.FromEntries(0, 1, nil), B: sparse.FromEntries(0, n, nil)}}
		p.Facts.StrongConvexity = g.mu * g.factor / (g.unit * g.unit)
		if rng.IntN(2) == 0 { // a bound far away, and one that holds y at 0
			p.Rows.Kind = []problem.Kind{problem.AtMost, problem.AtMost}
			p.Rows.Rhs = []float64{100 * g.unit, 0}
			p.Rows.A = sparse.FromEntries(2, 1, nil)
			p.Rows.B = sparse.FromEntries(2, n, []sparse.Entry{{Row: 0, Col: 0, Val: 1}, {Row: 1, Col: n - 1, Val: 1}})
		}
		pattern := make([]sparse.Entry, 0, n*n)
		for i := range n {
			for j := range n {
				pattern = append(pattern, sparse.Entry{Row: i, Col: j, Val: 1})
			}
		}
		p.Facts.HessianPattern = sparse.FromEntries(n, n, pattern)
		x := []float64{0}
		for _, name := range []string{"alm", "sparse"} {
			solver, err := New(name, nil, p, 1)
			if err != nil {
				t.Fatal(err)
			}
			s := solver.Solve(context.Background(), p, G(p, x), x, nil)
			if s.Status != Solved {
				t.Errorf("seed %d, %s, unit %g, factor %g: %v: %s", seed, name, g.unit, g.factor, s.Status, s.Reason)
				continue
			}
			rest := make([]float64, n)
			g.ValueGradY(rest, x, s.Y)
			p.Rows.B.AddMulVecT(rest, -1, s.Lambda)
			if d := linalg.Norm(rest) * g.unit / g.factor / g.mu; d > 1e-8 {
				t.Errorf("seed %d, %s, unit %g, factor %g: y is off by up to %.2g", seed, name, g.unit, g.factor, d)
			}
		}
		// The Hessian itself, at a point at which no gradient vanishes.
		y, base, v, dst := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		if seed%2 == 0 {
			for j := range y {
				y[j] = g.unit * rng.NormFloat64()
			}
		}
		v[0] = 1
		g.ValueGradY(base, x, y)
		var c curvature
		c.reset(G(p, x), false, n)
		c.move(y, base)
		if !c.difference(dst, v) {
			t.Fatalf("seed %d: no difference", seed)
		}
		for j := range dst {
			want := 0.0
			if j == 0 {
				want = g.mu
			}
			size := g.mu
			for k, row := range g.a {
				u := 0.0
				for i, a := range row {
					u += a * y[i] / g.unit
				}
				want += g.w[k] * math.Exp(u) * row[0] * row[j]
				size += g.w[k] * math.Exp(u) * dotProduct(row, row)
			}
			if d := math.Abs(dst[j]*g.unit*g.unit/g.factor - want); d > 1e-6*size {
				t.Errorf("seed %d, unit %g: Hessian entry off by %.2g of %.2g", seed, g.unit, d, size)
			}
		}
	}
}

// An odd power is convex on one side of 0 alone. The way that a force would move y ends
// where g ceases to be convex, and is not looked for beyond, where gradients fall
// without end.
func TestReachEndsWithConvexity(t *testing.T) {
	for _, side := range []float64{1, -1} { // on which g = 2.5e-4 y^2 + |y|^5 is convex
		grad := func(dst, y []float64) {
			for j, v := range y {
				dst[j] = 5e-4*v + side*5*math.Pow(v, 4)
			}
		}
		for n := 1; n <= 12; n++ {
			y, base := make([]float64, n), make([]float64, n)
			for j := range y {
				y[j] = side * (1 + float64(j%3))
			}
			grad(base, y)
			for _, force := range []float64{1, 60, 1e4} {
				// Where the entries are, their fourth powers change by the force within this.
				if got := Reach(grad, y, base, force, 2); got > 20*math.Sqrt(float64(n))*math.Pow(force, 0.25) {
					t.Errorf("side %g, %d entries, force %g: reach %g", side, n, force, got)
				}
			}
		}
	}
}
