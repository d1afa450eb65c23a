package sequential_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/sequential"
)

// A battery that trades on predicted prices stands idle at one of its ends for hours: rows that hold depend on each other, and kinks of many of them meet where F is least.
const battery = `model battery
param D: int
param H: int
param k: int
data phi: matrix[D, k]
data price: matrix[D, H]
let predicted = exp(phi * W)
upper {
  var W: matrix[k, H] in box(-10, 10)
  minimize (sum(price .* (zin - zout)) + 0.1 * sumsq(level - 0.5) + 0.05 * (sumsq(zin) + sumsq(zout))) / D + 0.001 * sumsq(W)
}
lower {
  var zin: matrix[D, H] in box(0, 0.5)
  var zout: matrix[D, H] in box(0, 0.2)
  var level: matrix[D, H] in box(0, 1)
  minimize sum(predicted .* (zin - zout)) + 0.1 * sumsq(level - 0.5) + 0.05 * (sumsq(zin) + sumsq(zout))
  subject to
    first: level[:, 1] == 0.5
    store: level[:, 2..H] == level[:, 1..H - 1] + 0.9 * zin[:, 1..H - 1] - zout[:, 1..H - 1]
}`

// batteries is a random problem of them.
func batteries(t *testing.T, rng *rand.Rand, days, hours int) *runtime.Problem {
	t.Helper()
	k := 2
	table := func(n int, entry func(i, j int) float64) [][]float64 {
		out := make([][]float64, days)
		for i := range out {
			for j := range n {
				out[i] = append(out[i], entry(i, j))
			}
		}
		return out
	}
	set := runtime.Data{"D": days, "H": hours, "k": k,
		"phi": table(k, func(_, j int) float64 {
			if j == 0 {
				return 1
			}
			return 1 + rng.Float64()
		}),
		"price": table(hours, func(_, j int) float64 { return 20 + 10*math.Sin(float64(j)) + 20*rng.Float64() })}
	model, err := runtime.Compile("battery.blv", battery)
	if err != nil {
		t.Fatal(err)
	}
	bound, err := model.Bind(set, runtime.BindOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return bound
}

// F of the model of a subproblem is that of the problem at its point, whichever multipliers the follower has: it ends at points with the signs of a minimum, near which the follower's exact answers
// give no lower F.
func TestIdleBatteries(t *testing.T) {
	var n ends
	for seed := range members.SeedsOf(t, 8, 20) {
		rng := rand.New(rand.NewPCG(seed, 15))
		bound := batteries(t, rng, 3+int(seed%2), 6)
		p := bound.Numeric
		x := make([]float64, p.Dx)
		for j := range x {
			x[j] = 2 * rng.Float64()
		}
		point, ok := n.from(t, solver(t, p, true), x, seed)
		if !ok {
			continue
		}
		name := fmt.Sprintf("seed %d", seed)
		at, err := bound.Evaluate(t.Context(), point.Z[:p.Dx])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if math.Abs(at.F-point.F) > 1e-8*(1+math.Abs(at.F)) {
			t.Errorf("%s: F is %v, not %v", name, at.F, point.F)
		}
		for range 20 {
			moved := append([]float64(nil), point.Z[:p.Dx]...)
			for j := range moved {
				moved[j] = math.Min(math.Max(moved[j]+1e-5*rng.NormFloat64(), -10), 10)
			}
			there, err := bound.Evaluate(t.Context(), moved)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if there.F < at.F-1e-7*(1+math.Abs(at.F)) {
				t.Errorf("%s: F falls from %v to %v", name, at.F, there.F)
				break
			}
		}
	}
	n.few(t, 0.02)
}

// Each answer of followers with a hundred rows that hold takes a few steps of Newton's method: programs keep so many to rounding that one which asks for more is never found.
func TestAnswersOfManyIdleBatteries(t *testing.T) {
	var n ends
	for seed := range members.SeedsOf(t, 5, 300) {
		rng := rand.New(rand.NewPCG(seed, 17))
		p := batteries(t, rng, 4, 10).Numeric
		calls, before, most := 0, 0, 0
		p.G = counted{p.G, &calls}
		solver, err := sequential.New(p, sequential.Options{Large: true, Observer: func(pieces.Step) {
			most, before = max(most, calls-before), calls
		}})
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float64, p.Dx)
		for j := range x {
			x[j] = 2 * rng.Float64()
		}
		if n.from(t, solver, x, seed); most >= 1200 { // what one makes that takes all of its steps
			t.Errorf("seed %d: %d calls of g in one round", seed, most)
		}
	}
	n.few(t, 0.02)
}

// The rows of answers hold to rounding, each of its own terms, where rows that hold depend on each other: next to points at which many are biactive.
func TestAnswersToRounding(t *testing.T) {
	var n ends
	row := 0.0
	for seed := range members.SeedsOf(t, 2, 10) {
		rng := rand.New(rand.NewPCG(seed, 18))
		p := batteries(t, rng, 3+int(seed%2), 12).Numeric
		x := make([]float64, p.Dx)
		for j := range x {
			x[j] = 2 * rng.Float64()
		}
		solver := solver(t, p, true)
		point, ok := n.from(t, solver, x, seed)
		if !ok {
			continue
		}
		for range 40 {
			by := math.Pow(10, -8-6*rng.Float64())
			for j := range x {
				x[j] = math.Min(math.Max(point.Z[j]+by*rng.NormFloat64(), -10), 10)
			}
			y, _, err := solver.Answer(t.Context(), x, point.Z[p.Dx:p.Dx+p.Dy])
			if err != nil {
				t.Errorf("seed %d: %v", seed, err)
				continue
			}
			h := make([]float64, p.Rows.Len())
			p.Rows.Residual(h, x, y)
			for i, v := range h {
				if p.Rows.Kind[i] == problem.AtMost {
					v = math.Max(0, v)
				}
				row = max(row, math.Abs(v)/(1e-3+p.Rows.B.AddTerms(math.Abs(p.Rows.Rhs[i]), i, y)))
			}
		}
	}
	n.few(t, 0.02)
	if t.Logf("rows hold to %.1g of their terms", row); row > 1e-14 {
		t.Errorf("rows hold to %.1g of their terms", row)
	}
}

// A solve that is ended after some steps has the point that it has come to, no higher than its start, with the follower's answer.
func TestEndedOnTheWay(t *testing.T) {
	reached := 0
	for seed := range members.Seeds(t, 20) {
		bound := batteries(t, rand.New(rand.NewPCG(seed, 16)), 3, 6)
		ctx, stop := context.WithCancel(t.Context())
		solver, err := sequential.New(bound.Numeric, sequential.Options{Large: true, Observer: func(step pieces.Step) {
			if step.Round == 2 {
				stop()
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float64, bound.Numeric.Dx)
		start, err := bound.Evaluate(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		point, err := solver.From(ctx, x)
		if ctx.Err() == nil {
			continue // one step was enough
		}
		reached++
		if point == nil || !errors.Is(err, context.Canceled) {
			t.Errorf("seed %d: %v, %v", seed, point, err)
			continue
		}
		at, err := bound.Evaluate(t.Context(), point.Z[:bound.Numeric.Dx])
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(at.F-point.F) > 1e-8*(1+math.Abs(at.F)) || at.F > start.F {
			t.Errorf("seed %d: F is %v, not %v, and %v at the start", seed, at.F, point.F, start.F)
		}
	}
	if reached == 0 {
		t.Error("no solve was ended on its way")
	}
}
