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

// A slack next to whose terms of x are large is positive all the same: z and the rows are whole numbers here, whose slacks are known without rounding.
func TestSlackBesideLargeTerms(t *testing.T) {
	rng := members.Rand(t, 4)
	for k := range members.Of(200, 4000) {
		nx, ny, m := 1+rng.IntN(2), 1+rng.IntN(3), 2+rng.IntN(4)
		a, b := sparse.Empty(nx), sparse.Empty(ny)
		g := &kkttest.Quadratic{Nx: nx, Ny: ny, M: make([]float64, (nx+ny)*(nx+ny)), C: make([]float64, nx+ny)}
		x, y := make([]float64, nx), make([]float64, ny)
		for j := range x {
			x[j] = math.Round(math.Pow(10, 10*rng.Float64()))
		}
		for j := range y {
			y[j] = float64(1 + rng.IntN(20))
		}
		rhs, slack := make([]float64, m), make([]float64, m)
		for i := range m {
			for j := range nx {
				if v := float64(rng.IntN(7) - 3); v != 0 {
					a.Append(j, v)
					rhs[i] += v * x[j]
				}
			}
			for j := range ny {
				if v := float64(rng.IntN(7) - 3); v != 0 && i%2 == 0 { // each other row reads x alone
					b.Append(j, v)
					rhs[i] -= v * y[j]
				}
			}
			a.EndRow()
			b.EndRow()
			slack[i] = float64(rng.IntN(3))
			rhs[i] += slack[i]
		}
		lo, hi := make([]float64, nx), make([]float64, nx)
		for j := range hi {
			hi[j] = 1e10
		}
		p := &problem.Problem{Name: "slacks", Dx: nx, Dy: ny, F: g, G: g, Start: x,
			X:     &problem.Set{Lo: lo, Hi: hi, E: sparse.FromEntries(0, nx, nil)},
			Rows:  &problem.Rows{Kind: make([]problem.Kind, m), A: a, B: b, Rhs: rhs},
			Facts: problem.Facts{JointlyQuadratic: true, Convex: true}}
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		z := make([]float64, s.N)
		copy(s.X(z), x)
		copy(s.Y(z), y)
		for i, positive := range s.SignsAt(z).Slack {
			if positive != (slack[i] > 0) {
				t.Fatalf("case %d: a slack of %g is positive: %v, at x = %g, y = %g", k, slack[i], positive, x, y)
			}
		}
	}
}

// A slack of an entry of y that its own curvature tells from 0 is positive, however little others curve that rows connect it with: forces have the rounding of their terms, and what each entry's curvature makes of that is its own.
func TestSlackBesideFlatEntries(t *testing.T) {
	rng := members.Rand(t, 5)
	flat := 0
	for k := range members.Of(200, 4000) {
		n := 2 + rng.IntN(4)
		b := sparse.Empty(n)
		g := &kkttest.Quadratic{Nx: 1, Ny: n, M: make([]float64, (n+1)*(n+1)), C: make([]float64, n+1)}
		y, h, price := make([]float64, n), make([]float64, n), float64(1+rng.IntN(9))
		rows := &problem.Rows{Kind: make([]problem.Kind, n+1), A: sparse.FromEntries(n+1, 1, nil), Rhs: make([]float64, n+1)}
		for j := range n {
			y[j], h[j] = float64(rng.IntN(5)), math.Ldexp(1, -rng.IntN(4))
			if rng.IntN(2) == 0 { // less than doubles tell beside forces
				h[j] = math.Ldexp(1, -50-rng.IntN(40))
				flat++
			}
			g.M[(j+1)*(n+1)+j+1], g.C[j+1] = h[j], price-h[j]*y[j]
			b.Append(j, 1)
			b.EndRow()
		}
		rows.Kind[n] = problem.Equal
		for j, v := range y {
			b.Append(j, 1)
			rows.Rhs[n] -= v
		}
		b.EndRow()
		rows.B = b
		p := &problem.Problem{Name: "flat", Dx: 1, Dy: n, F: g, G: g, Start: []float64{0},
			X: &problem.Set{Lo: []float64{0}, Hi: []float64{1}, E: sparse.FromEntries(0, 1, nil)}, Rows: rows,
			Facts: problem.Facts{JointlyQuadratic: true, Convex: true}}
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		z := make([]float64, s.N)
		copy(s.Y(z), y)
		s.Lambda(z)[n] = price
		for j, positive := range s.SignsAt(z).Slack[:n] {
			if told := h[j] > 0.1; told && positive != (y[j] > 0) || !told && positive && y[j] == 0 {
				t.Fatalf("case %d: y = %v, curvatures %v: entry %d is positive: %v", k, y, h, j, positive)
			}
		}
	}
	if flat == 0 {
		t.Error("all entries curve alike")
	}
}
