package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestAnswersWithoutEndBehindAHump: the follower's answers are a half line that a row of the leader ends; f has a local minimum at its end, rises from there, and falls without end behind the top. A second follower, whose
// answers f's products read, leaves f no bound.
func TestAnswersWithoutEndBehindAHump(t *testing.T) {
	for seed := range members.Seeds(t, 100) {
		rng := rand.New(rand.NewPCG(seed, 75))
		size := func() float64 { return float64(1+rng.IntN(8)) / 4 }
		a, b := size(), size()
		end, k := 1+size(), size()
		text := fmt.Sprintf(`model hump
solve { ties = optimistic }
upper {
  var x: real in box(-1, 1)
  minimize (x - %[6]v)^2 + %[3]v * t - %[4]v * t^2 - %[7]v * z[1] * w + %[8]v * z[2] * t
  subject to
    last: t >= -%[5]v
  let t = %[2]v * y[1] - %[1]v * y[2]
}
lower one {
  var y: vector[2]
  minimize 0.5 * (%[1]v * y[1] + %[2]v * y[2] - x)^2
}
lower two {
  var w: real in box(0, 1)
  minimize (w - x)^2
}
lower three {
  var z: vector[2] in box(0, 1)
  minimize z[1] - x * z[2]
  subject to
    sum: z[1] + z[2] == 1
}
`, a, b, size(), k, end, size()/4, size(), size()/8)
		p := bindText(t, text)
		r, err := p.Solve(t.Context(), runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != runtime.Unbounded || !verified(p, r) {
			t.Errorf("seed %d: %s, %s\n%s", seed, r.Status, r.Reason, text)
		}
	}
}

// TestRaysBeginWhereRowsHold: where a row of the follower leaves y one point its multiplier has no end, and f falls along it. The x there is a sum that is 0 to rounding at bounds, or between them: the ray's point keeps the row as
// it says.
func TestRaysBeginWhereRowsHold(t *testing.T) {
	for seed := range members.Seeds(t, 100) {
		rng := rand.New(rand.NewPCG(seed, 76))
		for range 5 {
			size := func() float64 { return float64(rng.IntN(13)-6) / 2 }
			row := fmt.Sprintf("%v * x[1] + %v * x[2] + %v * x[3]", size()/3, size(), size()+0.25)
			text := fmt.Sprintf(`model begin
solve { ties = optimistic }
upper {
  var x: vector[3] in box(-2, 2)
  minimize %[2]v * x[1] + %[3]v * x[2] + x[3] - 2 * y - 2 * dual(r) - 2 * dual(s) + y^2 + x[1]^2 + x[3] * dual(s)
}
lower {
  var y: real in box(0, 4)
  minimize 0.5 * y^2 - %[4]v * x[1] * y - %[5]v * x[3] * y + y
  subject to
    r: y - (%[1]s) <= 0
    s: -2 * y + (%[1]s) <= 2
}
`, row, size(), size(), size(), size())
			p := bindText(t, text)
			r, err := p.Solve(t.Context(), runtime.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Status == runtime.NumericalFailure || !verified(p, r) {
				t.Errorf("seed %d: %s, %s\n%s", seed, r.Status, r.Reason, text)
			}
		}
	}
}

// TestMultipliersWithoutEndAtTheEdge: at the last x to which the follower has an answer a row leaves y nothing but 0, and its multiplier has no end, along which f falls; elsewhere f leads away from there.
func TestMultipliersWithoutEndAtTheEdge(t *testing.T) {
	for seed := range members.Seeds(t, 100) {
		rng := rand.New(rand.NewPCG(seed, 77))
		size := func() float64 { return float64(1+rng.IntN(8)) / 2 }
		n := 2 + rng.IntN(3)
		rows, edge, last := "", math.Inf(1), 0
		for i := range n {
			b, c := size(), size()
			rows += fmt.Sprintf("\n    r%d: %v * y + %v * x <= %v", i, size(), b, c)
			if c/b < edge {
				edge, last = c/b, i
			}
		}
		text := fmt.Sprintf(`model edge
solve { ties = optimistic }
upper {
  var x: real in box(-2, %v)
  minimize %v * x + %v * y - (1 + x) * dual(r%d)
}
lower {
  var y: real in nonneg
  minimize %v * y
  subject to%s
}
`, edge+size(), size(), size(), last, size(), rows)
		p := bindText(t, text)
		r, err := p.Solve(t.Context(), runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != runtime.Unbounded || !verified(p, r) {
			t.Errorf("seed %d: %s, %s\n%s", seed, r.Status, r.Reason, text)
		}
	}
}
