package kkt_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
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
