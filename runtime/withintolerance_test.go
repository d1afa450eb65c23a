package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// Two rows of either level that contradict each other by a small part of their size are called infeasible, or the result says which of them holds only within a tolerance and how far it is off, which is what they
// contradict each other by, together; of two that meet in one value nothing is said.
func TestRowsWithinTolerance(t *testing.T) {
	said, infeasible := 0, 0
	for k := range members.Seeds(t, 60) {
		rng := rand.New(rand.NewPCG(k, 51))
		size, scale := math.Pow(10, float64(rng.IntN(7)-3)), math.Pow(2, float64(rng.IntN(9)-4))
		part := 0.0
		if k%4 > 0 {
			part = math.Pow(10, -11+3*rng.Float64())
		}
		rows := fmt.Sprintf("  subject to\n    up: y[1] + y[2] <= %[1]v\n    down: %[2]v*y[1] + %[2]v*y[2] >= %[2]v*%[1]v*(1 + %[3]v)\n", size, scale, part)
		upper, lower := "", rows
		if k%3 == 2 {
			upper, lower = rows, ""
		}
		text := fmt.Sprintf(`model contra
upper {
  var x: real in box(0, %[1]v)
  minimize (x - %[1]v/2)^2 + y[1]
%[3]s}
lower {
  var y: vector[2] in box(0, %[2]v)
  minimize sumsq(y - x)
%[4]s}
`, size, 5*size, upper, lower)
		r := solveText(t, text, runtime.Options{})
		if r.Status == runtime.Infeasible && part > 0 {
			infeasible++
			continue
		}
		note := ""
		for _, n := range r.Notes {
			if strings.HasPrefix(n, "held within the tolerance") {
				note = n
			}
		}
		if r.Status != runtime.Solved || (note != "") != (part > 0) {
			t.Fatalf("member %d: %s (%s), notes %v, where rows contradict each other by %v\n%s", k, r.Status, r.Reason, r.Notes, part, text)
		}
		if part == 0 {
			continue
		}
		said++
		residuals := r.Residuals.Constraints
		if upper != "" {
			residuals = r.Upper.Residuals
		}
		up, _ := residuals.Get("up")
		down, _ := residuals.Get("down")
		if off := math.Max(0, up.Data[0]) + math.Max(0, down.Data[0])/scale; math.Abs(off-part*size) > 0.01*part*size {
			t.Errorf("member %d: rows are off by %v together, and contradict each other by %v", k, off, part*size)
		}
	}
	if least := members.Count(60) / 6; said < least {
		t.Errorf("%d said, %d infeasible: too few to tell", said, infeasible)
	}
}

// Bounds of an entry of x that cross by a small part of their size hold within a tolerance, too: the result says by how much, and nothing of bounds that meet, to rounding.
func TestBoundsWithinTolerance(t *testing.T) {
	for k := range members.Seeds(t, 40) {
		rng := rand.New(rand.NewPCG(k, 52))
		size := math.Pow(10, float64(rng.IntN(13)-6)) * (0.5 + rng.Float64())
		part := math.Pow(10, -11+1.7*rng.Float64())
		if k%4 == 0 {
			part = 0
		}
		rows := fmt.Sprintf("    low: 3 * x[2] >= 3 * %v\n    high: x[2] <= %v * (1 - %v)\n", size, size, part)
		if rng.IntN(2) == 0 {
			rows = fmt.Sprintf("    meets: 3 * x[2] == 3 * %v * (1 + %v)\n    again: x[2] == %v\n", size, part, size)
		}
		text := fmt.Sprintf("model crossed\nupper {\n  var x: vector[2] in box(-%[1]v, 4 * %[1]v)\n  minimize (x[1] - x[2])^2 + y\n  subject to\n%[2]s}\nlower {\n  var y: real\n  minimize (y - x[1])^2\n}\n", size, rows)
		r := solveText(t, text, runtime.Options{})
		said := 0.0
		for _, n := range r.Notes {
			if _, by, found := strings.Cut(n, "held within the tolerance of the solvers only: one of the bounds of x[2] by "); found {
				if _, err := fmt.Sscanf(by, "%g", &said); err != nil {
					t.Fatal(err)
				}
			}
		}
		if r.Status != runtime.Solved || math.Abs(said-part*size) > 0.01*part*size {
			t.Errorf("member %d: %s, said %v, where bounds cross by %v, notes %q\n%s", k, r.Status, said, part*size, r.Notes, text)
		}
	}
}

// A row of the leader that no answer meets is not met within a tolerance: where X is far wider in one entry than in another, a Goldstein radius is all of the narrow one, and to first order a point within it would be feasible.
func TestNothingFeasibleNearby(t *testing.T) {
	t.Parallel()
	for k := range members.Seeds(t, 20) {
		rng := rand.New(rand.NewPCG(k, 53))
		narrow, wide := math.Pow(10, -5+2*rng.Float64()), math.Pow(10, 1+3*rng.Float64())
		force, least := math.Pow(10, 3*rng.Float64()), math.Pow(10, -4+2*rng.Float64())
		text := fmt.Sprintf(`model nowhere
upper {
  var x: vector[2] in box([-%[1]v, 0], [%[1]v, %[2]v])
  maximize -%[3]v * x[2] + y[2] - %[4]v * x[1]^2
  subject to
    u: y[1] >= %[5]v
}
lower {
  var y: vector[2]
  minimize %[6]v * x[1] * y[1] + %[7]v * y[1]^2 + (y[2] - %[4]v * x[1])^2 + 0.1 * y[1] * y[2]
  subject to
    r: y[1] <= 0
}
`, narrow, wide, 0.1+rng.Float64(), force/narrow, least, force/narrow, 0.5+rng.Float64())
		for _, opts := range []runtime.Options{{Search: runtime.SearchNone}, {Method: "goldstein"}, {}} {
			if r := solveText(t, text, opts); r.Status == runtime.Solved {
				t.Errorf("member %d, %+v: solved (%s), notes %q\n%s", k, opts, r.Reason, r.Notes, text)
			}
		}
	}
}

// Rows of the follower that leave no room, or cross by a small part of their sides, are one equation: the problem is solved
// with it, and the result says by how much the other one is short.
func TestRowsOfTheFollowerWithinTolerance(t *testing.T) {
	for k := range members.Seeds(t, 40) {
		rng := rand.New(rand.NewPCG(k, 53))
		size := math.Pow(10, float64(rng.IntN(9)-4)) * (0.5 + rng.Float64())
		part := math.Pow(10, -11+1.7*rng.Float64())
		if k%4 == 0 {
			part = 0
		}
		slope, goal, wish := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
		low, high := 1+rng.IntN(5), 1+rng.IntN(5)
		rows := []string{
			fmt.Sprintf("    low: %[1]d * y - %[1]d * %[2]v * x >= %[1]d * %[3]v\n", low, slope, size),
			fmt.Sprintf("    high: %[1]d * %[2]v * x >= %[1]d * y - %[1]d * %[3]v * (1 - %[4]v)\n", high, slope, size, part),
			fmt.Sprintf("    far: y - %v * x <= %v\n", slope, 2*size),
		}
		rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		text := fmt.Sprintf("model crossed\nupper {\n  var x: real in box(-%[1]v, %[1]v)\n  minimize (x - %[2]v)^2 / %[1]v + y\n}\nlower {\n  var y: real\n  minimize (y - %[3]v)^2\n  subject to\n%[4]s}\n",
			size, goal*size, wish*size, strings.Join(rows, ""))
		r := solveText(t, text, runtime.Options{})
		// y = size + slope x whatever the follower wishes.
		x := math.Max(-1, math.Min(1, goal-slope/2))
		want := size * ((x-goal)*(x-goal) + 1 + slope*x)
		said, name := 0.0, ""
		for _, n := range r.Notes {
			if _, by, found := strings.Cut(n, "held within the tolerance of the solvers only: "); found {
				if _, err := fmt.Sscanf(by, "%s by %g", &name, &said); err != nil {
					t.Fatal(err)
				}
			}
		}
		short := part * size // in the units of the row that is short
		if name == "high" {
			short *= float64(high)
		} else if name == "low" {
			short *= float64(low)
		}
		if r.Status != runtime.Solved || r.Global == nil || !r.Global.Proved || math.Abs(float64(r.Upper.Objective)-want) > 1e-7*size || math.Abs(said-short) > 0.01*short || (said > 0) != (part > 0) {
			t.Errorf("member %d: %s, F = %v for %v, said %s by %v, where rows cross by %v, notes %q\n%s", k, r.Status, r.Upper.Objective, want, name, said, short, r.Notes, text)
		}
	}
}

// Beside large terms of x a row of the follower holds to their rounding: F is that at the answer that keeps the rows as they are at x, and nothing is said of another.
func TestAnswersWithinTolerance(t *testing.T) {
	for k := range members.Seeds(t, 40) {
		rng := rand.New(rand.NewPCG(k, 54))
		far := math.Round(math.Pow(10, 7+2*rng.Float64()))
		slope, tighter := 0.5+rng.Float64(), math.Round(1e3*far*5e-10*rng.Float64())/1e3
		wish := 0.1 + rng.Float64()
		side := math.Round(1e3*(slope*far-tighter)) / 1e3
		text := fmt.Sprintf("model far\nupper {\n  var x: real in box(-%[1]v, 0)\n  minimize x * y\n}\nlower {\n  var y: real\n  minimize (y - %[2]v)^2\n  subject to\n    r1: y - x <= %[3]v\n    r2: y - %[4]v * x <= %[5]v\n}\n",
			2*far, wish, far, slope, side)
		r := solveText(t, text, runtime.Options{Search: runtime.SearchNone})
		if !r.HasPoint() {
			continue
		}
		x := r.Upper.Variables[0].Data[0]
		y := math.Min(wish, math.Min(x+far, math.FMA(slope, x, side)))
		truth, f := x*y, float64(r.Upper.Objective)
		size := math.Max(math.Abs(truth), math.Abs(f))
		noted := math.NaN()
		for _, n := range r.Notes {
			if _, is, found := strings.Cut(n, "with its rows held to rounding F is "); found {
				if _, err := fmt.Sscanf(is, "%g", &noted); err != nil {
					t.Fatal(err)
				}
			}
		}
		if math.Abs(f-truth) > 1e-5*size || !math.IsNaN(noted) {
			t.Errorf("member %d: F = %v, by the rows at x it is %v, said %v\n%s", k, f, truth, noted, text)
		}
	}
}
