package runtime

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
)

// Upper variables without bounds, in units in which all that happens is within 1e-3 to 1e-8 of 0, and a
// follower with an entry that is weak everywhere: the gradient at a point is that of a piece at it, and of
// none that a move leads to whose length is a part of 1. F and its gradient are in closed form.
func TestGradientsInUnitsThatNothingTells(t *testing.T) {
	given := 0
	for trial := range members.Seeds(t, 60) {
		rng := rand.New(rand.NewPCG(trial, 58))
		unit := math.Pow(10, -3-5*rng.Float64())
		const n = 3
		var curve, pull, cost [n]float64
		var slope [n][2]float64
		var f, g strings.Builder
		gradient := [2]float64{3 * rng.NormFloat64() / unit, 3 * rng.NormFloat64() / unit}
		fmt.Fprintf(&f, "(%.17g)*x[1] + (%.17g)*x[2] - y[4]", gradient[0], gradient[1])
		fmt.Fprintf(&g, "0.7*y[4]^2")
		for j := range n {
			curve[j], pull[j], cost[j] = 0.5+rng.Float64(), rng.NormFloat64(), rng.NormFloat64()
			slope[j] = [2]float64{rng.NormFloat64() / unit, rng.NormFloat64() / unit}
			fmt.Fprintf(&f, " + (%.17g)*y[%d]", cost[j], j+1)
			fmt.Fprintf(&g, " + %.17g*y[%d]^2 - (%.17g + (%.17g)*x[1] + (%.17g)*x[2])*y[%d]", curve[j]/2, j+1, pull[j], slope[j][0], slope[j][1], j+1)
			if pull[j] > 0 { // y_j = max(0, pull + slope'x) / curve
				gradient[0] += cost[j] * slope[j][0] / curve[j]
				gradient[1] += cost[j] * slope[j][1] / curve[j]
			}
		}
		source := fmt.Sprintf("model m\nupper {\n  var x: vector[2]\n  minimize %s\n}\nlower {\n  var y: vector[4] in nonneg\n  minimize %s\n}\n", &f, &g)
		p := mustBind(t, source)
		r, err := p.Eval(context.Background(), Values{{Name: "x", Shape: []int{2}, Data: []float64{0, 0}}}, Options{Seed: trial})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Upper.Hypergradient) == 0 {
			continue
		}
		given++
		for j, v := range r.Upper.Hypergradient[0].Data {
			if math.Abs(v-gradient[j]) > 1e-9*math.Hypot(gradient[0], gradient[1])+10*float64(r.Stationarity.GradientError) {
				t.Errorf("trial %d, unit %.3g: %v, truly %v\n%s", trial, unit, r.Upper.Hypergradient[0].Data, gradient, source)
				break
			}
		}
	}
	if count := members.Count(60); given < members.Least(count, 50./60) {
		t.Errorf("%d of %d have a gradient", given, count)
	}
}

// Without bounds and started at 0 a problem in small units is solved as in its own: the size of x is that
// of the point that the search has come to. One entry of y is weak everywhere.
func TestSolvedInUnitsThatNothingTells(t *testing.T) {
	rng := rand.New(rand.NewPCG(24, 59))
	for trial := range 8 {
		var first float64
		a, b, c, d := 1+rng.Float64(), rng.NormFloat64(), rng.NormFloat64(), 0.5+rng.Float64()
		for _, unit := range []float64{1, 1e-5, 1e-8} {
			source := fmt.Sprintf(`model m
data u: real = %g
upper {
  var x: vector[2]
  minimize (x[1]/u - %.17g)^2 + 0.5*(x[2]/u + y[1])^2 + (%.17g)*y[2] - y[3]
}
lower {
  var y: vector[3] in nonneg
  minimize 0.5*y[1]^2 - (x[1]/u + %.17g)*y[1] + %.17g*y[2]^2 - (x[2]/u - x[1]/u)*y[2] + 0.7*y[3]^2
}
`, unit, a, b, c, d)
			p := mustBind(t, source)
			r, err := p.Solve(context.Background(), Options{Seed: 1, Starts: 4})
			if err != nil {
				t.Fatal(err)
			}
			if r.Status != Solved {
				t.Errorf("trial %d, unit %g: %v (%s)\n%s", trial, unit, r.Status, r.Reason, source)
				continue
			}
			if F := float64(r.Upper.Objective); unit == 1 {
				first = F
			} else if math.Abs(F-first) > 1e-6*(1+math.Abs(first)) {
				t.Errorf("trial %d, unit %g: F is %v, %v in its own\n%s", trial, unit, F, first, source)
			}
		}
	}
}

// Started at its minimizer, where a row is weak, so that F has no gradient but 0: what gradients are large
// or small to is what they are around.
func TestStartedAtAMinimizer(t *testing.T) {
	rng := rand.New(rand.NewPCG(24, 60))
	for trial := range 8 {
		a, b, c := 0.5+rng.Float64(), 3*rng.NormFloat64(), 0.5+rng.Float64()
		unit := math.Pow(10, float64(rng.IntN(9)-4))
		p := mustBind(t, fmt.Sprintf("model m\nupper {\n  var x: vector[2] in box(%g, %g)\n  minimize %.17g*sumsq(x) + (%.17g)*y[1] + y[2]^2\n}\nlower {\n  var y: vector[2] in nonneg\n  minimize %.17g*y[1]^2 + sumsq(y)\n}\n", -unit, unit, a/unit/unit, b, c))
		r, err := p.Solve(context.Background(), Options{Seed: uint64(trial), Starts: 1})
		if err != nil {
			t.Fatal(err)
		}
		if F := float64(r.Upper.Objective); r.Status != Solved || F > 1e-9 {
			t.Errorf("trial %d: %v (%s), F %v", trial, r.Status, r.Reason, F)
		}
	}
}
