package certify

import (
	"math"
	"testing"
)

// Vectors are compared at any size of number: squares of 1e200 overflow, those of 1e-200 vanish.
func TestVectorsOfAnySize(t *testing.T) {
	for _, unit := range []float64{1e-300, 1e-200, 1e-100, 1, 1e100, 1e200, 1e300} {
		for _, c := range []struct {
			off, tolerance float64
			ok             bool
		}{{0, 0, true}, {1e-9, 2e-9, true}, {3e-9, 2e-9, false}, {2, 1, false}, {math.NaN(), 1, false}, {math.Inf(1), 1, false}} {
			var r Report
			r.vector("v", []float64{unit, -2 * unit}, []float64{unit, (c.off - 2) * unit}, c.tolerance*unit)
			if r.Checks[0].OK != c.ok {
				t.Errorf("unit %g: off by %g with a tolerance of %g: %v", unit, c.off, c.tolerance, r.Checks[0].OK)
			}
		}
	}
}
