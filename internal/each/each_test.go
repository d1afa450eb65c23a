package each_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/each"
)

// TestAgainstLoops compares sums, largest values and numbers that are wanted with plain loops, on random lists with a NaN now and then.
func TestAgainstLoops(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		list := each.Below(rng.IntN(6), func(int) float64 {
			if rng.IntN(20) == 0 {
				return math.NaN()
			}
			return rng.NormFloat64()
		})
		sum, most := 0.0, 0.0
		var positive []int
		for k, v := range list {
			sum += v
			most = math.Max(most, v)
			if v > 0 {
				positive = append(positive, k)
			}
		}
		at := func(k int) float64 { return list[k] }
		own := func(v float64) float64 { return v }
		for _, c := range [][2]float64{{each.Sum(list, own), sum}, {each.SumBelow(len(list), at), sum}, {each.Largest(list, own), most}, {each.LargestBelow(len(list), at), most}} {
			if math.Float64bits(c[0]) != math.Float64bits(c[1]) && !(math.IsNaN(c[0]) && math.IsNaN(c[1])) {
				t.Errorf("%v: %v for %v", list, c[0], c[1])
			}
		}
		if got := each.WhereBelow(len(list), func(k int) bool { return list[k] > 0 }); !slices.Equal(got, positive) {
			t.Errorf("%v: positive at %v, not %v", list, got, positive)
		}
	}
}
