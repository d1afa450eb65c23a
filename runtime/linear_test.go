package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// Travellers of several towns each choose between a free road and a tolled one; the
// most that the tolled one bears is the difference of the costs, so that the best
// revenue is known. F is flat wherever nobody pays: a leader that is led past the
// point at which a follower leaves has to come back.
func TestTollsThatTakeAllTheFollowerBears(t *testing.T) {
	local := 0
	for trial := range members.Seeds(t, 24) {
		rng := rand.New(rand.NewPCG(trial, 23))
		n := 1 + rng.IntN(4)
		free, tolled, amount, best := make([]float64, n), make([]float64, n), make([]float64, n), 0.0
		for j := range n {
			tolled[j], amount[j] = float64(1+rng.IntN(9)), float64(1+rng.IntN(5))
			free[j] = tolled[j] + float64(1+rng.IntN(9))
			best += amount[j] * (free[j] - tolled[j])
		}
		scale := math.Pow(10, float64(rng.IntN(5)-1))
		r := solveText(t, fmt.Sprintf(`model tolls
data free: vector[%[1]d] = %[2]s
data tolled: vector[%[1]d] = %[3]s
data amount: vector[%[1]d] = %[4]s
upper {
  var toll: vector[%[1]d] in nonneg
  maximize toll' * b
}
lower {
  var a: vector[%[1]d] in nonneg
  var b: vector[%[1]d] in nonneg
  minimize %[5]v * free' * a + (%[5]v * tolled + toll)' * b
  subject to all: a + b == amount
}
solve { ties = optimistic }
`, n, text(free), text(tolled), text(amount), scale), runtime.Options{Starts: 1})
		// The regularization lets the follower pay up to about tau more.
		got := float64(r.Upper.Objective) / (scale * best)
		if r.Status != runtime.Solved || got > 1.002 {
			t.Errorf("trial %d: %v, revenue %v of %v (%s)", trial, r.Status, got, scale*best, r.Reason)
		}
		if got < 0.999 {
			local++
		}
	}
	// A road whose toll was once too high earns nothing more: one start may end there.
	if count := members.Count(24); local > members.Misses(count, 2./24) {
		t.Errorf("%d of %d ended with a road that nobody takes", local, count)
	}
}

// The best x of these is the end of the x that leave the follower an answer, who is
// linear and so answers at a vertex. Next to the end slacks are known to rounding,
// however small the curvature that breaks ties is.
func TestLinearFollowersAtTheEndOfTheFeasible(t *testing.T) {
	for trial := range members.Seeds(t, 40) {
		rng := rand.New(rand.NewPCG(trial, 1))
		// y <= p + q x and y >= r - s x: feasible from x = (r - p)/(q + s) on.
		p, q, s := 1+rng.Float64(), rng.Float64(), 0.5+rng.Float64()
		r := p + 1 + 3*rng.Float64()
		cost := 0.5 + rng.Float64()
		least := (r - p) / (q + s)
		got := solveText(t, fmt.Sprintf(`model edge
upper {
  var x: real in box(0, 50)
  minimize x + %v * y
}
lower {
  var y: real
  minimize -y
  subject to
    most: y <= %v + %v * x
    least: y >= %v - %v * x
}
solve { ties = optimistic }
`, cost, p, q, r, s), runtime.Options{Starts: 1})
		want := least + cost*(p+q*least)
		if F := float64(got.Upper.Objective); got.Status != runtime.Solved || math.Abs(F-want) > 1e-6*(1+want) {
			t.Errorf("trial %d: %v, F %v, want %v (%s)", trial, got.Status, F, want, got.Reason)
		}
	}
}

// A start at which the gradient is exactly zero, because it is the optimum: what is
// stationary is judged by gradients around it.
func TestAStartAtTheOptimum(t *testing.T) {
	for _, source := range []string{
		"upper {\n  var x: real\n  minimize (x - %[1]v)^2 / 2 + y^2 / 2\n}\nlower {\n  var y: real\n  minimize y^2 / 2 - (x - %[1]v) * y\n  subject to y <= 3\n}\n",
		"upper {\n  var x: real\n  minimize (x - %[1]v)^2\n}\nlower {\n  var y: real\n  minimize y * (y / 2 - x)\n}\n",
		"upper {\n  var x: real\n  minimize (x - %[1]v)^2 / 2 + y^2 / 2\n}\nlower {\n  var y: real\n  minimize y / 2 - x * y\n  subject to\n    y - x + %[1]v >= 0\n    x + y - %[1]v >= 0\n    %[1]v - y - x >= 0\n}\nsolve { ties = optimistic }\n",
	} {
		for _, at := range []float64{0, 1, -3e5, 2e-7} {
			r := solveText(t, "model still\n"+fmt.Sprintf(source, at), runtime.Options{Starts: 1, Start: runtime.Values{{Name: "x", Data: []float64{at}}}})
			if F := float64(r.Upper.Objective); r.Status != runtime.Solved || math.Abs(F) > 1e-12*at*at {
				t.Errorf("from %v: %v, F %v (%s)\n%s", at, r.Status, F, r.Reason, source)
			}
		}
	}
}
