package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestUnboundedToTheEndOfNumbers: no number is so far away that what turns, or has its bound, there is said to have none. The truth is 1/(4 c) below 0, and the bound itself.
func TestUnboundedToTheEndOfNumbers(t *testing.T) {
	solved := 0
	for seed := range members.Seeds(t, 40) {
		rng := rand.New(rand.NewPCG(seed, 31))
		k := 307 * rng.Float64()
		row := fmt.Sprintf("\n  subject to\n    cap: y <= %g", math.Pow(10, k))
		for _, m := range []struct {
			x, f, upper, lower string
			least              float64
		}{
			{"real", fmt.Sprintf("-x + %g*x^2", math.Pow(10, -k)), "", "", -math.Pow(10, k) / 4},
			{"real in box(0, 1)", fmt.Sprintf("x - y + %g*y^2", math.Pow(10, -k)), "", "", -math.Pow(10, k) / 4},
			{"real in box(0, 1)", fmt.Sprintf("x - y + %g*y^4", math.Pow(10, -k)), "", "", -0.75 * math.Pow(10, k/3) / math.Cbrt(4)},
			{"real in box(0, 1)", "x - y", row, "", -math.Pow(10, k)},
			{"real in box(0, 1)", "x - y", "", row, -math.Pow(10, k)},
		} {
			p := bindText(t, fmt.Sprintf("model m\nupper {\n  var x: %s\n  minimize %s%s\n}\nlower {\n  var y: real\n  minimize 0%s\n}\nsolve { ties = optimistic }", m.x, m.f, m.upper, m.lower))
			r, err := p.Solve(context.Background(), runtime.Options{Seed: 1, Starts: 2})
			if err != nil {
				t.Fatal(err)
			}
			if r.Status == runtime.Solved {
				solved++
				if f := float64(r.Upper.Objective); !(math.Abs(f-m.least) <= 1e-6*math.Abs(m.least)) {
					t.Errorf("seed %d: %s, %q, %q: %g, and %g is true", seed, m.f, m.upper, m.lower, f, m.least)
				}
			}
			if r.Status == runtime.Unbounded {
				t.Errorf("seed %d: %s, %q, %q: unbounded, and %g is the least", seed, m.f, m.upper, m.lower, m.least)
			}
		}
	}
	t.Logf("%d solved", solved)
}
