package outer

import (
	"bilevelc/runtime/linalg"
	"context"
	"math"
	"math/rand/v2"
	"testing"
)

// The target of bundle is epsilon times the largest gradient at hand, and a tenth of
// the terms of the first one where those at hand have vanished.
func TestTarget(t *testing.T) {
	for _, c := range []struct{ slope, center, other, want float64 }{
		{1, 4, 0, 4e-5}, {1, 0, 3, 3e-5}, {1, 0, 0, 1e-6}, {1e-8, 1e-9, 0, 1e-14}, {1e9, 0, 1e3, 1e3},
	} {
		m := &bundle{Settings: *defaultBundle()}
		m.State.Center = Sample{G: []float64{0, c.center}}
		run := &Run{slope: c.slope}
		if got := m.target(run, Sample{G: []float64{c.other, 0}}); math.Abs(got-c.want) > 1e-9*c.want {
			t.Errorf("first terms %g, gradients %g and %g: target %g, want %g", c.slope, c.center, c.other, got, c.want)
		}
	}
}

// A measure within the target of a certificate is a share epsilon of a gradient that the certificate shows, whatever is known from
// further off: verification has nothing else to compare it with.
func TestCertificatesShowWhatTheyAreRelativeTo(t *testing.T) {
	met, added := 0, 0
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 71))
		const delta = 1e-6
		m := &bundle{Settings: *defaultBundle()}
		m.State.Center = Sample{X: []float64{1}, G: []float64{0}, Open: true}
		c := &Certificate{Norm: math.Pow(10, 4*rng.Float64()-7), Gradients: [][]float64{{rng.Float64()}}, Points: [][]float64{{1}},
			Faces: [][]int{{}}, Weights: []float64{1}}
		for range rng.IntN(5) {
			s := Sample{X: []float64{1 + 2*delta*rng.Float64()}, G: []float64{math.Pow(10, 4*rng.Float64())}, Open: rng.IntN(4) > 0}
			m.State.Bundle = append(m.State.Bundle, s)
		}
		m.State.Bundle = append(m.State.Bundle, Sample{X: []float64{1}, G: c.Gradients[0], Open: true})
		run := &Run{}
		small := c.epsilon() <= m.targetWithin(run, delta)
		before := len(c.Gradients)
		if err := c.scale(context.Background(), run, within(m.State.Bundle, m.State.Center.X, delta), m.Settings.Epsilon); err != nil {
			t.Fatal(err)
		}
		most, sum := 0.0, 0.0
		for k, g := range c.Gradients {
			most, sum = math.Max(most, linalg.Norm(g)), sum+c.Weights[k]
			if k >= before && (c.Weights[k] != 0 || linalg.Distance(c.Points[k], m.State.Center.X) > delta) {
				t.Errorf("seed %d: a gradient from %v was added with weight %v", seed, c.Points[k], c.Weights[k])
			}
		}
		if added += len(c.Gradients) - before; small {
			met++
			if c.epsilon() > m.Settings.Epsilon*most {
				t.Errorf("seed %d: a measure of %v is within the target, and the gradients are at most %v", seed, c.epsilon(), most)
			}
		}
		if sum != 1 || len(c.Faces) != len(c.Gradients) || len(c.Points) != len(c.Gradients) {
			t.Errorf("seed %d: weights add up to %v, %d faces and %d points of %d gradients", seed, sum, len(c.Faces), len(c.Points), len(c.Gradients))
		}
	}
	if met < 50 || added < 50 {
		t.Errorf("%d measures within the target, %d gradients added", met, added)
	}
}

// A certificate is made of gradients of open pieces alone.
func TestWithinTakesOpenPieces(t *testing.T) {
	x := []float64{0}
	samples := []Sample{{X: []float64{0}, G: x}, {X: []float64{0}, G: x, Open: true, At: []float64{2}}, {X: []float64{3}, G: x, Open: true, At: []float64{0.5}},
		{X: []float64{0.5}, G: x, Open: true}}
	if got := within(samples, x, 1); len(got) != 2 || got[0].At == nil || got[1].X[0] != 0.5 {
		t.Errorf("within 1 of 0: %+v", got)
	}
}
