package sequential_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// Where F falls along a curved valley by parts of 1e-12 of its terms, of which rounding leaves more than enough, its values tell how long steps may be: those of Newton's method alone, each of which is to bring the
// gradient down, end on the way.
func TestShallowValleys(t *testing.T) {
	both(t, func(t *testing.T, large bool) {
		var n ends
		for seed := range members.Seeds(t, 20) {
			rng := rand.New(rand.NewPCG(seed, 19))
			model, err := runtime.Compile("valley.blv", fmt.Sprintf(`model valley
upper {
  var x: vector[2] in box(-10, 10)
  minimize %v + 1e-7 * (%v * (y[2] - y[1]^2)^2 + (1 - y[1])^2)
}
lower {
  var y: vector[2] in box(-20, 20)
  minimize sumsq(y - x)
}`, 500+1000*rng.Float64(), 50+100*rng.Float64()))
			if err != nil {
				t.Fatal(err)
			}
			bound, err := model.Bind(nil, runtime.BindOptions{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			x := []float64{-2 + 1.5*rng.Float64(), 3 * rng.Float64()}
			point, ok := n.from(t, solver(t, bound.Numeric, large), x, seed)
			if ok && math.Hypot(point.Z[0]-1, point.Z[1]-1) > 3e-4 { // 1e-8 of the terms of the gradient, over the curvature along the valley
				t.Errorf("seed %d: from %v to %v", seed, x, point.Z[:2])
			}
		}
		n.few(t, 0.02)
	})
}
