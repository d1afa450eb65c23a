package lower

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// TestSmallForcesBesideLarge: an entry of y whose forces are smaller by up to thirty digits than those on
// others, which bounds hold or curvature, and which a row that does not hold may join, is found like one that is
// alone. The truth is that of one variable at a time, by bisection.
func TestSmallForcesBesideLarge(t *testing.T) {
	const cases = 2000
	solved := map[string]int{}
	for seed := range uint64(cases) {
		rng := rand.New(rand.NewPCG(seed, 60))
		n := 2 + rng.IntN(4)
		g := &bowls{unit: 1, gain: 1, grad: make([]float64, n)}
		var b [][]float64
		var r []float64
		want := make([]float64, n)
		least := math.Inf(1)
		for j := range n {
			scale := math.Pow(10, float64(rng.IntN(21)))
			if j == 0 {
				scale = math.Pow(10, float64(rng.IntN(5)-5))
			}
			w := 0.0
			if j == 0 && rng.IntN(2) == 0 {
				w = scale * (0.5 + rng.Float64())
			}
			g.w, g.b = append(g.w, w), append(g.b, scale*rng.NormFloat64())
			g.q, g.c = append(g.q, math.Min(scale, 1)*(0.1+rng.Float64())), append(g.c, 0)
			least = math.Min(least, g.q[j])
			row := make([]float64, n)
			row[j] = 1
			b, r = append(b, row), append(r, 0)
			low, high := 0.0, 1e25
			for range 300 {
				middle := (low + high) / 2
				if low > 0 && high > 4*low {
					middle = math.Sqrt(low * high)
				}
				if _, slope := g.at(j, middle); slope > 0 {
					high = middle
				} else {
					low = middle
				}
			}
			want[j] = low
		}
		if rng.IntN(2) == 0 { // of the first entry and another, and not binding
			row := make([]float64, n)
			row[0], row[1] = -rng.Float64(), -rng.Float64()
			b, r = append(b, row), append(r, 2*(row[0]*want[0]+row[1]*want[1])-1)
		}
		p := &problem.Problem{Dy: n, F: zero{}, G: g, Rows: rowsOf(0, n, b, r, nil), X: unbounded(0),
			Facts: problem.Facts{StrongConvexity: least, QuadraticInY: g.w[0] == 0, FixedHessian: g.w[0] == 0}}
		identity := make([]float64, n*n)
		for j := range n {
			identity[j*n+j] = 1
		}
		p.Facts.HessianPattern = sparse.FromDense(n, n, identity)
		for _, name := range []string{Default, "sparse"} {
			solver, err := New(name, nil, p, 1)
			if err != nil {
				t.Fatal(err)
			}
			s := solver.Solve(context.Background(), p, G(p, nil), nil, nil)
			if s.Status != Solved {
				continue
			}
			solved[name]++
			for j, v := range want {
				if math.Abs(s.Y[j]-v) > 1e-6*math.Abs(v)+1e-12*math.Abs(g.b[j])/g.q[j] {
					t.Errorf("seed %d, %s: y_%d is %v, truly %v: %v, truly %v", seed, name, j, s.Y[j], v, s.Y, want)
					break
				}
			}
		}
	}
	for name, count := range solved {
		if t.Logf("%s: %d solved", name, count); count < 9*cases/10 {
			t.Errorf("%d of %d solved", count, cases)
		}
	}
}

// SlopeY implements problem.Rounded: a sum of a dozen terms, each rounded a few times.
func (g *bowls) SlopeY(direction, x, y []float64) (lo, hi float64, ok bool) {
	off := 0.0
	for j, d := range direction {
		if d == 0 {
			continue
		}
		u := y[j] / g.unit
		_, slope := g.at(j, u)
		terms := math.Abs(g.q[j]*u) + math.Abs(g.q[j]*g.c[j]) + math.Abs(g.b[j])
		if g.w[j] > 0 {
			terms += g.w[j] * (math.Abs(math.Log(u)) + 1)
		}
		lo += d * slope * g.gain / g.unit
		off += 0x1p-50 * math.Abs(d*terms*g.gain/g.unit)
	}
	return lo - off, lo + off, !math.IsNaN(lo)
}

// TestNoForceBesideLarge: a bound on which no force is counts as weak, whatever the rounding of a row through it, or of
// forces on other entries, leaves there.
func TestNoForceBesideLarge(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 61))
		n := 2 + rng.IntN(4)
		g := &bowls{unit: 1, gain: 1, grad: make([]float64, n)}
		var b [][]float64
		var r []float64
		row, side := make([]float64, n), 0.0
		free := false // an entry of the row, which makes its multiplier 0
		for j := range n {
			scale := math.Pow(10, float64(rng.IntN(7)))
			g.w, g.b, g.q = append(g.w, 0), append(g.b, 0), append(g.q, scale*(0.5+rng.Float64()))
			c := 0.0
			if j > 0 {
				c = math.Ldexp(float64(1+rng.IntN(7)), rng.IntN(21)-10) // so that side is exact
				if rng.IntN(3) == 0 {
					c = -c // a bound holds it
				}
			}
			g.c = append(g.c, c)
			bound := make([]float64, n)
			bound[j] = 1
			b, r = append(b, bound), append(r, 0)
			row[j] = float64(rng.IntN(7) - 3)
			side += row[j] * math.Max(c, 0)
			free = free || row[j] != 0 && c > 0
		}
		equal := map[int]bool{}
		if free {
			equal[len(b)] = rng.IntN(2) == 0
			b, r = append(b, row), append(r, side)
		}
		p := &problem.Problem{Dy: n, F: zero{}, G: g, Rows: rowsOf(0, n, b, r, equal), X: unbounded(0),
			Facts: problem.Facts{StrongConvexity: slices.Min(g.q), QuadraticInY: true, FixedHessian: true}}
		solver, err := New(Default, nil, p, 1)
		if err != nil {
			t.Fatal(err)
		}
		if s := solver.Solve(context.Background(), p, G(p, nil), nil, nil); s.Status == Solved && slices.Contains(s.Active, 0) {
			t.Errorf("seed %d: the bound on y_0 holds by %v, truly by 0: y %v, multipliers %v", seed, s.Lambda[0], s.Y, s.Lambda)
		}
	}
}
