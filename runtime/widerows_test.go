package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestRowsInWideBoxes: shares of a whole are shares of a whole however far the leader's variables may go: a result that is solved has an answer
// whose rows hold by their own terms and the rounding of forces as large as X, and F is what the follower's shares make of it.
func TestRowsInWideBoxes(t *testing.T) {
	for seed := range members.Seeds(t, 60) {
		rng := rand.New(rand.NewPCG(seed, 33))
		wide := math.Pow(10, 6+4*rng.Float64())
		text := fmt.Sprintf(`model wide
data gain: vector[4] = [%.3g, %.3g, %.3g, %.3g]
data b: vector[4] = [%.3g, %.3g, %.3g, %.3g]
upper {
  var tax: vector[2] in box(-%[9]g, %[9]g)
  let t = [tax[1], tax[1], tax[2], tax[2]]
  maximize t' * y - 0.05 * (sum(y) - %.3[10]g)^2
}
lower {
  var y: vector[4] in simplex(1)
  maximize (gain - t)' * y - 0.5 * sum(b .* y .^ 2)
  subject to
    cap: sum(y) <= 10
}`, 5+4*rng.Float64(), 5+4*rng.Float64(), 5+4*rng.Float64(), 5+4*rng.Float64(),
			0.5+rng.Float64(), 0.5+rng.Float64(), 0.5+rng.Float64(), 0.5+rng.Float64(), wide, 10*rng.Float64())
		result, err := bindText(t, text).Solve(context.Background(), runtime.Options{Seed: 1, TimeLimit: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if result.Status != runtime.Solved {
			continue
		}
		y, _ := result.Lower.Variables.Get("y")
		sum := 0.0
		for _, s := range y.Data {
			sum += s
		}
		if off := math.Abs(sum - 1); off > 4e-6+1e-14*wide {
			t.Errorf("%d: X %.2g wide, shares of 1 sum up to %v, F %v", seed, wide, sum, result.Upper.Objective)
		}
	}
}

// TestLeadersRowsInWideBoxes: rows of the leader hold by their own terms at the point, however wide X is: of points beside a row those are refused that a millionth of its terms is off.
func TestLeadersRowsInWideBoxes(t *testing.T) {
	for seed := range members.Seeds(t, 60) {
		rng := rand.New(rand.NewPCG(seed, 34))
		wide := math.Pow(10, 3+6*rng.Float64())
		p := bindText(t, fmt.Sprintf(`model wide
upper {
  var x: vector[3] in box(-%[1]g, %[1]g)
  minimize sumsq(x - y)
  subject to
    one: sum(x) == 1
    cap: x[1] + 2*x[2] <= 3
}
lower {
  var y: vector[3] in box(-1, 1)
  minimize sumsq(y - x)
}`, wide))
		x := []float64{rng.NormFloat64(), 0, 0}
		x[1] = (3 - x[0]) / 2 // both rows hold with equality
		x[2] = 1 - x[0] - x[1]
		for _, off := range []float64{0, 1e-4, -1e-3, 0.1} {
			j := 1
			if rng.IntN(2) == 0 && off > 0 {
				j = 2
			}
			at := append([]float64(nil), x...)
			at[j] += off
			if off < 0 && j == 1 {
				at[2] -= off / 2 // along one row, off the other
			}
			e, err := p.Eval(t.Context(), runtime.Values{{Name: "x", Shape: []int{3}, Data: at}}, runtime.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if ok := verified(p, e); ok != (off == 0) {
				t.Errorf("%d: X %.2g wide, rows off by %v: verified %v", seed, wide, off, ok)
			}
		}
	}
}
