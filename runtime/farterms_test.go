package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// Rows whose terms are far larger than what they add up to hold to the rounding of these: F is what it is with terms of moderate size. An entry of the follower is told as far + its value, or as the difference of two that are
// about far each, which rows of it then cancel.
func TestRowsHoldToTheRoundingOfTheirTerms(t *testing.T) {
	points := 0
	for k := range members.Seeds(t, 120) {
		model := func(far float64) string {
			rng := rand.New(rand.NewPCG(k, 712))
			vector := func(n, size int) []int {
				v := make([]int, n)
				for j := range v {
					v[j] = rng.IntN(2*size+1) - size
				}
				return v
			}
			matrix := func(m, n int) [][]int {
				a := make([][]int, m)
				for i := range a {
					a[i] = vector(n, 3)
				}
				return a
			}
			quadratic := "sumsq(y) / 2 + x' * (P * y)"
			vars, row, value, cost := "    var w: real\n", fmt.Sprintf("w == %v + c' * y", far), fmt.Sprintf("(w - %v)", far), fmt.Sprintf("(w - %v)^2 / 2", far)
			if k%3 == 0 {
				vars = fmt.Sprintf("    var p: real in box(0, %v)\n    var q: real in box(%v, %v)\n", 10*far, far, 4*far)
				row, value, cost = fmt.Sprintf("p - q == c' * y\n    hold: q + x[1] <= %v", 2*far), fmt.Sprintf("(p - %v)", far), fmt.Sprintf("(p - %v)", far)
			}
			ties := ""
			if k%2 == 0 || k%3 == 0 {
				quadratic, cost, ties = "0", value, "solve { ties = optimistic }\n"
			}
			return fmt.Sprintf(`model far
data A: matrix[3, 2] = %s
data B: matrix[3, 3] = %s
data P: matrix[2, 3] = %s
data c: vector[3] = %s
data b: vector[3] = [%d, %d, %d]
upper {
  var x: vector[2] in box(-2, 2)
  minimize %s' * x + %s' * y + %s + 0 * sum(P)
}
lower {
  var y: vector[3] in box(-3, 3)
%s  minimize %s' * y + %s + %s
  subject to
    far: %s
    r: A * x + B * y + %s * [1, 0, -1] <= b
}
%s`, text(matrix(3, 2)), text(matrix(3, 3)), text(matrix(2, 3)), text(vector(3, 3)), 1+rng.IntN(5), 1+rng.IntN(5), 1+rng.IntN(5), text(vector(2, 4)), text(vector(3, 4)), value,
				vars, text(vector(3, 4)), cost, quadratic, row, value, ties)
		}
		near := solveText(t, model(1000), runtime.Options{})
		for _, far := range []float64{1e6, 2e8, 1e9} {
			r := solveText(t, model(far), runtime.Options{})
			if r.Status != near.Status || r.HasPoint() && math.Abs(float64(r.Upper.Objective-near.Upper.Objective)) > 1e-5*math.Max(1, math.Abs(float64(near.Upper.Objective))) {
				t.Errorf("member %d: beside %v %s (%s), F = %v, and beside 1000 %s, F = %v\n%s", k, far, r.Status, r.Reason, r.Upper.Objective, near.Status, near.Upper.Objective, model(far))
			}
		}
		if near.Status == runtime.Solved {
			points++
		}
	}
	if points < members.Count(120)/2 {
		t.Errorf("%d solved", points)
	}
}
