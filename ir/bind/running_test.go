package bind

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestLongSums: the coefficients of a row that is written out are those of its terms, added from the left, bit for bit, with
// what is left of terms that cancel taken for 0.
func TestLongSums(t *testing.T) {
	cancelled := 0
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 91))
		const n = 4
		var sum, size [n]float64
		var seen [n]bool
		text := ""
		for k := range 2 + rng.IntN(30) {
			j, c, sign := rng.IntN(n), float64(1+rng.IntN(9))/10, 1-2*rng.IntN(2)
			switch {
			case k == 0:
				sign = 1
			case sign < 0:
				text += " - "
			default:
				text += " + "
			}
			text += fmt.Sprintf("%g * x[%d]", c, j+1)
			if c *= float64(sign); seen[j] {
				sum[j], size[j] = sum[j]+c, size[j]+math.Abs(c)
				if math.Abs(sum[j]) <= 4*0x1p-52*size[j] {
					sum[j] = 0
					cancelled++
				}
			} else {
				sum[j], size[j], seen[j] = c, math.Abs(c), true
			}
		}
		p := bindText(t, "model sums\nupper {\n  var x: vector[4] in box(-1, 1)\n  minimize sum(x) + y\n}\nlower {\n  var y: real\n  minimize (y - x[1])^2\n  subject to\n    c: "+text+" + y <= 20\n}\n")
		if len(p.Rows) != 1 {
			t.Fatalf("seed %d: %d rows of %s", seed, len(p.Rows), text)
		}
		var got [n]float64
		cols, vals := p.A.Row(0)
		for k, j := range cols {
			got[j] = vals[k]
		}
		if got != sum {
			t.Errorf("seed %d: %s\nis %v, not %v", seed, strings.TrimSpace(text), got, sum)
		}
	}
	if cancelled < 20 {
		t.Errorf("only %d sums cancel", cancelled)
	}
}
