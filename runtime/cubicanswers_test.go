package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// A linear follower leaves a box of answers open, over which f is a sum of cubics: what is said to be its best and its worst answer is, and a proof over whole numbers holds, by the ends and the stationary points of each cubic. A local
// solution has the best of the answers to its x but for some.
func TestCubicsOverAnswers(t *testing.T) {
	t.Parallel()
	known, best, local := 0, 0, 0
	for seed := range members.SeedsOf(t, 25, 400) {
		rng := rand.New(rand.NewPCG(seed, 0xcbc))
		whole, n := rng.IntN(3) == 0, 2+rng.IntN(2)
		a, f, g, hi := make([][3]float64, n), "0.5*x*y[1]", "y[1]*0", make([]float64, n)
		open := make([]bool, n)
		for j := range n {
			for k := range a[j] {
				a[j][k] = float64(rng.IntN(9) - 4)
			}
			hi[j], open[j] = float64(1+rng.IntN(3)), rng.IntN(3) > 0
			f += fmt.Sprintf(" + (%v)*y[%d] + (%v)*y[%d]^2 + (%v)*y[%d]^3", a[j][0], j+1, a[j][1], j+1, a[j][2], j+1)
			if !open[j] {
				g += fmt.Sprintf(" + y[%d]", j+1)
			}
		}
		kind := "real"
		if whole {
			kind = "integer"
		}
		list := fmt.Sprint(hi)
		for j := range n - 1 {
			list = fmt.Sprintf("[%v, %v", hi[0], hi[1])
			if j == 1 {
				list += fmt.Sprintf(", %v", hi[2])
			}
		}
		text := fmt.Sprintf("model m\nupper {\n  var x: %s in box(0, 2)\n  minimize %s + (x - 1)^2\n}\nlower {\n  var y: vector[%d] in box(0, %s])\n  minimize %s\n}\nsolve { ties = optimistic }\n", kind, f, n, list, g)
		value := func(x, sign float64) float64 {
			sum := (x - 1) * (x - 1)
			for j, c := range a {
				end := 0.0
				if open[j] {
					lin := c[0]
					if j == 0 {
						lin += x / 2
					}
					at := func(y float64) float64 { return sign * y * (lin + y*(c[1]+y*c[2])) }
					end = math.Min(0, at(hi[j]))
					root := c[1]*c[1] - 3*c[2]*lin
					for _, y := range []float64{-(c[1] + math.Sqrt(root)) / (3 * c[2]), -(c[1] - math.Sqrt(root)) / (3 * c[2]), -lin / (2 * c[1])} {
						if y > 0 && y < hi[j] {
							end = math.Min(end, at(y))
						}
					}
				}
				sum += sign * end
			}
			return sum
		}
		m, err := runtime.Compile("m.blv", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		p, err := m.Bind(nil, runtime.BindOptions{})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		r, err := p.Solve(t.Context(), runtime.Options{Seed: 1})
		if err != nil || r.Lower.Ties == nil || len(r.Upper.Variables) == 0 {
			continue // whole numbers without a bound of f
		}
		x := r.Upper.Variables[0].Data[0]
		wrong := func(got, want float64) bool { return math.Abs(got-want) > 1e-6*(1+math.Abs(want)) }
		if b := float64(r.Lower.Ties.Optimistic); !math.IsNaN(b) {
			if known++; wrong(b, value(x, 1)) {
				t.Errorf("seed %d: the best answer to %v gives %v, not %v\n%s", seed, x, b, value(x, 1), text)
			}
		}
		if w := float64(r.Lower.Ties.Pessimistic); !math.IsNaN(w) && wrong(w, value(x, -1)) {
			t.Errorf("seed %d: the worst answer to %v gives %v, not %v\n%s", seed, x, w, value(x, -1), text)
		}
		got := float64(r.Upper.Objective)
		if least := math.Min(value(0, 1), math.Min(value(1, 1), value(2, 1))); whole && r.Global.Proved && wrong(got, least) {
			t.Errorf("seed %d: %v is proved, and there is %v\n%s", seed, got, least, text)
		}
		if !whole && r.Status == runtime.Solved {
			if local++; !wrong(got, value(x, 1)) {
				best++
			}
		}
	}
	t.Logf("best answers known %d times; of %d local solutions %d have them", known, local, best)
	if known == 0 || best < local*3/4 {
		t.Errorf("best answers known %d times; of %d local solutions %d have them", known, local, best)
	}
}

// TestBestAnswerWithoutASearch: the follower's best answer to the x at which all starts ended, which a local run goes on from, is the result's, and passes its own verification. F is quadratic, and at its most where x is at these bounds.
func TestBestAnswerWithoutASearch(t *testing.T) {
	r, err := bindText(t, `model best
upper {
  var x1: real in box(-4, -3)
  var x2: real in box(2.1, 5.1)
  maximize -x2 + 2 * y1 - 3 * y2 - 0.5 * x1 * x2 + 0.5 * y1^2 + 2 * x2 * y2 + y2^2
}
lower {
  var y1: real in box(-3, 4)
  var y2: real in box(-1, 0)
  minimize -3 * y2 + 3 * x2 * y2
  subject to
    -3 * x1 + 0.7 * y1 <= 14
    -3 * x1 + 2 * y1 + 2 * y2 <= 12
}
solve { ties = optimistic }
`).Solve(t.Context(), runtime.Options{Seed: 1, Search: runtime.SearchNone})
	if err != nil || r.Status != runtime.Solved || math.Abs(float64(r.Upper.Objective)-8.975) > 1e-9 {
		t.Errorf("%v, %v: %s, F %v", err, r.Status, r.Reason, r.Upper.Objective)
	}
}
