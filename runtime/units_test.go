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

// TestHypergradientsInUnits: a follower that is not quadratic, in units of y of
// 1e-5 to 1e8, has the hypergradient that it has in units of 1: the steps of the
// oracles' differences have no unit.
func TestHypergradientsInUnits(t *testing.T) {
	bends := []string{"log1pexp(-%[1]s)", "exp(-%[1]s)", "sqrt(1 + (%[1]s)^2)", "%[1]s * log(%[1]s)"}
	for k := range members.Seeds(t, 24) {
		rng := rand.New(rand.NewPCG(k, 9))
		bend, pull := bends[k%uint64(len(bends))], 0.5+rng.Float64()
		x := 2*rng.Float64() - 1
		gradient := func(unit float64, oracle string) float64 {
			y := fmt.Sprintf("(%g * y)", 1/unit)
			model, err := runtime.Compile("units.blv", fmt.Sprintf(`model units
upper {
  var x: real in box(-1, 1)
  minimize %[1]s^2 + x * %[1]s
}
lower {
  var y: real in nonneg
  minimize %[2]g * (0.5 * %[1]s^2 - (1.5 + x) * %[1]s) + %[3]s
}
`, y, pull, fmt.Sprintf(bend, y)))
			if err != nil {
				t.Fatal(err)
			}
			problem, err := model.Bind(nil, runtime.BindOptions{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := problem.Eval(context.Background(), runtime.Values{{Name: "x", Data: []float64{x}}}, runtime.Options{Oracle: oracle})
			if err != nil {
				t.Fatal(err)
			}
			if r.Status != runtime.Solved {
				t.Fatalf("member %d, x = %v, pull = %v: %s in units of %g, oracle %s: %v: %s", k, x, pull, bend, unit, oracle, r.Status, r.Reason)
			}
			return r.Upper.Hypergradient[0].Data[0]
		}
		// The slope of F by its closed form: y solves pull (y - 1.5 - x) + bend'(y) = 0.
		first := func(y float64) float64 {
			switch k % uint64(len(bends)) {
			case 0:
				return -1 / (1 + math.Exp(y))
			case 1:
				return -math.Exp(-y)
			case 2:
				return y / math.Sqrt(1+y*y)
			}
			return 1 + math.Log(y)
		}
		low, high := 1e-12, 4.0
		for range 200 {
			if mid := (low + high) / 2; pull*(mid-1.5-x)+first(mid) > 0 {
				high = mid
			} else {
				low = mid
			}
		}
		y, slope := low, 0.0
		if y > 1e-9 { // above its bound
			const h = 1e-6
			slope = pull / (pull + (first(y+h*y)-first(y-h*y))/(2*h*y))
		}
		want := (2*y+x)*slope + y
		for _, unit := range []float64{1, 1e-5, 1e-3, 1e3, 1e8} {
			for _, oracle := range []string{"face", "difference"} {
				if got := gradient(unit, oracle); math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
					t.Errorf(bend+" in units of %g, oracle %s: hypergradient %v, truly %v", "y", unit, oracle, got, want)
				}
			}
		}
	}
}
