package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// The leader's box of half width W holds the optimum, whatever W is: F does not depend on it.
func TestWideBoxes(t *testing.T) {
	for name, model := range map[string]string{
		"quadratic": `model b104
data P: matrix[2, 3] = [[-0.9, -1.9, 1.5], [3.1, -1.1, -3.4]]
upper {
  var x: vector[3] in box(-%[1]g, %[1]g)
  minimize x[1]*y[1] + 0.3*sumsq(y) + 3.1*sumsq(x)
}
lower {
  var y: vector[2] in box(-0.5, 0.5)
  minimize 3*y[1]^2 + 0.07*y[1]*y[2] + 0.25*y[2]^2 + ([5, 0.45] + P*x)'*y
}
`,
		"curved, with kinks": `model wk
upper {
  var x: vector[3] in box(-%[1]g, %[1]g)
  minimize sum(log1pexp(5*(x - [1, 2, 3]))) + sumsq(y) - sum(x) + 0.5*norm1(x - y)
}
lower {
  var y: vector[3] in box(-0.5, 2.5)
  minimize sumsq(y - x) + y[1]*y[2]
}
`} {
		first := math.NaN()
		for _, width := range []float64{10, 1e3, 1e5, 1e7, 1e9} {
			text := fmt.Sprintf(model, width)
			r := solveText(t, text, runtime.Options{Seed: 1})
			f := float64(r.Upper.Objective)
			if math.IsNaN(first) {
				first = f
			}
			if r.Status != runtime.Solved || math.Abs(f-first) > 1e-8*math.Abs(first) {
				t.Errorf("%s: W = %g: %s (%s), F %v; %v in the narrowest box", name, width, r.Status, r.Reason, f, first)
			}
		}
	}
}

// farFace is a program whose F is the sum of a number and of squares that are zero together on a face that reaches as far as the leader's box, a width to one side and a tenth of it to the other, and F's optimum, which is that number:
// y is what the follower's row demands, on part of the face where it does.
func farFace(r *rand.Rand, width float64) (text string, optimum float64) {
	number := func() float64 { return float64(1+r.IntN(9)) / 4 * float64(1-2*r.IntN(2)) }
	lo, hi := -width, width/10
	if r.IntN(2) == 0 {
		lo, hi = -width/10, width
	}
	optimum = float64(1+r.IntN(9)) / 10
	// x = (a, b, 0) has p'x = q and y = c + d'x
	a, b := number(), number()
	p := [3]float64{number(), number(), number()}
	c, d := number(), [3]float64{number(), number(), number()}
	text = fmt.Sprintf("model far\nupper {\n  var x: vector[3] in box(%g, %g)\n  minimize %g + (%g*x[1] + %g*x[2] + %g*x[3] - %g)^2 + 2*(y - %g)^2\n}\nlower {\n  var y: real in box(%g, inf)\n  minimize %s\n}\n",
		lo, hi, optimum, p[0], p[1], p[2], p[0]*a+p[1]*b, c+d[0]*a+d[1]*b, c+d[0]*a+d[1]*b-math.Abs(number()),
		[]string{fmt.Sprintf("(y - %g - %g*x[1] - %g*x[2] - %g*x[3])^2", c, d[0], d[1], d[2]), fmt.Sprintf("y^2/2 - (%g + %g*x[1] + %g*x[2] + %g*x[3])*y", c, d[0], d[1], d[2])}[r.IntN(2)])
	return text, optimum
}

// Where the terms of F cancel at the far end of a face on which F is the same, it is rounding there: neither F nor a bound is told from such a point, but for one in a hundred bounds.
func TestFarEndsOfFaces(t *testing.T) {
	count, loose := 0, 0
	for seed := range members.Seeds(t, 200) {
		r := rand.New(rand.NewPCG(seed, 612))
		width := math.Pow(10, float64(3+r.IntN(7)))
		text, optimum := farFace(r, width)
		result := solveText(t, text, runtime.Options{Seed: 1})
		g := result.Global
		f, bound := float64(result.Upper.Objective), float64(g.Bound)
		// Multipliers that would be 0 are rounding, of 2^-48 of the terms of some tens, and a bound is lower by them times sides.
		low := !(bound >= optimum-2e-6-0x1p-40*width)
		if count++; low || !g.Proved && width < 1e6 {
			loose++
		}
		if result.Status != runtime.Solved || !(math.Abs(f-optimum) <= 1e-8) || bound > f || g.Proved && low {
			t.Errorf("seed %d: %s (%s), F %v, which is %v, bound %v\n%s", seed, result.Status, result.Reason, f, optimum, bound, text)
		}
	}
	if loose > members.Misses(count, 0.01) {
		t.Errorf("%d of %d bounds tell nothing", loose, count)
	}
}

// TestBoundsAtFarEnds: the relaxation of one branch has its solution at the far end of such a face, where the square is a difference of terms of 1e16: it is no more than its multipliers show of it, with rounding of what they
// leave of these, and does not hide the other branch.
func TestBoundsAtFarEnds(t *testing.T) {
	for _, seed := range []uint64{2572, 5951} {
		r := rand.New(rand.NewPCG(seed, 612))
		text, optimum := farFace(r, math.Pow(10, float64(3+r.IntN(7))))
		if result := solveText(t, text, runtime.Options{Seed: 1}); !(math.Abs(float64(result.Upper.Objective)-optimum) <= 1e-8) {
			t.Errorf("seed %d: F %v, which is %v: %s\n%s", seed, result.Upper.Objective, optimum, result.Reason, text)
		}
	}
}

// An entry of x that no row reads has the unit that f gives it: beside one from a box of any width all slopes of F would be rounding. F is q(w, y) plus the square of what v misses of a combination of w and y, so that its
// least over v is that of q, which is solved beside it without v.
func TestEntriesThatNoRowReads(t *testing.T) {
	for seed := range members.Seeds(t, 300) {
		r := rand.New(rand.NewPCG(seed, 613))
		number := func() float64 { return float64(1+r.IntN(9)) / 4 * float64(1-2*r.IntN(2)) }
		width := math.Pow(10, float64(3+r.IntN(7)))
		unit := func() float64 { return math.Pow(10, float64(r.IntN(9)-4)) }
		ofV, ofW, ofY, ofF := unit(), unit(), unit(), unit() // v, w and y are so many times what they are in units of 1
		q := fmt.Sprintf("%g*(%g*y + (w/%g)*(y/%g)*%g + %g*(w/%g)^2 + %g*w + (y/%g)^2)", ofF, number()/ofY, ofW, ofY, number(), math.Abs(number()), ofW, number()/ofW, ofY)
		extra := fmt.Sprintf(" + %g*(v/%g - %g - %g*w - %g*y)^2", ofF*math.Abs(number()), ofV, number(), number()/ofW, number()/ofY)
		lower := fmt.Sprintf("lower {\n  var y: real in box(%g, %g)\n  minimize %g*(y/%g - %g - %g*w)^2\n}\nsolve { ties = optimistic }\n", -2*ofY, 3*ofY, unit(), ofY, number(), number()/ofW)
		w := fmt.Sprintf("  var w: real in box(%g, %g)\n", -5*ofW, 4*ofW)
		v := fmt.Sprintf("  var v: real in box(%g, %g)\n", -width*ofV, width*ofV/10)
		want := solveText(t, "model plain\nupper {\n"+w+"  minimize "+q+"\n}\n"+lower, runtime.Options{Seed: 1})
		text := "model more\nupper {\n" + w + v + "  minimize " + q + extra + "\n}\n" + lower
		got := solveText(t, text, runtime.Options{Seed: 1})
		if want.Status != runtime.Solved || !want.Global.Proved {
			t.Errorf("seed %d: without v: %s (%s)", seed, want.Status, want.Reason)
			continue
		}
		a, b := float64(want.Upper.Objective), float64(got.Upper.Objective)
		if got.Status != runtime.Solved || math.Abs(a-b) > 1e-5*(ofF+math.Abs(a)) {
			t.Errorf("seed %d: %s (%s), F %v, which is %v\n%s", seed, got.Status, got.Reason, b, a, text)
		}
	}
}
