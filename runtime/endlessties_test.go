package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestEndlessTies: the follower does not care for y[1], from its row on, and the leader does, to first order or to second. Where its best answer (or its worst, by the rule) is no end of these F is not defined at x, else it is f at the row.
func TestEndlessTies(t *testing.T) {
	ends := map[bool]int{}
	for seed := range members.Seeds(t, 200) {
		rng := rand.New(rand.NewPCG(seed, 74))
		rule := []string{"optimistic", "pessimistic"}[rng.IntN(2)]
		least, slope := float64(rng.IntN(9)-4), float64(1+rng.IntN(5))*float64(1-2*rng.IntN(2))
		f, at := fmt.Sprintf("x + (%g) * y[1]", slope), 0.5+slope*least
		if rng.IntN(3) == 0 {
			f, at = fmt.Sprintf("x + (%g) * (y[1] - (%g))^2", slope, least), 0.5
		}
		endless := (slope < 0) == (rule == "optimistic")
		text := fmt.Sprintf("model m\nsolve { ties = %s }\nupper {\n  var x: real in box(0, 1)\n  minimize %s\n}\nlower {\n  var y: vector[2]\n  minimize y[2]\n  subject to\n    r: y[1] >= %g\n    s: y[2] >= x\n}\n", rule, f, least)
		r, err := bindText(t, text).Eval(t.Context(), runtime.Values{{Name: "x", Data: []float64{0.5}}}, runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ends[endless]++
		if value := float64(r.Upper.Objective); endless != (r.Status == runtime.NumericalFailure) || !endless && math.Abs(value-at) > 1e-8 {
			t.Errorf("seed %d: %s, %s, F %v, at the row %v\n%s", seed, r.Status, r.Reason, value, at, text)
		}
	}
	if ends[true] < 3 || ends[false] < 3 {
		t.Error(ends)
	}
}
