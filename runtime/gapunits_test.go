package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestGapsInAnyUnits solves random problems with x and y from 1e-12 to 1e6 and F of about 1 to 100, or nothing next to its terms: the answer of the follower is the largest of lines, F piecewise linear, its least value at an end of X or
// where two lines cross. What is proved to be the least is so, and the bound is as near in any unit.
func TestGapsInAnyUnits(t *testing.T) {
	proved, small := 0, 0
	for _, seed := range append(slices.Collect(members.Seeds(t, 400)), 322991850, 750704094) { // of the last but one y is 17, of the last one F has two minima
		rng := rand.New(rand.NewPCG(seed, 71))
		unit := math.Pow(10, float64(rng.IntN(19)-12))
		whole := func(of int) float64 { return float64(rng.IntN(2*of+1) - of) }
		width, c, d := 1+float64(rng.IntN(8)), whole(9), whole(9)
		slopes, ends := make([]float64, 2+rng.IntN(3)), []float64{0, width}
		starts := make([]float64, len(slopes))
		var rows strings.Builder
		for i := range slopes {
			slopes[i], starts[i] = whole(4), whole(6)
			fmt.Fprintf(&rows, "    %g * y - (%g) * x >= %g\n", 1/unit, slopes[i]/unit, starts[i])
		}
		for i, a := range slopes {
			for k, b := range slopes[:i] {
				if x := (starts[i] - starts[k]) / (b - a); a != b && x > 0 && x < width {
					ends = append(ends, x)
				}
			}
		}
		value := func(x float64) (f, terms float64) {
			y := math.Inf(-1)
			for i, a := range slopes {
				y = math.Max(y, starts[i]+a*x)
			}
			return c*x + d*y, math.Abs(c*x) + math.Abs(d*y)
		}
		least, terms := math.Inf(1), 0.0
		for _, x := range ends {
			if f, of := value(x); f < least {
				least, terms = f, of
			}
		}
		shift := 0.0
		if rng.IntN(2) == 0 {
			shift = -least
			small++
		}
		text := fmt.Sprintf("model m\nsolve { ties = optimistic }\nupper {\n  var x: real in box(0, %g)\n  minimize (%g) * x + (%g) * y + (%.17g)\n}\nlower {\n  var y: real\n  minimize y\n  subject to\n%s}\n",
			width*unit, c/unit, d/unit, shift, &rows)
		r := solveText(t, text, runtime.Options{Search: runtime.SearchFully})
		if r.Status != runtime.Solved || r.Global == nil || !r.Global.Proved {
			t.Errorf("seed %d: %s, %s\n%s", seed, r.Status, r.Reason, text)
			continue
		}
		proved++
		terms += math.Abs(shift) + 1 // of F at its least value, which what is proved is relative to
		if f := float64(r.Upper.Objective); math.Abs(f-least-shift) > 1e-6*terms {
			t.Errorf("seed %d, in units of %g: F %g is proved, and the least is %g\n%s", seed, unit, f, least+shift, text)
		}
		if bound := float64(r.Global.Bound); math.Abs(bound-least-shift) > 1e-6*terms {
			t.Errorf("seed %d, in units of %g: the bound is %g, and the least F %g\n%s", seed, unit, bound, least+shift, text)
		}
	}
	if proved < 15 || small < 3 {
		t.Errorf("%d proved, %d with terms that cancel", proved, small)
	}
}

// TestGapsBesideEqualMinima: F is 0 at both ends of X and more between them, and the terms that cancel are several times larger at one end than at the other. The gap is next to those at the solution, whichever it is.
func TestGapsBesideEqualMinima(t *testing.T) {
	for seed := range members.SeedsOf(t, 100, 400) {
		rng := rand.New(rand.NewPCG(seed, 72))
		unit := math.Pow(10, float64(rng.IntN(9)-4))
		width, low, rise := float64(1+rng.IntN(9)), float64(1+rng.IntN(9)), float64(2+rng.IntN(8))
		// y is the larger of a line that falls from low at 0 and one that rises to low + rise width at the other end: F = rise x - y + low, concave, is 0 at the ends.
		down, up := float64(1+rng.IntN(4)), rise+float64(1+rng.IntN(4))
		text := fmt.Sprintf("model m\nsolve { ties = optimistic }\nupper {\n  var x: real in box(0, %g)\n  minimize %g * x - %g * y + %g\n}\nlower {\n  var y: real\n  minimize y\n  subject to\n    %g * y + %g * x >= %g\n    %g * y - %g * x >= %g\n}\n",
			width*unit, 0.3*rise/unit, 0.3/unit, 0.3*low, 1/unit, down/unit, low, 1/unit, up/unit, low+rise*width-up*width)
		r := solveText(t, text, runtime.Options{Search: runtime.SearchFully})
		if f := float64(r.Upper.Objective); r.Status != runtime.Solved || r.Global == nil || !r.Global.Proved || math.Abs(f) > 1e-6*(low+rise*width) {
			t.Errorf("seed %d: %s, %s, F = %g\n%s", seed, r.Status, r.Reason, f, text)
		}
	}
}

// TestGapsAtZero: F and all of its terms are 0 where it is least, at an end of X that is as wide as x has units, up to 1e12. Bounds have the rounding of terms at the other end, beside which a gap is closed.
func TestGapsAtZero(t *testing.T) {
	for seed := range members.Seeds(t, 200) {
		rng := rand.New(rand.NewPCG(seed, 73))
		unit := math.Pow(10, float64(4+rng.IntN(9)))
		slope := 0.1 + 3.9*rng.Float64()
		rows := fmt.Sprintf("    %g * y - %g * x >= 0\n", 1/unit, slope/unit)
		for k := range 1 + rng.IntN(3) {
			rows += fmt.Sprintf("    %g * y - (%g) * x >= %g\n", 1/unit, float64(min(k, 1))*8*(rng.Float64()-0.5)/unit, -6*rng.Float64())
		}
		d := 8 * (rng.Float64() - 0.5)
		c := 4*rng.Float64() - math.Min(d, 0)*4 // the answer rises by 4 at the most
		text := fmt.Sprintf("model m\nsolve { ties = optimistic }\nupper {\n  var x: real in box(0, %g)\n  minimize %g * x + (%g) * y\n}\nlower {\n  var y: real\n  minimize y\n  subject to\n%s}\n", 6*unit, c/unit, d/unit, rows)
		r := solveText(t, text, runtime.Options{Search: runtime.SearchFully})
		if f := float64(r.Upper.Objective); r.Status != runtime.Solved || r.Global == nil || !r.Global.Proved || math.Abs(f) > 1e-9 || !(math.Abs(float64(r.Global.Bound)) <= 1e-9) {
			t.Errorf("seed %d: %s, %s, F = %g\n%s", seed, r.Status, r.Reason, f, text)
		}
	}
}
