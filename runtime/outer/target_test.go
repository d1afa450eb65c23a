package outer

import (
	"math"
	"testing"
)

// The target of goldstein is epsilon times the largest gradient at hand, and a tenth of
// the terms of the first one where those at hand have vanished.
func TestTarget(t *testing.T) {
	for _, c := range []struct{ slope, center, other, want float64 }{
		{1, 4, 0, 4e-5}, {1, 0, 3, 3e-5}, {1, 0, 0, 1e-6}, {1e-8, 1e-9, 0, 1e-14}, {1e9, 0, 1e3, 1e3},
	} {
		m := &goldstein{Settings: *defaultGoldstein()}
		m.state.Center = Sample{G: []float64{0, c.center}}
		run := &Run{slope: c.slope}
		if got := m.target(run, Sample{G: []float64{c.other, 0}}); math.Abs(got-c.want) > 1e-9*c.want {
			t.Errorf("first terms %g, gradients %g and %g: target %g, want %g", c.slope, c.center, c.other, got, c.want)
		}
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
