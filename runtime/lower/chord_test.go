package lower

import (
	"bytes"
	"context"
	"encoding/gob"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// A Hessian measured near the solution serves the solves that follow: they find the
// same answers as solves without it, with far fewer gradients, and depend on it as it
// is written down and read again, and on nothing else.
func TestChordServesTheNextSolves(t *testing.T) {
	for seed := uint64(0); seed < 20; seed++ {
		rng := rand.New(rand.NewPCG(seed, 71))
		n := 30 + rng.IntN(30)
		g := &exponential{mu: 0.01, unit: math.Pow(10, float64(rng.IntN(9)-4)), factor: math.Pow(10, float64(rng.IntN(9)-4)), c: normal(rng, n)}
		for range 2 * n {
			row := normal(rng, n)
			for j := range row {
				row[j] /= math.Sqrt(float64(n))
			}
			g.a, g.w = append(g.a, row), append(g.w, 0.2+rng.Float64())
		}
		var entries []sparse.Entry
		for j := range n { // y <= 0.1
			entries = append(entries, sparse.Entry{Row: j, Col: j, Val: -1})
		}
		p := &problem.Problem{Dx: 1, Dy: n, G: g, F: g, X: unbounded(1), Rows: &problem.Rows{
			Kind: make([]problem.Kind, n), A: sparse.FromEntries(n, 1, nil), B: sparse.FromEntries(n, n, entries), Rhs: make([]float64, n)}}
		for j := range n {
			p.Rows.Rhs[j] = 0.1 * g.unit
		}
		p.Facts.StrongConvexity = g.mu * g.factor / (g.unit * g.unit)
		x := []float64{0}
		p = p.Counted()
		with, without := newALM(defaultALM()), newALM(almSettings{Tolerance: tolerance.SolveAccuracy, Identify: 1e-3, Corrections: 200, Memory: 20, MaxOuter: 30, Budget: 2000})
		solve := func(a *alm, warm *Solution) (*Solution, int64) {
			before := p.Calls().GradG
			s := a.Solve(context.Background(), p, G(p, x), x, warm)
			return s, p.Calls().GradG - before
		}
		s, _ := solve(with, nil)
		if s.Status != Solved || !s.Memory.Complete() || !s.Memory.Near {
			t.Errorf("seed %d: %v (%s), memory %v", seed, s.Status, s.Reason, s.Memory != nil)
			continue
		}
		var fewer, more int64
		for range 6 {
			for j := range g.c {
				g.c[j] *= 1 + 1e-3*rng.NormFloat64()
			}
			var b bytes.Buffer
			var read Solution
			written := *s
			written.Memory = s.Memory.Written()
			if err := gob.NewEncoder(&b).Encode(&written); err != nil {
				t.Fatal(err)
			}
			if err := gob.NewDecoder(&b).Decode(&read); err != nil {
				t.Fatal(err)
			}
			want, calls := solve(without, &Solution{Y: s.Y, Lambda: s.Lambda, Active: s.Active, Weak: s.Weak})
			more += calls
			again, _ := solve(newALM(defaultALM()), &read)
			if s, calls = solve(with, s); s.Status != Solved || want.Status != Solved {
				t.Fatalf("seed %d: %v (%s), without %v (%s)", seed, s.Status, s.Reason, want.Status, want.Reason)
			}
			fewer += calls
			if !slices.Equal(s.Y, again.Y) || !slices.Equal(s.Lambda, again.Lambda) || again.Memory.Steps != s.Memory.Steps {
				t.Errorf("seed %d: a memory that was written down leads to another answer", seed)
			}
			// Each is within its residual over mu of the solution.
			off := (s.Residuals.Stationarity + want.Residuals.Stationarity) * math.Sqrt(float64(n)) / p.Facts.StrongConvexity
			if d := linalg.Distance(s.Y, want.Y); d > off+1e-12*g.unit {
				t.Errorf("seed %d: y differs by %g, more than %g", seed, d, off)
			}
		}
		if 3*fewer > more {
			t.Errorf("seed %d: %d gradients with the Hessian of before, %d without", seed, fewer, more)
		}
	}
}
