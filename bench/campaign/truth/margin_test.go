package truth

import (
	"math/big"
	"testing"
)

// TestUndecided: y = max(0, x - kink). At the kink, and within rounding of it, no side is decided; a number that
// nothing is larger than is no rounding.
func TestUndecided(t *testing.T) {
	for _, c := range []struct {
		kink      *big.Rat
		x         float64
		undecided bool
	}{
		{Rat(3, 10), 0.3, true}, {Rat(3, 10), 0.1 + 0.2, true}, {Rat(3, 10), 0.3 + 1e-12, false}, {Rat(3, 10), 0, false},
		{Rat(1, 4), 0.25, true}, {Rat(0, 1), 0, true}, {Rat(0, 1), 1e-16, false}, {Rat(0, 1), -1e-16, false},
	} {
		m := &Model{Dx: 1, Dy: 1, XLo: make([]*big.Rat, 1), XHi: make([]*big.Rat, 1), YLo: Zeros(1), YHi: make([]*big.Rat, 1),
			F: Function{Lx: Zeros(1), Ly: Zeros(1)},
			G: Function{Lx: Zeros(1), Ly: []*big.Rat{c.kink}, Xy: [][]*big.Rat{{Rat(-1, 1)}}, Yy: [][]*big.Rat{{Rat(1, 1)}}}}
		undecided, known := NewEvaluator(m).Undecided([]*big.Rat{new(big.Rat).SetFloat64(c.x)})
		if !known || undecided != c.undecided {
			t.Errorf("a kink at %v, x = %v: %v (%v)", c.kink, c.x, undecided, known)
		}
	}
}
