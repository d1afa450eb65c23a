package outer

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/qp"
)

// Rays of a certificate begin where the way along the path ended, where that is near, and lead to no point that is
// farther than the radius from the center; F counts as at the center.
func TestOffKinks(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 10))
	for range 300 {
		n, delta := 1+rng.IntN(5), math.Pow(10, -6*rng.Float64())
		m := &goldstein{}
		center := Sample{X: make([]float64, n), F: rng.NormFloat64()}
		way := make([]float64, n)
		for j := range way {
			center.X[j], way[j] = rng.NormFloat64(), rng.NormFloat64()
		}
		m.state.Center = center
		if at, radius := m.offKinks(delta); at != &m.state.Center || radius != delta {
			t.Fatalf("without an arrival: %v, %g", at, radius)
		}
		off := delta * rng.Float64()
		m.state.Arrival = &Sample{X: plus(center.X, off/norm(way), way), F: center.F + 1}
		at, radius := m.offKinks(delta)
		if far := distance(at.X, center.X); radius <= 0 || far+radius > delta*(1+1e-9) {
			t.Errorf("rays of %g from a point %g away, within %g", radius, far, delta)
		}
		if off < 0.49*delta && (at.X[0] != m.state.Arrival.X[0] || radius < delta-off*(1+1e-6)) || off > 0.51*delta && radius != delta {
			t.Errorf("rays of %g of %g where the arrival is %g away", radius, delta, off)
		}
		if at.F != center.F || m.state.Arrival.F != center.F+1 {
			t.Errorf("F is %g there, %g at the center", at.F, center.F)
		}
	}
}

// A point is beyond the hinges asked for and before the others, within the radius; where these contradict each other
// there is none.
func TestInsidePieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 10))
	for trial := range 20 {
		n := 8
		set := &problem.Set{E: sparse.FromEntries(0, n, nil)}
		for range n {
			set.Lo, set.Hi = append(set.Lo, math.Inf(-1)), append(set.Hi, math.Inf(1))
		}
		rows := &problem.Rows{A: sparse.FromEntries(0, n, nil), B: sparse.FromEntries(0, 1, nil)}
		run := &Run{projector: qp.NewProjector(set, rows, n, 1)}
		m := &goldstein{}
		m.state.Center = Sample{X: make([]float64, n), G: make([]float64, n)}
		// Two hinges on one kink that bend on opposite sides: no point is beyond both, nor before both.
		h := make([]float64, n)
		for j := range h {
			h[j] = rng.NormFloat64()
		}
		near := []qp.Affine{{Gradient: h}, {Gradient: plus(make([]float64, n), -1, h)}}
		for _, c := range []struct {
			bent []int
			some bool
		}{{nil, false}, {[]int{0, 1}, false}, {[]int{0}, true}, {[]int{1}, true}} {
			x, err := m.inside(run, near, c.bent, 1e-3)
			if err != nil {
				t.Fatal(err)
			}
			if (x != nil) != c.some {
				t.Errorf("trial %d: %v beyond %v", trial, x, c.bent)
			}
			if x == nil {
				continue
			}
			if distance(x, m.state.Center.X) > 1e-3 || (dot(x, h) > 0) != (c.bent[0] == 0) {
				t.Errorf("trial %d: %v is not beyond %v", trial, x, c.bent)
			}
		}
	}
}
