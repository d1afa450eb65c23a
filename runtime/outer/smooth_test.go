package outer

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestCreep: a descent ends within forty steps of where it begins to gain less than its least over twenty, and one that gains
// a tenth of that in each step goes on.
func TestCreep(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 11))
	for trial := range 200 {
		least, f := math.Pow(10, 10*rng.Float64()-8), 100*rng.NormFloat64()
		fast := rng.IntN(200)
		c := &creep{least: least, before: f}
		for k := 1; ; k++ {
			if c.at(f) {
				if k <= fast {
					t.Errorf("trial %d: ended at step %d, while it fell until %d", trial, k, fast)
				}
				break
			}
			if k > fast+2*creepSteps {
				t.Errorf("trial %d: goes on at step %d, where it gains little from %d on", trial, k, fast)
				break
			}
			if k <= fast {
				f -= least * (0.1 + rng.Float64())
			} else {
				f -= least * 0.9 / creepSteps * rng.Float64()
			}
		}
	}
}
