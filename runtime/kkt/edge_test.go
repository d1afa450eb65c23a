package kkt_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// On the edge of where the follower has a feasible y these are a corner of its box, which a row meets there to the rounding of its terms, or a plane, where two rows
// meet: the follower answers there, with g as well as with another objective in its place, and by the same y where that is g's.
func TestAnswersAtTheEdge(t *testing.T) {
	widened := 0
	for seed := range members.SeedsOf(t, 200, 2000) {
		rng := rand.New(rand.NewPCG(seed, 15))
		p := kkttest.Random(rng, 2, 3, 0, true, seed%2 == 0)
		x, y, a, b := make([]float64, 2), make([]float64, 3), make([]float64, 2), make([]float64, 3)
		side := 0.0
		for j := range x {
			x[j], a[j] = float64(rng.IntN(383)-191)/64, float64(1+rng.IntN(3))
			side += a[j] * x[j]
		}
		for j := range y {
			y[j], b[j] = 1+float64(rng.IntN(128))/64, float64(rng.IntN(7)-3)
			if seed%3 > 0 {
				y[j] = 2 + math.Copysign(2, b[j])
			}
			side -= b[j] * y[j]
		}
		for _, k := range []float64{1, -1} {
			kkttest.AddRow(p.Rows, problem.AtMost, []float64{k * a[0], k * a[1]}, []int{0, 1, 2}, []float64{k * b[0], k * b[1], k * b[2]}, k*side)
		}
		for j, v := range a { // all is exact so far; what rounds x may take it beyond the edge
			x[j] = math.Nextafter(x[j], math.Copysign(10, v))
		}
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		f, err := kkt.NewFollower(s)
		if err != nil {
			t.Fatal(err)
		}
		z, status := f.Solve(t.Context(), x)
		if status != activeset.Optimal {
			t.Fatalf("seed %d: %v, and %v is feasible to rounding", seed, status, y)
		}
		c := make([]float64, s.Ny)
		for j := range c {
			c[j] = s.Q[j] + s.G.RowDot(j, x)
		}
		same, status := f.Minimize(t.Context(), x, s.H, c)
		if status != activeset.Optimal {
			t.Fatalf("seed %d: %v of the same objective, and %v is feasible to rounding", seed, status, y)
		}
		for j, v := range s.Y(z) {
			if math.Abs(v-s.Y(same)[j]) > 1e-9 { // y has entries of up to 4, H of up to 4
				t.Errorf("seed %d: %v, and %v of the same objective", seed, s.Y(same), s.Y(z))
			}
		}
		h := make([]float64, p.Rows.Len())
		if p.Rows.Residual(h, x, s.Y(z)); math.Max(h[len(h)-1], h[len(h)-2]) > 0 {
			widened++
		}
	}
	t.Logf("%d answers are beyond a row, by rounding", widened)
}

// On the edge of where g has a bound, over y >= 0, along y[1] = y[2] = ..., or over free y, its slope is 0 to the rounding of its terms: the follower answers there. Beyond it by more it has none.
func TestAnswersAtTheEdgeOfABound(t *testing.T) {
	beyond := 0
	for seed := range members.SeedsOf(t, 200, 2000) {
		rng := rand.New(rand.NewPCG(seed, 16))
		nx, ny := 1+rng.IntN(4), 1+rng.IntN(3)
		p := kkttest.Random(rng, nx, ny, 0, false, false)
		p.Rows = &problem.Rows{A: sparse.Empty(nx), B: sparse.Empty(ny)}
		g, n := p.G.(*kkttest.Quadratic), nx+ny
		x, a, rest := make([]float64, nx), make([]float64, nx), 0.0
		for i := range x {
			x[i], a[i] = float64(rng.IntN(383)-191)/64, math.Copysign(float64(1+rng.IntN(3)), rng.NormFloat64())
			rest -= a[i] * x[i]
		}
		joined, free := rng.IntN(2) == 0, ny == 1 && rng.IntN(2) == 0
		left, over := 1.0, 0.0
		for j := range ny {
			k, c := float64(1+j), 0.0
			if joined { // the slopes add up to that of one entry
				if k, c = float64(rng.IntN(9)-4), float64(rng.IntN(9)-4); j == ny-1 {
					k, c = left, over
				}
				left, over = left-k, over-c
			}
			for i, v := range a {
				g.M[i*n+nx+j], g.M[(nx+j)*n+i] = k*v, k*v
			}
			g.C[nx+j] = k*rest + c
			if !free {
				kkttest.AddRow(p.Rows, problem.AtMost, nil, []int{j}, []float64{1}, 0)
			}
			if joined && j > 0 {
				kkttest.AddRow(p.Rows, problem.Equal, nil, []int{j - 1, j}, []float64{1, -1}, 0)
			}
		}
		for i, v := range a { // all is exact so far; what rounds x may take it beyond the edge
			x[i] = math.Nextafter(x[i], math.Copysign(10, rng.NormFloat64()*v))
		}
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		f, err := kkt.NewFollower(s)
		if err != nil {
			t.Fatal(err)
		}
		if rest+linalg.Dot(a, x) < 0 {
			beyond++
		}
		if z, status := f.Solve(t.Context(), x); status != activeset.Optimal {
			t.Errorf("seed %d: %v at the edge", seed, status)
		} else if v := slices.Min(s.Y(z)); !free && v < 0 {
			t.Errorf("seed %d: the answer %v", seed, s.Y(z))
		}
		x[0] -= 1e-6 / a[0] // slopes are told from 0 to 1e-9 of the others
		if _, status := f.Solve(t.Context(), x); status != activeset.Unbounded {
			t.Errorf("seed %d: %v beyond the edge", seed, status)
		}
	}
	t.Logf("%d slopes fall at the edge, by rounding", beyond)
}
