package lower

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/runtime/problem"
)

// TestSmallForcesBesideLarge: an entry of y whose forces are smaller by up to thirty digits than those on
// others, which bounds hold or curvature, and which a row that does not hold may join, is found like one that is
// alone. The truth is that of one variable at a time, by bisection.
func TestSmallForcesBesideLarge(t *testing.T) {
	const cases = 400
	solved, off := 0, 0
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
		solver, err := New(Default, nil, p, 1)
		if err != nil {
			t.Fatal(err)
		}
		s := solver.Solve(context.Background(), p, G(p, nil), nil, nil)
		if s.Status != Solved {
			continue
		}
		solved++
		for j, v := range want {
			if math.Abs(s.Y[j]-v) > 1e-6*math.Abs(v)+1e-12*math.Abs(g.b[j])/g.q[j] {
				off++
				t.Errorf("seed %d: y_%d is %v, truly %v: %v, truly %v", seed, j, s.Y[j], v, s.Y, want)
				break
			}
		}
	}
	t.Logf("%d solved, %d off", solved, off)
	if solved < 9*cases/10 {
		t.Errorf("%d of %d solved", solved, cases)
	}
}
