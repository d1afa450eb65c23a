package document

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/status"
)

// What the text says is what the result holds, for random results: each number is in the
// sentence that is about it, and each sentence is there exactly where it is true.
func TestTextSaysWhatTheResultHolds(t *testing.T) {
	for trial := range members.Seeds(t, 60) {
		rng := rand.New(rand.NewPCG(trial, 40))
		value := func() Number { return Number(float64(1+rng.IntN(899)) / 8) }
		flip := func() bool { return rng.IntN(2) == 0 }
		r := &Result{Model: "m", Status: status.Solved, Method: "goldstein", Oracle: "face"}
		r.Upper.Objective = value()
		r.Upper.Hypergradient = Values{{Name: "x", Shape: []int{2}, Data: []float64{0, float64(rng.IntN(2))}}}
		r.Stationarity.Strict = rng.IntN(2) == 0
		ties := &Ties{Rule: []string{Optimistic, LeastNorm}[rng.IntN(2)], Tau: value() / 1e9, Loss: value(), Exact: flip(), Unique: flip(),
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
		r.Calls, r.Verification = problem.Calls{F: 11, GradF: 12, G: 13, GradG: 14}, &problem.Calls{F: 21, GradF: 22, G: 23, GradG: 24}
		starts := 1 + rng.IntN(4)
		for range starts {
			r.Starts = append(r.Starts, StartResult{Status: status.Solved})
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
		says(true, "tau %s; it loses %s %s against its optimum", ties.Tau.Brief(), words[ties.Exact], ties.Loss.Brief())
		says(ties.Rule == Optimistic, "broken in the leader's favour")
		says(ties.Rule == LeastNorm, "broken by the least norm")
		says(ties.Unique, "no other answer as good was found")
		says(!ties.Unique, "it may have other answers as good")
		says(best, "F is %s with the answer best for the leader", ties.Optimistic.Text())
		says(worst, "F is %s with the answer worst for the leader", ties.Pessimistic.Text())
		says(best, "answer best")
		says(worst, "answer worst")
		says(true, "predicted %s evaluations of F (a theorem), took %d\n", r.Budget.Evaluations.Brief(), r.Budget.Actual)
		says(true, "differ by %s (%s relative)", r.Check.Error.Brief(), r.Check.Relative.Brief())
		says(len(r.Lower.Dependent) > 0, "multipliers are not unique: active rows depend on each other (row[3])")
		says(r.Upper.Hypergradient[0].Data[1] == 0 && r.Stationarity.Strict, "the gradient is exactly zero")
		says(true, "\ncalls: %s\n", r.Calls.Text())
		says(true, "calls to verify the result: %s\n", r.Verification.Text())
		says(true, "note: stationary is a local statement")
		says(starts == 1, "--starts looks from more points")
		says(starts > 1, "best of %d starts", starts)
		says(true, "time: read 1, compile 2, bind 3, prove 4, solve 5, certify 6 s\n")
	}
}

// Notes that name entries have as many as fit into a line, and say how many there are; on a
// screen no line of words is longer than it.
func TestNotesFitTheScreen(t *testing.T) {
	r := &Result{Model: "m", Oracle: "face", Method: "goldstein", Status: status.Solved,
		Reason: strings.Repeat("for a reason that takes many words to say ", 6)}
	for k := range 40 {
		r.Upper.AtBounds = append(r.Upper.AtBounds, fmt.Sprintf("toll[\"city %d\", \"Zürich\"] lower", k))
		r.Lower.Dependent = append(r.Lower.Dependent, fmt.Sprintf("balance[%d]", k))
		r.Upper.Free = append(r.Upper.Free, fmt.Sprintf("x[%d]", k))
	}
	r.Stationarity.Measure = "norm of the smallest element of the Goldstein subdifferential plus the normal cone"
	r.Notes = []string{strings.Repeat("a note ", 40), strings.Repeat("x", 150) + " and more"}
	for _, width := range []int{40, 80, 120} {
		var b strings.Builder
		if err := r.WriteText(&b, TextOptions{MaxEntries: 12, Width: width}); err != nil {
			t.Fatal(err)
		}
		words, _, _ := strings.Cut(b.String(), "\nmethod goldstein")
		for _, line := range strings.Split(words, "\n") {
			if n := len([]rune(line)); n > width && !strings.Contains(line, "xxx") {
				t.Errorf("%d characters in %d columns: %s", n, width, line)
			}
		}
		all := strings.Join(strings.Fields(b.String()), " ")
		for _, want := range []string{"and 39 more", "balance[3],", "(balance[0]", "x[5]", "and more", strings.TrimSpace(r.Reason)} {
			if !strings.Contains(all, want) {
				t.Errorf("lacks %q:\n%s", want, b.String())
			}
		}
	}
	var b strings.Builder
	if err := r.WriteText(&b, TextOptions{Phases: true}); err != nil || !strings.Contains(b.String(), "balance[39]") || !strings.Contains(b.String(), "city 39") {
		t.Errorf("%v: with -v all are named:\n%s", err, b.String())
	}
}

// A bound that is proved next to the terms of F, and not next to F, is shown.
func TestTextOfBounds(t *testing.T) {
	for _, c := range []struct {
		f, bound Number
		shown    bool
	}{{0, -6e-9, true}, {0, 0, false}, {1e-10, -6e-9, true}, {3, 3 - 2e-6, false}, {-3, -3 - 2e-6, false}, {-3, -3.1, true}} {
		g := &Global{Proved: true, Bound: c.bound, Within: 1e-6, Nodes: 1}
		says := g.Text(c.f)
		if strings.Contains(says, "a thousandth of the terms of F, which cancel in it: bound "+c.bound.Text()) != c.shown || !strings.Contains(says, "proved within 1e-06") {
			t.Errorf("beside F = %v: %s", c.f, says)
		}
	}
}
