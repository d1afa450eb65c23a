package outer

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
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

// A run whose bundle has led to no certificate ends where its way along the path did if there is one, and nowhere else:
// not at a point that is not stationary, nor at one that is higher by more than next to nothing.
func TestEndAtArrival(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 10))
	none := stuck("no certificate")
	for trial := range 60 {
		n := 2 + rng.IntN(3)
		h := &formula{n: n, value: func(x []float64) float64 { return math.Abs(x[0]) + dot(x[1:], x[1:])/2 },
			grad: func(x []float64) []float64 {
				g := clone(x)
				g[0] = math.Copysign(1, x[0])
				return g
			}}
		blind := trial%4 == 3 // neither a certificate nor a lower point is to be found
		if blind {
			h = &formula{n: n, value: func([]float64) float64 { return 0 }, grad: func(x []float64) []float64 { return append([]float64{1}, x[1:]...) }}
		}
		run := &Run{h: h, projector: h.Projector(), published: &published{}, source: rand.NewPCG(uint64(trial), 5), width: 1}
		run.Rand, run.Start = rand.New(run.source), make([]float64, n)
		m := &goldstein{Settings: *defaultGoldstein()}
		arrival := make([]float64, n)
		arrival[0] = 1e-7 * rng.Float64() // beside the kink, where F is least
		stationary := trial%3 != 1
		if !stationary {
			arrival[1] = 0.5
		}
		at, err := run.Gradient(context.Background(), arrival)
		if err != nil {
			t.Fatal(err)
		}
		here := *at
		here.X, here.F = plus(arrival, 1e-3, []float64{0, 1, 0, 0, 0}[:n]), at.F-1e-13
		high := trial%3 == 2
		if high {
			here.F = at.F - 1e-3
		}
		m.state.Center, m.state.Arrival, m.state.H = here, at, newQuasiNewton(n, 1)
		reason, err := m.endAtArrival(context.Background(), run, none)
		if stationary && !high && !blind {
			if err != nil || reason == "" || !m.state.Settled || m.state.Center.F != at.F {
				t.Errorf("trial %d: %q, %v, center %v", trial, reason, err, m.state.Center.X)
			}
			continue
		}
		if lower := err == nil && reason == "" && m.state.Center.F < here.F; (blind || !lower) && (err != none || m.state.Center.F != here.F) || m.state.Settled || m.state.Arrival != nil {
			t.Errorf("trial %d: %q, %v, center %v of F %g, %g before", trial, reason, err, m.state.Center.X, m.state.Center.F, here.F)
		}
	}
}
