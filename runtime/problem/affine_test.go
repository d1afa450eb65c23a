package problem_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime/problem"
)

// A coefficient that terms cancel to is 0, whatever constant is lost beside the terms on the way, and one that stands alone is what it is, of any size.
func TestAlong(t *testing.T) {
	for seed := range members.Seeds(t, 200) {
		rng := rand.New(rand.NewPCG(seed, 33))
		size := func() float64 { return math.Ldexp(rng.NormFloat64(), rng.IntN(121)-60) }
		const m = 6
		var constant, own, cancels, want [m]float64
		for i := range m {
			switch rng.IntN(4) {
			case 0:
				constant[i], cancels[i] = size(), size()
			case 3: // beside a constant that is far away, and a coefficient that is so small that only far away it tells
				constant[i] = math.Ldexp(rng.NormFloat64(), rng.IntN(1000))
				own[i] = math.Ldexp(1+rng.Float64(), rng.IntN(900)-1+max(-1000, math.Ilogb(constant[i])-1000))
			case 1:
				own[i] = math.Ldexp(rng.NormFloat64(), rng.IntN(1801)-900)
			default:
				constant[i], own[i], cancels[i] = size(), size(), size()
			}
			want[i] = own[i]
		}
		eval := func(dst, v []float64) {
			for i := range dst {
				a := constant[i] + cancels[i]*v[0]
				dst[i] = a - cancels[i]*v[0] + own[i]*v[0]
			}
		}
		at, got := make([]float64, m), make([]float64, m)
		eval(at, []float64{0})
		if err := problem.Along(got, []float64{1}, at, eval); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i := range got {
			if math.Abs(got[i]-want[i]) > 0x1p-50*(math.Abs(want[i])+math.Abs(cancels[i])) || want[i] == 0 && got[i] != 0 {
				t.Errorf("seed %d: coefficient %v, truly %v, beside %v and terms of %v that cancel", seed, got[i], want[i], constant[i], cancels[i])
			}
		}
	}
}
