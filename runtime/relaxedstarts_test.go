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

// Where a follower can be led to any y, F is least where f is: starts are made as long as f leads from them to lower values over the rows, and from no other points. The least is found on a grid.
func TestStartsWhereNothingIsLower(t *testing.T) {
	covered := 0
	for seed := range members.Seeds(t, 40) {
		rng := rand.New(rand.NewPCG(seed, 21))
		a, b, slope := 0.5+rng.Float64(), 2*rng.Float64()-1, 0.2+0.5*rng.Float64()
		f, valleys := fmt.Sprintf("exp(%v * y) + (y - %v)^4", a, b), false
		value := func(y float64) float64 { return math.Exp(a*y) + math.Pow(y-b, 4) }
		if seed%2 == 0 {
			f, valleys = fmt.Sprintf("((y - %v)^2 - 1)^2 + %v * y", b, slope), true
			value = func(y float64) float64 { return math.Pow((y-b)*(y-b)-1, 2) + slope*y }
		}
		least := math.Inf(1)
		for k := range 400001 {
			least = math.Min(least, value(-2+1e-5*float64(k)))
		}
		r := solveText(t, fmt.Sprintf(`model valleys
upper {
  var x: real in box(-2, 2)
  minimize %s
}
lower {
  var y: real in box(-3, 3)
  minimize (y - x)^2 + 0.01 * (y - x)^4
}
`, f), runtime.Options{})
		if got := float64(r.Upper.Objective); math.Abs(got-least) > 1e-6 {
			t.Errorf("seed %d: F = %v, and %v is the least", seed, got, least)
		}
		said := strings.Contains(strings.Join(r.Notes, "\n"), "no start was made from")
		if covered += len(r.Starts); !valleys && (!said || len(r.Starts) > 0) {
			t.Errorf("seed %d: %d starts; %q", seed, len(r.Starts), r.Notes)
		}
	}
	if covered == 0 {
		t.Error("none had a further start")
	}
}
