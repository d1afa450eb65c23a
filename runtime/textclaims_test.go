package runtime

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"bilevelc/internal/members"
)

// What the text says is what the result holds, for random results: each number is in the
// sentence that is about it, and each sentence is there exactly where it is true.
func TestTextSaysWhatTheResultHolds(t *testing.T) {
	for trial := range members.Seeds(t, 60) {
		rng := rand.New(rand.NewPCG(trial, 40))
		value := func() Number { return Number(float64(1+rng.IntN(899)) / 8) }
		flip := func() bool { return rng.IntN(2) == 0 }
		r := &Result{Model: "m", Status: Solved, Method: "goldstein", Oracle: "face"}
		r.Upper.Objective = value()
		r.Upper.Hypergradient = Values{{Name: "x", Shape: []int{2}, Data: []float64{0, float64(rng.IntN(2))}}}
		ties := &Ties{Rule: []string{optimistic, leastNorm}[rng.IntN(2)], Tau: value() / 1e9, Loss: value(), Exact: flip(), Unique: flip(),
			Optimistic: r.Upper.Objective, Pessimistic: r.Upper.Objective}
		best, worst := flip(), flip()
		if best {
			ties.Optimistic += 1 + value()
		}
		if worst {
			ties.Pessimistic -= 1 + value()
		}
		r.Lower.Ties = ties
		r.Budget = &Budget{Iterations: value(), Evaluations: value(), Basis: "a theorem", Actual: 1000 + rng.IntN(1000)}
		r.Check = &GradientCheck{Error: value(), Relative: value() / 1000}
		if flip() {
			r.Lower.Dependent = []string{"row[3]"}
		}
		r.Calls, r.Verification = Calls{F: 11, GradF: 12, G: 13, GradG: 14}, &Calls{F: 21, GradF: 22, G: 23, GradG: 24}
		starts := 1 + rng.IntN(4)
		for range starts {
			r.Starts = append(r.Starts, StartResult{Status: Solved})
		}
		r.Phases = Phases{Read: 1, Compile: 2, Bind: 3, Prove: 4, Solve: 5, Certify: 6}
		var b strings.Builder
		if err := r.WriteText(&b, TextOptions{Phases: true}); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		says := func(is bool, format string, args ...any) {
			if line := fmt.Sprintf(format, args...); strings.Contains(text, line) != is {
				t.Errorf("trial %d: %q is said: %v\n%s", trial, line, !is, text)
			}
		}
		words := map[bool]string{true: "exactly", false: "at least"}
		says(true, "tau %s; it loses %s %s against its optimum", brief(float64(ties.Tau)), words[ties.Exact], brief(float64(ties.Loss)))
		says(ties.Rule == optimistic, "broken in the leader's favour")
		says(ties.Rule == leastNorm, "broken by the least norm")
		says(ties.Unique, "no other answer as good was found")
		says(!ties.Unique, "it may have other answers as good")
		says(best, "F is %s with the answer best for the leader", number(float64(ties.Optimistic)))
		says(worst, "F is %s with the answer worst for the leader", number(float64(ties.Pessimistic)))
		says(best, "answer best")
		says(worst, "answer worst")
		says(true, "predicted %s evaluations of F (a theorem), took %d\n", brief(float64(r.Budget.Evaluations)), r.Budget.Actual)
		says(true, "differ by %s (%s relative)", brief(float64(r.Check.Error)), brief(float64(r.Check.Relative)))
		says(len(r.Lower.Dependent) > 0, "multipliers are not unique: active rows depend on each other (row[3])")
		says(r.Upper.Hypergradient[0].Data[1] == 0, "the gradient is exactly zero")
		says(true, "\ncalls: %s\n", r.Calls.Text())
		says(true, "calls to verify the result: %s\n", r.Verification.Text())
		says(true, "note: stationary is a local statement")
		says(starts == 1, "--starts looks from more points")
		says(starts > 1, "best of %d starts", starts)
		says(true, "time: read 1, compile 2, bind 3, prove 4, solve 5, certify 6 s\n")
	}
}

// The point that a theorem draws at random is told in the user's sense: of a maximization no
// better than the best one, of random leaders whose F is between known values.
func TestDrawnPointInTheUsersSense(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 41))
	drawn := regexp.MustCompile(`the point drawn at random has F = (\S+);`)
	for trial := range 6 {
		sense, sign := "minimize", 1.0
		if trial%2 == 1 {
			sense, sign = "maximize", -1
		}
		offset := 5 + rng.Float64()
		model, err := Compile("drawn.blv", fmt.Sprintf(`model drawn
upper {
  var x: real in box(-1, 1)
  %s %g + %g * (y - %g)^2
}
lower {
  var y: real in box(-2, 2)
  minimize (y - x)^2
}
`, sense, offset, sign, rng.Float64()))
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Bind(nil, BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Solve(context.Background(), Options{Method: "pigd", Settings: map[string]any{"iterations": 5}, Seed: uint64(trial), Start: Values{{Name: "x", Data: []float64{-1}}}})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != BudgetSpent {
			t.Fatalf("%s: %s", r.Status, r.Reason)
		}
		found := drawn.FindStringSubmatch(strings.Join(r.Notes, "\n"))
		if found == nil {
			t.Fatalf("trial %d: nothing is said of the point drawn: %v", trial, r.Notes)
		}
		// |y - goal| <= 2, so that F is within 4 of the offset, on the side of its sense.
		f, err := strconv.ParseFloat(found[1], 64)
		if err != nil || sign*(f-offset) < 0 || sign*(f-offset) > 4 || sign*(f-float64(r.Upper.Objective)) < -1e-9 {
			t.Errorf("trial %d: to %s, the point drawn has F = %s, the best one %v, F at best %g", trial, sense, found[1], r.Upper.Objective, offset)
		}
	}
}
