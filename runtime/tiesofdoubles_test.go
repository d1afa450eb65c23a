package runtime_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestTiesAreNearestDoubles: an x at a tie is a difference of numbers that are larger, as the follower's y2 is 1 below x = 3 q/p - c, and anything at it. What is said of its answers at x is true of the tie where x is no
// further from it than rounding of x itself, and not of the terms: a few of its last places the other way there is one answer.
func TestTiesAreNearestDoubles(t *testing.T) {
	for seed := range members.Seeds(t, 200) {
		rng := rand.New(rand.NewPCG(seed, 72))
		p, q := int64(1+rng.IntN(40)), int64(1+rng.IntN(40))
		c := 30*q/p - int64(rng.IntN(3)) // in tenths, as p and q are: x is small beside it
		text := fmt.Sprintf("model m\nsolve { ties = optimistic }\nupper {\n  var x: real in box(-4, 4)\n  minimize x + 1000 * y1\n}\nlower {\n  var y1: real\n  var y2: real in box(0, 1)\n  minimize -3 * y1 + %v * y2 + x * y2\n  subject to\n    r: %v * y1 - %v * y2 <= 0\n}\n",
			float64(c)/10, float64(p)/10, float64(q)/10)
		r := solveText(t, text, runtime.Options{})
		want, _ := new(big.Rat).Sub(big.NewRat(3*q, p), big.NewRat(c, 10)).Float64()
		if r.Status != runtime.Solved {
			t.Errorf("seed %d: %s, %s\n%s", seed, r.Status, r.Reason, text)
			continue
		}
		// The numbers of the text are rounded as well, by half of a last place each.
		if x := r.Upper.Variables[0].Data[0]; math.Abs(x-want) > 0x1p-52*math.Abs(want)+0x1p-53*(float64(c)/10+3*float64(3*q)/float64(p)) && x != want {
			t.Errorf("seed %d: x is %.17g, the tie at %.17g\n%s", seed, x, want, text)
		}
	}
}

// A row whose terms are small holds to the rounding of its own, beside rows of larger numbers that meet there but for theirs: y <= 0 where x = 5.3 and 3 x - y >= 15.9.
func TestSmallRowsHoldBesideLarge(t *testing.T) {
	r := solveText(t, "model m\nupper {\n  var x: real in box(0, 6)\n  minimize 7.5 + y - x * y\n}\nlower {\n  var y: real in box(-1, 1)\n  minimize 3 * y - x * y\n  subject to\n    r3: y <= 0\n    r4: -2 * x + y <= -10.6\n    r5: -3 * x + y <= -15.9\n}\nsolve { ties = optimistic }\n", runtime.Options{})
	if y := r.Lower.Variables[0].Data[0]; r.Status != runtime.Solved || y > 0 {
		t.Errorf("%s (%s), y = %v", r.Status, r.Reason, y)
	}
}
