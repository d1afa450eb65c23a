package kkt_test

import (
	"math"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
)

// A follower with a cost on each of its entries takes their bounds, and has no other answer, however different these costs are and whatever rows connect the entries: each multiplier is
// known from the cost that is made of it.
func TestSignsOfForcesOfAnySize(t *testing.T) {
	rng := members.Rand(t, 3)
	apart := 0
	for k := range members.Of(200, 4000) {
		n := 2 + rng.IntN(3)
		lambda := make([]float64, n)
		for i := range lambda {
			lambda[i] = (0.5 + 1.5*rng.Float64()) * math.Pow(10, float64(rng.IntN(13)-6))
		}
		b := sparse.Empty(n)
		g := &kkttest.Quadratic{Nx: 1, Ny: n, M: make([]float64, (n+1)*(n+1)), C: make([]float64, n+1)}
		for i := range n {
			for j := range n {
				v := 0.0
				if i == j {
					v = 1
				} else if rng.IntN(2) == 0 { // a tenth of the force on y_j at most
					v = math.Min(1, 0.1*lambda[j]/lambda[i]/float64(n)) * rng.Float64()
				}
				if v != 0 {
					b.Append(j, v)
					g.C[1+j] += v * lambda[i]
				}
			}
			b.EndRow()
		}
		p := &problem.Problem{Name: "forces", Dx: 1, Dy: n, F: g, G: g, Start: []float64{0},
			X:     &problem.Set{Lo: []float64{0}, Hi: []float64{1}, E: sparse.FromEntries(0, 1, nil)},
			Rows:  &problem.Rows{Kind: make([]problem.Kind, n), A: sparse.FromEntries(n, 1, nil), B: b, Rhs: make([]float64, n)},
			Facts: problem.Facts{JointlyQuadratic: true, Convex: true}}
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		f, err := kkt.NewFollower(s)
		if err != nil {
			t.Fatal(err)
		}
		z := make([]float64, s.N)
		copy(s.Lambda(z), lambda)
		for i, positive := range s.SignsAt(z).Mult {
			if !positive {
				t.Errorf("case %d: multiplier %d of %g is taken for 0", k, i, lambda)
			}
		}
		if !f.Unique(t.Context(), z) {
			t.Errorf("case %d: multipliers of %g leave no other answer than 0", k, lambda)
		}
		solved, status := f.Solve(t.Context(), []float64{0})
		if status != activeset.Optimal || !f.Unique(t.Context(), solved) {
			t.Errorf("case %d: %v, multipliers %g for %g", k, status, s.Lambda(solved), lambda)
		}
		for i := range lambda {
			if lambda[i] < 1e-9*lambda[0] {
				apart++
				break
			}
		}
	}
	if apart == 0 {
		t.Error("no case has forces that are far apart")
	}
}
