package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/optimize"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestBudgetsLeaveNoChoice has followers w whose rows a_i'w >= 1 - c_i the leader sets one by one, with an f that is convex and not quadratic in w. No F is below the least f over the
// rows, which is the minimum of a function of w alone, found by another method; where the rows that are tight there hold w as the follower's answer F is that.
func TestBudgetsLeaveNoChoice(t *testing.T) {
	attained, n := 0, 0
	for k := range members.Seeds(t, 200) {
		n++
		rng := rand.New(rand.NewPCG(k, 71))
		d, rows, samples := 2+rng.IntN(3), 8+rng.IntN(8), 10
		list := func(count int) (text string, a [][]float64) {
			var lines []string
			for range count {
				row, cells := make([]float64, d), make([]string, d)
				for j := range row {
					row[j] = math.Round(100*rng.NormFloat64()) / 100
					cells[j] = fmt.Sprintf("(%g)", row[j])
				}
				a, lines = append(a, row), append(lines, "["+strings.Join(cells, ", ")+"]")
			}
			return "[" + strings.Join(lines, ", ") + "]", a
		}
		textA, a := list(rows)
		textB, b := list(samples)
		model := fmt.Sprintf(`model budgets
data A: matrix[%d, %d] = %s
data B: matrix[%d, %d] = %s
upper {
  var c: vector[%d] in box(0.01, 100)
  minimize mean(exp(1 - B * w)) + 0.5 * mean(exp(B * w)) + 0.001 * sumsq(c)
}
lower {
  var w: vector[%d]
  minimize 0.5 * sumsq(w)
  subject to
    margin: A * w >= 1 - c
}
`, rows, d, textA, samples, d, textB, rows, d)
		p := bindText(t, model)
		res, err := p.Solve(context.Background(), runtime.Options{})
		if err != nil || res.Status != runtime.Solved {
			t.Fatalf("case %d: %v %v %s\n%s", k, err, res.Status, res.Reason, model)
		}
		if report, err := p.Verify(res); err != nil || !report.OK() {
			t.Errorf("case %d: %v %v\n%s", k, err, report.Failures(), model)
		}
		dot := func(row, w []float64) (v float64) {
			for j, r := range row {
				v += r * w[j]
			}
			return v
		}
		f := func(w []float64) (v float64) {
			for _, row := range b {
				m := dot(row, w)
				v += (math.Exp(1-m) + 0.5*math.Exp(m)) / float64(len(b))
			}
			for _, row := range a {
				v += 0.001 * math.Pow(math.Max(0.01, 1-dot(row, w)), 2)
			}
			return v
		}
		least, err := optimize.Minimize(optimize.Problem{Func: f}, make([]float64, d), &optimize.Settings{Converger: &optimize.FunctionConverge{Absolute: 1e-13, Iterations: 500}}, &optimize.NelderMead{})
		if err != nil {
			t.Fatal(err)
		}
		F := float64(res.Upper.Objective)
		if F < least.F-1e-6*(1+math.Abs(least.F)) {
			t.Errorf("case %d: F %.12g, and no f over the rows is below %.12g\n%s", k, F, least.F, model)
		}
		if F < least.F+1e-6*(1+math.Abs(least.F)) {
			attained++
		}
	}
	t.Logf("%d of %d attained", attained, n)
	if attained == 0 {
		t.Error("the follower always had a choice")
	}
}
