package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestTermsThatVanish: f is of degree 3 with a power of an entry of x in each term, so that at x = 0, where many such problems end, neither f nor its slopes in y have terms of any size but the rounding of what was solved. The follower's answer is a corner
// that is the same for all x; what is left of f is a polynomial of x, no entry of which leads down from the solution.
func TestTermsThatVanish(t *testing.T) {
	vanish := 0
	for seed := range members.Seeds(t, 400) {
		rng := rand.New(rand.NewPCG(seed, 631))
		dx, dy := 1+rng.IntN(3), 1+rng.IntN(4)
		y, g := make([]float64, dy), make([]string, dy)
		for j := range y {
			side := rng.IntN(2)
			y[j] = float64(2 * side)
			g[j] = fmt.Sprintf("(%d + %.3g * x[%d]) * y[%d]", 2-4*side, rng.Float64()*float64(1-2*side), 1+rng.IntN(dx), j+1)
		}
		var terms []string
		var of []func(x []float64) float64
		for range 2 + rng.IntN(4) {
			c, k, i, j := math.Round(10*rng.NormFloat64())/10, rng.IntN(dx), rng.IntN(dx), rng.IntN(dy)
			switch rng.IntN(3) {
			case 0:
				terms = append(terms, fmt.Sprintf("%g * x[%d] * x[%d] * y[%d]", c, k+1, i+1, j+1))
				of = append(of, func(x []float64) float64 { return c * x[k] * x[i] * y[j] })
			case 1:
				terms = append(terms, fmt.Sprintf("%g * x[%d] * y[%d]^2", c, k+1, j+1))
				of = append(of, func(x []float64) float64 { return c * x[k] * y[j] * y[j] })
			default:
				terms = append(terms, fmt.Sprintf("%g * x[%d]^2", c, k+1))
				of = append(of, func(x []float64) float64 { return c * x[k] * x[k] })
			}
		}
		text := fmt.Sprintf("model vanish\nupper {\n  var x: vector[%d] in box(0, 2)\n  minimize %s\n}\nlower {\n  var y: vector[%d] in box(0, 2)\n  minimize %s\n}\nsolve { ties = optimistic }\n",
			dx, strings.Join(terms, " + "), dy, strings.Join(g, " + "))
		r, err := bindText(t, text).Solve(t.Context(), runtime.Options{})
		if err != nil || r.Status != runtime.Solved {
			t.Errorf("seed %d: %v, %v: %s\n%s", seed, err, r.Status, r.Reason, text)
			continue
		}
		v, _ := r.Upper.Variables.Get("x")
		x := v.Data
		f := func(k int, by float64) (sum float64) {
			at := append([]float64(nil), x...)
			if k >= 0 {
				at[k] = math.Max(0, math.Min(2, at[k]+by))
			}
			for _, term := range of {
				sum += term(at)
			}
			return sum
		}
		if f0 := f(-1, 0); math.Abs(float64(r.Upper.Objective)-f0) > 1e-9*(1+math.Abs(f0)) {
			t.Errorf("seed %d: F %v, truly %v\n%s", seed, r.Upper.Objective, f0, text)
		} else {
			for k := range x {
				for _, by := range []float64{1e-4, -1e-4} {
					if d := f(k, by); d < f0-1e-6 { // what is of second order is some 1e-7
						t.Errorf("seed %d: F falls from %v to %v along entry %d\n%s", seed, f0, d, k, text)
					}
				}
			}
			if f0 == 0 {
				vanish++
			}
		}
	}
	t.Logf("%d end at F = 0", vanish)
}

// TestTermsThatVanishBesideCurvature: the same with a follower that is strongly convex in entries that f reads and linear in another, and a row of the leader that reads it; at x = 0 the answer is worth F = 0, the least of all (f >= 0).
func TestTermsThatVanishBesideCurvature(t *testing.T) {
	r, err := bindText(t, `model vanish
upper {
  var x: vector[2] in box(0, 3)
  minimize x[1] * y[1] + x[2] * y[1] * y[4] + x[2]
  subject to y[1] + x[1] <= 3
}
lower {
  var y: vector[4] in box(0, 4)
  minimize 0.5 * (-2 * y[2] - 2 * y[4] + x[2] - 1)^2 + (-2 * y[4] + x[2] + 2)^2 + (2 * y[2] + 2 * y[4] + x[2])^2 + 2 * y[3]
  subject to
    -2 * x[1] + y[1] + 2 * y[4] <= 1
    -x[2] + 3 * y[2] + 3 * y[3] <= 4
    2 * x[2] - 3 * y[1] + y[2] + y[3] <= 7
}
solve { ties = optimistic }
`).Solve(t.Context(), runtime.Options{})
	if err != nil || r.Status != runtime.Solved || math.Abs(float64(r.Upper.Objective)) > 1e-9 {
		t.Errorf("%v, %v: %s, F %v", err, r.Status, r.Reason, r.Upper.Objective)
	}
}
