package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// fallingModel has an F that falls without bound: x is free, a row of the lower level ties its entries,
// and along a direction that keeps the tie F falls linearly while y stays at a vertex. Across it, in z, F
// is curved by 1e4 to 1e16, so that at the start and around far points gradients are as large as that makes them.
func fallingModel(r *rand.Rand) string {
	n := 2 + r.IntN(3)
	curvature := math.Pow(10, float64(4+r.IntN(13)))
	slope := math.Pow(10, float64(r.IntN(9)))
	unit := math.Pow(10, float64(r.IntN(9)))
	var b strings.Builder
	fmt.Fprintf(&b, "model falling\nupper {\n  var x: vector[%d]\n", n)
	if r.IntN(2) == 0 {
		b.WriteString("  var z: real in box(-2, 1)\n")
	} else {
		b.WriteString("  var z: real\n")
	}
	fmt.Fprintf(&b, "  minimize %g * z^2", curvature)
	for j := 1; j <= n; j++ {
		fmt.Fprintf(&b, " - %g * x[%d] * (1 + y[1])", slope*float64(1+r.IntN(9)), j)
	}
	fmt.Fprintf(&b, " + y[2]^2\n}\nlower {\n  var y: vector[2] in box(0, 2)\n  minimize %g * (0.5 * sumsq(y) + 0.3 * y[2]", unit)
	for j := 1; j <= n; j++ {
		fmt.Fprintf(&b, " - %g * x[%d] * y[1]", float64(1+r.IntN(3)), j)
	}
	fmt.Fprintf(&b, " - %d * z * y[1]", r.IntN(4))
	// The entries of x may grow together, which keeps the tie; at y[1] = 2 F falls along it.
	tied := make([]float64, n)
	for j := 1; j < n; j++ {
		tied[j-1] = float64(1 + r.IntN(3))
		tied[n-1] -= tied[j-1]
	}
	fmt.Fprintf(&b, ")\n  subject to\n    tie: 0")
	for j, v := range tied {
		fmt.Fprintf(&b, " + (%g) * x[%d]", v*unit, j+1)
	}
	b.WriteString(" ")
	fmt.Fprintf(&b, "== %g\n}\n", unit*float64(r.IntN(3)))
	return b.String()
}

// pulledModel has an F that falls without bound as both entries of x fall together, which a row in other units than y's
// allows: y is positive in its box, and so are the weights of x_k y_k.
func pulledModel(r *rand.Rand) string {
	number := func() float64 { return float64(1+r.IntN(8)) / 2 }
	unit := func(most int) float64 { return math.Pow(10, float64(r.IntN(most))) }
	f, g, row := unit(9), unit(9), unit(9)
	return fmt.Sprintf(`model pulled
upper {
  var x: vector[2]
  minimize %g * x[1] * y[1] + %g * x[2] * y[2]
}
lower {
  var y: vector[2] in box([2, 2], [3, 4])
  minimize %g * x[1] * y[2] + %g * x[2] * y[1] + %g * y[1]^2 + %g * y[2]^2
  subject to
    tie: %g * x[1] - %g * x[2] + %g * y[1] + %g * y[2] == %g
}
`, f*number(), f*number(), g*number(), g*number(), unit(6)*number(), unit(6)*number(), row*number(), row*number(), number(), number(), 4*number())
}

// TestFallingIsNotSolved: where F falls without bound no run says that it is solved, however large
// the gradients are that the curvature of F makes of the radius of a certificate far out.
func TestFallingIsNotSolved(t *testing.T) {
	// 99 of the 120 are told as unbounded: three standard deviations below that share are 3/4 of 120.
	const full = 120
	least := members.Least(members.Count(full), 0.75)
	ends := map[runtime.Status]int{}
	for trial := range members.Seeds(t, full) {
		draw := []func(*rand.Rand) string{fallingModel, pulledModel}[trial%2]
		text := draw(rand.New(rand.NewPCG(trial, 903)))
		r := solveText(t, text, runtime.Options{Seed: trial, TimeLimit: 3 * time.Second})
		ends[r.Status]++
		if q := solveText(t, text, runtime.Options{Method: "pgd", Seed: trial, MaxIter: 100}); q.Status == runtime.Solved {
			t.Errorf("trial %d: pgd: solved, %s, at F %v\n%s", trial, q.Reason, q.Upper.Objective, text)
		}
		if r.Status == runtime.Solved {
			t.Errorf("trial %d: solved, %s, at F %v, x %v\n%s", trial, r.Reason, r.Upper.Objective, r.Upper.Variables, text)
		}
	}
	if ends[runtime.Unbounded] < least {
		t.Errorf("ends: %v", ends)
	}
	t.Log(ends)
}

// A ray may go along a constraint of the leader that reads the follower, where what it makes of x and of the answer is the same but for rounding; one that ends it bounds F there.
func TestRaysAlongTheLeadersRows(t *testing.T) {
	along, ended := 0, 0
	for trial := range members.Seeds(t, 100) {
		rng := rand.New(rand.NewPCG(trial, 905))
		steep, weight, unit := 0.1+rng.Float64(), 0.1+rng.Float64(), math.Pow(10, float64(rng.IntN(9)-4))
		for _, ends := range []bool{false, true} {
			of := weight * steep
			if ends {
				of *= 1.01
			}
			// y = steep x, so that the row is (of - weight steep) x + z <= side.
			text := fmt.Sprintf("model along\nupper {\n  var x: real in box(0, inf)\n  var z: real in box(0, 1)\n  minimize %g * (z^2 - x)\n  subject to\n    kept: %.17g * x - %.17g * y + z <= %g\n}\n"+
				"lower {\n  var y: real\n  minimize (y - %.17g * x)^2\n}\n", unit, of, weight, 1+rng.Float64(), steep)
			r := solveText(t, text, runtime.Options{Seed: trial})
			switch {
			case !ends && r.Status == runtime.Unbounded:
				along++
			case ends && r.Status == runtime.Solved:
				ended++
			default:
				t.Errorf("trial %d, the row ends it %v: %s: %s\n%s", trial, ends, r.Status, r.Reason, text)
			}
		}
	}
	if along == 0 || ended == 0 {
		t.Errorf("%d rays, %d that a row ends", along, ended)
	}
}
