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

// TestLocalFindsAPoint: a local solve, from a start whose branch the constraints of the upper level leave empty, finds a
// point where there is one, and says that there is none where there is none. y is 0 below the price c, and then at once, or as x rises, 2.
func TestLocalFindsAPoint(t *testing.T) {
	for seed := range members.Seeds(t, 100) {
		rng := rand.New(rand.NewPCG(seed, 91))
		c, h := 2*rng.Float64()-1, 0.1+1.8*rng.Float64()
		want, follower, ties := c, "c * y - x * y", "solve { ties = optimistic }"
		if rng.IntN(2) == 0 {
			want, follower, ties = c+h, "0.5 * y^2 - (x - c) * y", ""
		}
		none := rng.IntN(4) == 0
		if none {
			h += 2
		}
		problem := bindText(t, fmt.Sprintf(`model late
data c: real = %v
upper {
  var x: real in box(-2, 4)
  minimize x
  subject to y >= %v
}
lower {
  var y: real in box(0, 2)
  minimize %s
}
%s
`, c, h, follower, ties))
		start := runtime.Values{{Name: "x", Data: []float64{-2 + 6*rng.Float64()}}}
		r, err := problem.Solve(context.Background(), runtime.Options{Search: runtime.SearchNone, Start: start})
		if err != nil {
			t.Fatal(err)
		}
		switch f := float64(r.Upper.Objective); {
		case none && r.Status != runtime.Infeasible:
			t.Errorf("seed %d: %v (%s), where y >= %v and y <= 2", seed, r.Status, r.Reason, h)
		case !none && (r.Status != runtime.Solved || math.Abs(f-want) > 1e-6):
			t.Errorf("seed %d: %v (%s), F = %v, not %v", seed, r.Status, r.Reason, f, want)
		}
	}
}
