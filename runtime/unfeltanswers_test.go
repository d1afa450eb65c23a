package runtime_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestAnswersThatTheLeaderDoesNotFeel solves random polynomials of degree up to 4 over linear followers, many of which end at an x at which f has no terms in y, and multipliers of rows are rounding that nothing is there
// to be compared with: results pass their own verification.
func TestAnswersThatTheLeaderDoesNotFeel(t *testing.T) {
	for seed := range members.Seeds(t, 300) {
		r := rand.New(rand.NewPCG(seed, 81))
		nx, ny := 1+r.IntN(3), 1+r.IntN(2)
		x, y := func() string { return fmt.Sprintf("x[%d]", 1+r.IntN(nx)) }, func() string { return fmt.Sprintf("y[%d]", 1+r.IntN(ny)) }
		var f, g, rows []string
		for range 2 + r.IntN(3) {
			term := []string{fmt.Sprint([]float64{-5, -2, -1, 0.3, 0.5, 1, 2, 4}[r.IntN(8)])}
			for range 1 + r.IntN(4) {
				if r.IntN(2) == 0 {
					term = append(term, x())
				} else {
					term = append(term, y())
				}
			}
			f = append(f, strings.Join(term, "*"))
		}
		for k := range ny {
			g = append(g, fmt.Sprintf("-%d*y[%d] - %d*%s*y[%[2]d]", 1+r.IntN(3), k+1, r.IntN(2), x()))
			rows = append(rows, fmt.Sprintf("%d*%s + %d*%s + %d*y[%d] <= %d", r.IntN(4), x(), r.IntN(4), x(), 1+r.IntN(3), k+1, 3+r.IntN(5)))
		}
		model := fmt.Sprintf("model unfelt\nupper {\n  var x: vector[%d] in box(0, 1)\n  minimize %s\n}\nlower {\n  var y: vector[%d] in box(0, 3)\n  minimize %s\n  subject to\n    %s\n}\nsolve { ties = optimistic }\n",
			nx, strings.Join(f, " + "), ny, strings.Join(g, " "), strings.Join(rows, "\n    "))
		problem := bindText(t, model)
		result, err := problem.Solve(context.Background(), runtime.Options{Seed: 1})
		if err != nil {
			t.Fatalf("%d: %v\n%s", seed, err, model)
		}
		if result.Status != runtime.Solved && result.Status != runtime.Infeasible {
			t.Errorf("%d: %s (%s)\n%s", seed, result.Status, result.Reason, model)
		}
	}
}
