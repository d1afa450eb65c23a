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

// At the apex of a cone of more rows than y has entries, with a gradient made of all of
// them, every row presses whatever units rows and objective are in, and none is weak.
// Where the rows move with x, and not together, they hold at this x alone: weak rows
// then stay weak.
func TestSpread(t *testing.T) {
	moved, still := 0, 0
	for seed := uint64(0); seed < 300; seed++ {
		rng := rand.New(rand.NewPCG(seed, 61))
		n := 1 + rng.IntN(4)
		m := n + 1 + rng.IntN(3)
		apart := seed%3 == 0
		rows := &problem.Rows{Rhs: make([]float64, m)}
		var a, b []sparse.Entry
		grad := make([]float64, n)
		for i := range m {
			unit := math.Pow(10, float64(rng.IntN(9)-4))
			kind := problem.AtMost
			if i == 0 && rng.IntN(3) == 0 {
				kind = problem.Equal
			}
			rows.Kind = append(rows.Kind, kind)
			force := float64(1 + rng.IntN(3))
			for j := range n {
				// The orthant, and combinations of it: a cone with an inside.
				v := 0.0
				if i < n && i == j {
					v = 1
				} else if i >= n {
					v = float64(rng.IntN(3)) + 0.5
					if rng.IntN(2) == 0 {
						v = -v / 4
					}
				}
				b = append(b, sparse.Entry{Row: i, Col: j, Val: v * unit})
				grad[j] += force * v
			}
			if apart {
				a = append(a, sparse.Entry{Row: i, Col: 0, Val: float64(1+rng.IntN(9)) * unit})
			}
		}
		if linalg.Norm(grad) < 0.1 {
			continue
		}
		rows.A, rows.B = sparse.FromEntries(m, 1, a), sparse.FromEntries(m, n, b)
		scale := math.Pow(10, float64(rng.IntN(9)-4))
		eye := make([]float64, n*n)
		c := make([]float64, n)
		for j := range n {
			eye[j*n+j], c[j] = scale, scale*grad[j]
		}
		p := &problem.Problem{Dx: 1, Dy: n, G: newQuadratic(1, n, eye, nil, c), Rows: rows}
		p.Facts = problem.Facts{StrongConvexity: scale, QuadraticInY: true, FixedHessian: true}
		x := []float64{0}
		s := newALM(defaultALM()).Solve(context.Background(), p, G(p, x), x, nil)
		if s.Status != Solved || linalg.NormInf(s.Y) > 1e-12 {
			t.Fatalf("seed %d: %v, y = %v", seed, s.Status, s.Y)
		}
		rest := append([]float64(nil), c...)
		rows.B.AddMulVecT(rest, -1, s.Lambda)
		if d := linalg.NormInf(rest); d > 1e-13*scale*float64(m) || s.Residuals.Stationarity > 1e-13*scale*float64(m) {
			t.Errorf("seed %d: the multipliers leave %g of the gradient, and say %g", seed, d, s.Residuals.Stationarity)
		}
		for k, i := range s.Active {
			if k > 0 && s.Active[k-1] >= i {
				t.Errorf("seed %d: active rows %v", seed, s.Active)
			}
		}
		for i, l := range s.Lambda {
			if l < 0 && rows.Kind[i] == problem.AtMost {
				t.Errorf("seed %d: multiplier %d is %g", seed, i, l)
			}
		}
		if apart {
			if len(s.Weak)+len(s.Active) > n && len(s.Weak) == 0 {
				t.Errorf("seed %d: rows that part as x moves are all active: %v", seed, s.Active)
			}
			moved++
			continue
		}
		if len(s.Weak) > 0 {
			t.Errorf("seed %d: rows %v are weak where all may press (multipliers %v)", seed, s.Weak, s.Lambda)
		}
		still++
	}
	if moved < 50 || still < 100 {
		t.Errorf("%d and %d cases", moved, still)
	}
}
