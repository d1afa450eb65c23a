package outer

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A gradient counts by its weight: one in the ramp of a tie, as steep as its weight is small, makes no measure small.
func TestSteepSamplesCountByTheirWeight(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 71))
		steep := math.Pow(10, 3+9*rng.Float64())
		c := &Certificate{Gradients: [][]float64{{1, 0.5}, {-steep, 0}}, Weights: []float64{1 - 1/steep, 1 / steep}, Norm: 0.5}
		if share := c.Epsilon() / c.Size(); share < 0.2 || share > 0.5 {
			t.Errorf("seed %d: a descent of half of the gradient is a share %v of it", seed, share)
		}
	}
}

// A certificate is made of gradients of open pieces alone.
func TestWithinTakesOpenPieces(t *testing.T) {
	x := []float64{0}
	samples := []Sample{{X: []float64{0}, G: x}, {X: []float64{0}, G: x, Open: true, At: []float64{2}}, {X: []float64{3}, G: x, Open: true, At: []float64{0.5}},
		{X: []float64{0.5}, G: x, Open: true}}
	if got := Within(samples, x, 1); len(got) != 2 || got[0].At == nil || got[1].X[0] != 0.5 {
		t.Errorf("within 1 of 0: %+v", got)
	}
}
