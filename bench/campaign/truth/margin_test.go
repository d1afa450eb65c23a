package truth

import (
	"math"
	"math/big"
	"testing"
)

// TestUndecided: y = max(0, x - kink). At the kink, and within rounding of it, no side is decided; a number that
// nothing is larger than is no rounding.
func TestUndecided(t *testing.T) {
	for _, c := range []struct {
		kink      float64
		x         float64
		undecided bool
	}{
		{0.3, 0.3, true}, {0.3, 0.1 + 0.2, true}, {0.3, 0.3 + 1e-12, false}, {0.3, 0, false},
		{0.25, 0.25, true}, {0, 0, true}, {0, 1e-16, false}, {0, -1e-16, false},
	} {
		m := plain(1, 1, math.Inf(-1), math.Inf(1))
		m.Linear[0], m.P[0][0], m.Q[0][0] = c.kink, -1, 1
		m.bound(0, -1, 0)
		undecided, known := NewEvaluator(m).Undecided([]*big.Rat{new(big.Rat).SetFloat64(c.x)})
		if !known || undecided != c.undecided {
			t.Errorf("a kink at %v, x = %v: %v (%v)", c.kink, c.x, undecided, known)
		}
	}
}
