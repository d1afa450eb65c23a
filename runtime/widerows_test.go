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

// A row in which a coefficient is larger than doubles tell beside the others holds all of its entries all the same: rounding of the
// entry that it multiplies is no excuse for what the others do.
func TestRowsOfUnlikeCoefficients(t *testing.T) {
	t.Parallel()
	for _, big := range []float64{1e20, 1e160, 1e300, -1e300} {
		for row, over := range map[string]func(first, second float64) float64{
			"%g * x[1] + x[2] <= 0.5": func(first, second float64) float64 { return first + second - 0.5 },
			"x[2] - 0.5 <= %g * x[1]": func(first, second float64) float64 { return second - 0.5 - first },
			"%g * x[1] + x[2] == 0.5": func(first, second float64) float64 { return math.Abs(first + second - 0.5) },
		} {
			text := "model unlike\nupper {\n  var x: vector[2] in box(0, 2)\n  minimize sumsq(y) - sum(x)\n  subject to\n    " + fmt.Sprintf(row, big) +
				"\n}\nlower {\n  var y: vector[2]\n  minimize sumsq(y - 3)\n  subject to\n    -x[1] + y[2] <= 0.5\n}\n"
			r, err := bindText(t, text).Solve(t.Context(), runtime.Options{})
			if err != nil {
				t.Fatal(err)
			}
			x, _ := r.Upper.Variables.Get("x")
			if r.Status != runtime.Solved {
				continue
			}
			first, second := big*x.Data[0], x.Data[1]
			if off := over(first, second) / (math.Abs(first) + second + 0.5); off > 1e-6 {
				t.Errorf("solved at %v, off by %.2g of its terms\n%s", x.Data, off, text)
			}
		}
	}
}

// The same of a row of the leader that reads the follower.
func TestCoupledRowsOfUnlikeCoefficients(t *testing.T) {
	for _, big := range []string{"1e20", "1e160", "1e300"} {
		r, err := bindText(t, `model unlike
upper {
  var x: vector[2] in box(0, 2)
  minimize (y[1] - 1)^2 + (y[2] - 2)^2 + (x[1] - 1)^2
  subject to
    `+big+` * y[1] + y[2] <= 0.5
}
lower {
  var y: vector[2] in box(0, 5)
  minimize sumsq(y - 3 * x)
}
`).Solve(t.Context(), runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if y, _ := r.Lower.Variables.Get("y"); r.Status == runtime.Solved && y.Data[0] >= 0 && y.Data[1] > 0.5000015 {
			t.Errorf("%s: solved at y = %v", big, y.Data)
		}
	}
}
