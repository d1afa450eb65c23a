package oracle_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestKinksBesideLargeForces: strict complementarity is not claimed at an exact kink, where the bound on y_1 = 0 has no
// force, by dyadic data, whatever the rounding of forces that are larger by up to 2^40, on entries that curvature or a row
// joins to it or nothing does; and at a start moved off the kink it mostly is.
func TestKinksBesideLargeForces(t *testing.T) {
	cases := members.Of(200, 1500)
	solved, strict := 0, 0
	for seed := range members.SeedsOf(t, 200, 1500) {
		rng := rand.New(rand.NewPCG(seed, 68))
		n := 2 + rng.IntN(3)
		q, y, scale := make([]float64, n*n), make([]float64, n), make([]int, n)
		c := make([]float64, n)
		for j := range n {
			if rng.IntN(2) == 0 {
				scale[j] = rng.IntN(21) - 3
			}
			q[j*n+j] = math.Ldexp(float64(1+rng.IntN(3)), 2*scale[j])
			if j > 0 && rng.IntN(3) > 0 {
				y[j] = math.Ldexp(float64(1+rng.IntN(7)), rng.IntN(15)-7)
			}
		}
		joined := rng.IntN(2) == 0
		for j := range n {
			for k := range j {
				if joined {
					q[j*n+k] = math.Ldexp(float64(rng.IntN(3)-1), scale[j]+scale[k]-3)
					q[k*n+j] = q[j*n+k]
				}
			}
		}
		for j := range n {
			for k := range n {
				c[j] -= q[j*n+k] * y[k]
			}
			if j > 0 && y[j] == 0 {
				c[j] += math.Ldexp(float64(1+rng.IntN(7)), rng.IntN(41))
			}
		}
		row, free := "", false
		if rng.IntN(2) == 0 {
			force, side := math.Ldexp(float64(rng.IntN(7)-3), rng.IntN(30)), 0.0
			for j := range n {
				a := float64(rng.IntN(7) - 3)
				c[j] += force * a
				side += a * y[j]
				row += fmt.Sprintf(" + (%g) * y[%d]", a, j+1)
				free = free || a != 0 && y[j] > 0
			}
			row = fmt.Sprintf("  subject to row: 0%s == %.17g\n", row, side)
			if !free {
				continue
			}
		}
		moves := float64(rng.IntN(5) - 2)
		var g strings.Builder
		for j := range n {
			fmt.Fprintf(&g, " + %.17g * y[%d]^2", q[j*n+j]/2, j+1)
			for k := range j {
				if q[j*n+k] != 0 {
					fmt.Fprintf(&g, " + (%.17g) * y[%d] * y[%d]", q[j*n+k], j+1, k+1)
				}
			}
			fmt.Fprintf(&g, " + (%.17g) * y[%d]", c[j], j+1)
		}
		model, err := runtime.Compile("m.blv", fmt.Sprintf(`model m
upper {
  var x: real in box(0, 2)
  minimize x^2 + sum(y)
}
lower {
  var y: vector[%d] in nonneg
  minimize 0%s + (%g) * (x - 1) * y[1]
%s}
`, n, g.String(), moves, row))
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Bind(nil, runtime.BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, solver := range []string{"alm", "sparse"} {
			at := func(x float64) *runtime.Result {
				r, err := p.Eval(context.Background(), runtime.Values{{Name: "x", Data: []float64{x}}}, runtime.Options{Solver: solver})
				if err != nil || r.Lower.Status != "solved" {
					return nil
				}
				return r
			}
			if r := at(1); r != nil {
				solved++
				if r.Stationarity.Strict {
					t.Errorf("seed %d, %s: strict at a kink, lower level %+v, truly %v", seed, solver, r.Lower, y)
				}
			}
			if r := at(1.5); r != nil && r.Stationarity.Strict {
				strict++
				if len(r.Lower.Weak) > 0 { // by a solver's tolerance, which the errors of y and of forces decide
					t.Errorf("seed %d, %s: strict, and %v weak", seed, solver, r.Lower.Weak)
				}
				report, err := p.Verify(r)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range report.Checks {
					if !c.OK {
						t.Errorf("seed %d, %s, slope %g: verify refuses off the kink: %s %s", seed, solver, moves, c.Claim, c.Detail)
					}
				}
			}
		}
	}
	if t.Logf("%d kinks, %d strict off them", solved, strict); solved < cases || strict < cases/2 {
		t.Errorf("%d kinks were solved, and %d points off them are strict", solved, strict)
	}
}
