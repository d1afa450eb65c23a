package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// F = a y + b exp(c - d (x + y)) with x + y = s falls without end along x, at one slope. At points so far away that x + y is lost to rounding the gradient of f is as large as anything, and what multipliers leave of it
// says nothing: none of them is a solution.
func TestSumsThatRoundingLoses(t *testing.T) {
	ends := 0
	for _, k := range append(slices.Collect(members.Seeds(t, 60)), 213452514) { // of the last one a gradient mapping is small beside gradients that are rounding
		rng := rand.New(rand.NewPCG(k, 71))
		a, b, c, d, s, row := 0.5+3*rng.Float64(), 0.1+2*rng.Float64(), 2*rng.NormFloat64(), 0.5+rng.Float64(), 3*rng.NormFloat64(), 1+4*rng.Float64()
		text := fmt.Sprintf(`model sums
upper {
  var x: real
  minimize %v * y + %v * exp(%v - %v * x - %v * y)
}
lower {
  var y: real
  minimize 0.5 * %v * y^2
  subject to
    sum: %v * x + %v * y == %v
}
`, a, b, c, d, d, 0.5+rng.Float64(), row, row, row*s)
		for _, far := range []float64{0, math.Pow(10, 6*rng.Float64()), math.Pow(10, 6+12*rng.Float64())} {
			r := solveText(t, text, runtime.Options{Starts: 1, Start: runtime.Values{{Name: "x", Data: []float64{far}}}})
			if r.Status == runtime.Solved {
				t.Errorf("member %d: solved from %g, F %v at %v\n%s", k, far, r.Upper.Objective, r.Upper.Variables[0].Data, text)
			}
			if r.Status == runtime.Unbounded {
				ends++
			}
		}
	}
	t.Logf("%d unbounded", ends)
}
