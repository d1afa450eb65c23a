package runtime

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The point that a theorem draws at random is told in the user's sense: of a maximization no
// better than the best one, of random leaders whose F is between known values.
func TestDrawnPointInTheUsersSense(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 41))
	drawn := regexp.MustCompile(`the point drawn at random has F = (\S+);`)
	for trial := range 6 {
		sense, sign := "minimize", 1.0
		if trial%2 == 1 {
			sense, sign = "maximize", -1
		}
		offset := 5 + rng.Float64()
		model, err := Compile("drawn.blv", fmt.Sprintf(`model drawn
upper {
  var x: real in box(-1, 1)
  %s %g + %g * (y - %g)^2
}
lower {
  var y: real in box(-2, 2)
  minimize (y - x)^2
}
`, sense, offset, sign, rng.Float64()))
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Bind(nil, BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Solve(context.Background(), Options{Method: "pigd", Settings: map[string]any{"iterations": 5}, Seed: uint64(trial), Start: Values{{Name: "x", Data: []float64{-1}}}})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != BudgetSpent {
			t.Fatalf("%s: %s", r.Status, r.Reason)
		}
		found := drawn.FindStringSubmatch(strings.Join(r.Notes, "\n"))
		if found == nil {
			t.Fatalf("trial %d: nothing is said of the point drawn: %v", trial, r.Notes)
		}
		// |y - goal| <= 2, so that F is within 4 of the offset, on the side of its sense.
		f, err := strconv.ParseFloat(found[1], 64)
		if err != nil || sign*(f-offset) < 0 || sign*(f-offset) > 4 || sign*(f-float64(r.Upper.Objective)) < -1e-9 {
			t.Errorf("trial %d: to %s, the point drawn has F = %s, the best one %v, F at best %g", trial, sense, found[1], r.Upper.Objective, offset)
		}
	}
}
