package linalg

import (
	"math"
	"testing"
)

// TestNorm: norms scale with their vectors over the whole range of doubles, and say
// where an entry is no number.
func TestNorm(t *testing.T) {
	for _, scale := range []float64{1, 1e-300, 5e-324, 1e-160, 1e160, 1e307} {
		v := []float64{3 * scale, 0, -4 * scale}
		if got := Norm(v); math.Abs(got/scale-5) > 1e-15*5 {
			t.Errorf("scale %g: %g", scale, got)
		}
		if got := NormInf(v); got != 4*scale {
			t.Errorf("scale %g: %g", scale, got)
		}
	}
	for _, v := range [][]float64{nil, {0, 0}} {
		if Norm(v) != 0 || NormInf(v) != 0 {
			t.Errorf("%v has norms %v and %v", v, Norm(v), NormInf(v))
		}
	}
	nan, inf := math.NaN(), math.Inf(1)
	for _, v := range [][]float64{{nan}, {1, nan}, {inf, nan}, {nan, inf}} {
		if !math.IsNaN(Norm(v)) || !math.IsNaN(NormInf(v)) {
			t.Errorf("%v has norms %v and %v", v, Norm(v), NormInf(v))
		}
	}
	if v := []float64{1, -inf}; Norm(v) != inf || NormInf(v) != inf {
		t.Errorf("%v has norms %v and %v", v, Norm(v), NormInf(v))
	}
}

// TestToBoundary: no positive entry loses more than its share, one that limits the step loses that, and entries that are not positive, or grow, do not limit it.
func TestToBoundary(t *testing.T) {
	for _, c := range []struct {
		v, d []float64
		want float64
	}{
		{[]float64{1, 2, 0}, []float64{-2, -8, -1}, 0.125},
		{[]float64{1, 2}, []float64{-0.25, 1e300}, 1},
		{[]float64{-1, 4}, []float64{-1, -2}, 1},
		{nil, nil, 1},
	} {
		if got := ToBoundary(c.v, c.d, 0.5, 1); got != c.want {
			t.Errorf("%v along %v: %v, want %v", c.v, c.d, got, c.want)
		}
	}
	if got := ToBoundary([]float64{1}, []float64{-1}, 0.5, 0.25); got != 0.25 {
		t.Errorf("%v, at most 0.25", got)
	}
}
