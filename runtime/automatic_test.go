package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// A leader whose F has several minima, through a follower held by bounds: the least
// is found on a grid. By default as many starts are made as there is reason for; one
// start ends at another minimum in a good part of the cases.
func TestTheNumberOfStartsIsChosen(t *testing.T) {
	trials, missed, alone := 0, 0, 0
	for seed := range members.SeedsUntil(t, 40, func() bool { return alone >= members.Part(8, 40) }) {
		trials++
		rng := rand.New(rand.NewPCG(seed, 4))
		a, b, c := 1+3*rng.Float64(), 6*rng.Float64(), 2*rng.Float64()-1
		lo, hi := -1-rng.Float64(), 1+rng.Float64()
		source := fmt.Sprintf(`model wells
upper {
  var x: real in box(-3, 3)
  minimize sin(%v * x + %v) + 0.1 * (y - %v)^2
}
lower {
  var y: real in box(%v, %v)
  minimize (y - 2 * x)^2
}
`, a, b, c, lo, hi)
		least := math.Inf(1)
		for k := range 600001 {
			x := -3 + 1e-5*float64(k)
			y := math.Min(math.Max(2*x, lo), hi)
			least = math.Min(least, math.Sin(a*x+b)+0.1*(y-c)*(y-c))
		}
		r := solveText(t, source, runtime.Options{})
		covered := strings.Contains(strings.Join(r.Notes, "\n"), "no start was made from") // the rule is about those that are made
		if n := len(r.Starts); n < 8 && !covered || n > 40 {                               // those of the rule, 30 at most, and from the lowest of many draws
			t.Fatalf("%d starts", n)
		}
		if float64(r.Upper.Objective) > least+1e-6 {
			missed++
		}
		if one := solveText(t, source, runtime.Options{Starts: 1}); float64(one.Upper.Objective) > least+1e-6 {
			alone++
		}
	}
	if missed > 0 || alone < members.Part(8, 40) {
		t.Errorf("of %d runs %d missed the least F, with one start %d", trials, missed, alone)
	}
}

// Where x can be one point alone, by bounds or by rows, that is the one start; elsewhere all are made that take next to no work.
func TestOnePointOneStart(t *testing.T) {
	for set, starts := range map[string]int{
		"var x: vector[2] in box(1, 1)": 0,
		"var x: vector[2] in box(-5, 5)\n minimize x' * y\n subject to\n a: x[1] + x[2] == 2\n b: x[1] - x[2] == 0": 0,
		"var x: vector[2] in box(-5, 5)\n minimize x' * y\n subject to\n a: x[1] + x[2] == 2":                       30,
		"var x: vector[2] in box(1, 1.001)": 30,
	} {
		if !strings.Contains(set, "minimize") {
			set += "\n minimize x' * y"
		}
		problem := bindText(t, "model one\nupper {\n"+set+"\n}\nlower {\n var y: vector[2] in box(0, 3)\n minimize sumsq(y - x)\n}\n")
		r, err := problem.Solve(context.Background(), runtime.OffSystem(runtime.Options{}))
		if err != nil || r.Status != runtime.Solved || len(r.Starts) != starts {
			t.Errorf("%s: %d starts, not %d (%v)", set, len(r.Starts), starts, err)
		}
	}
}

// Who says where to start, how, or how often, is taken at his word; and the answer does
// not depend on the number of threads, nor on being interrupted.
func TestAutomaticStarts(t *testing.T) {
	t.Parallel()
	problem := bindText(t, kinked)
	opts := runtime.OffSystem(runtime.Options{Seed: 2})
	whole, err := problem.Solve(context.Background(), opts)
	if err != nil || len(whole.Starts) != 30 { // they take next to no work
		t.Fatalf("%d starts, %v", len(whole.Starts), err)
	}
	opts.Threads = 3
	threads, err := problem.Solve(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if string(document(t, threads)) != string(document(t, whole)) {
		t.Errorf("the result depends on the number of threads:\n%s\n%s", document(t, threads), document(t, whole))
	}
	for name, o := range map[string]runtime.Options{
		"starts": {Starts: 1}, "a method": {Method: "goldstein"}, "a start": {Start: whole.Upper.Variables},
	} {
		r, err := problem.Solve(context.Background(), o)
		if err != nil || len(r.Starts) != 0 {
			t.Errorf("with %s given: %d starts, %v", name, len(r.Starts), err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	opts = runtime.OffSystem(runtime.Options{Seed: 2, Observer: func(now runtime.Progress) {
		if now.Start == 5 && now.Iteration == 2 {
			cancel()
		}
	}})
	stopped, err := problem.Solve(ctx, opts)
	if err != nil || stopped.Status != runtime.Interrupted || stopped.Checkpoint == nil {
		t.Fatalf("%v, %v", stopped.Status, err)
	}
	resumed, err := problem.Solve(context.Background(), runtime.Options{Resume: stopped.Checkpoint})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(resumed.Starts), len(whole.Starts); got != want || resumed.Upper.Objective != whole.Upper.Objective || resumed.Calls != whole.Calls {
		t.Errorf("resumed: %d starts, F %v, calls %v; whole: %d, %v, %v", got, resumed.Upper.Objective, resumed.Calls, want, whole.Upper.Objective, whole.Calls)
	}
}
