package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
	"bilevelc/runtime/status"
)

// Objectives that are not defined on the edge of their sets, from the default start,
// which is on it: each with its optimum in closed form.
func TestStartsInsideTheDomain(t *testing.T) {
	for _, c := range []struct {
		name, upper, lower string
		want               float64
	}{
		// sqrt x = 1/1.1
		{"a root with no slope at 0", "var x: real in box(0, 4)\nminimize (x^0.5 - 1)^2 + 0.1 * y", "var y: real\nminimize (y - x)^2", 1 / 11.0},
		// x^2 = 0.05
		{"a logarithm in a box", "var x: real in box(0, 1)\nminimize y^2 - 0.1 * log(x)", "var y: real\nminimize (y - x)^2", 0.05 - 0.05*math.Log(0.05)},
		{"a logarithm in small units", "var x: real in box(0, 1e-6)\nminimize 1e12 * y^2 - 0.1 * log(1e6 * x)", "var y: real\nminimize (y - x)^2", 0.05 - 0.05*math.Log(0.05)},
		// x1 = x2 = 1/2
		{"a barrier of a row", "var x: vector[2] in nonneg\nminimize -log(x[1]) - log(x[2]) + y\nsubject to\nx[1] + x[2] <= 1", "var y: real\nminimize (y - x[1] - x[2])^2", 1 + 2*math.Log(2)},
		{"a barrier of a ball", "var x: vector[2] in ball(1)\nminimize sumsq(x) - log(x[1]) + 0 * y", "var y: real\nminimize (y - x[1])^2", 0.5 + 0.5*math.Log(2)},
		{"a ball that is a point", "var x: vector[2] in ball(0)\nminimize sumsq(x - 1) + sum(y)", "var y: vector[2]\nminimize sumsq(y - x)", 2},
		// y = 1/(1 + x): minimize (1/(1 + x) - 0.7)^2
		{"a barrier below", "var x: real in box(0, 1)\nminimize (y - 0.7)^2", "var y: real in nonneg\nminimize (1 + x) * y - log(y)", 0},
	} {
		r := solveText(t, "model edge\nupper {\n"+c.upper+"\n}\nlower {\n"+c.lower+"\n}\n", runtime.Options{})
		if r.Status != status.Solved || math.Abs(float64(r.Upper.Objective)-c.want) > 1e-9 {
			t.Errorf("%s: %v (%s), F = %.12g, want %.12g", c.name, r.Status, r.Reason, float64(r.Upper.Objective), c.want)
		}
	}
}

// The follower's answer to gains of a random size, smoothed by an entropy over the
// simplex, is the logit distribution, which lies as near the edge as the gains differ.
func TestEntropyOverTheSimplex(t *testing.T) {
	t.Parallel()
	for seed := range members.Seeds(t, 12) {
		rng := rand.New(rand.NewPCG(seed, 40))
		n := 2 + rng.IntN(7)
		tau := []float64{0.3, 1, 3}[seed%3]
		gain, loss := "", ""
		gains := make([]float64, n)
		for j := range gains {
			gains[j] = float64(rng.IntN(41)-20) / 10
			gain += fmt.Sprintf(", %g", gains[j])
			loss += fmt.Sprintf(", %d", rng.IntN(9))
		}
		r := solveText(t, fmt.Sprintf(`model logit
param n: int = %d
data gain: vector[n] = [%s]
data loss: vector[n] = [%s]
upper {
  var guard: vector[n] in box(0, 1)
  minimize loss' * attack + 0.1 * sumsq(guard)
}
lower {
  var attack: vector[n] in simplex(1)
  minimize -(gain - 2 * guard)' * attack - %g * entropy(attack)
}
`, n, gain[2:], loss[2:], tau), runtime.Options{})
		if r.Status != status.Solved {
			t.Errorf("seed %d: %v: %s", seed, r.Status, r.Reason)
			continue
		}
		guard, _ := r.Upper.Variables.Get("guard")
		attack, _ := r.Lower.Variables.Get("attack")
		want, total := make([]float64, n), 0.0
		for j, g := range gains {
			want[j] = math.Exp((g - 2*guard.Data[j]) / tau)
			total += want[j]
		}
		for j := range want {
			if math.Abs(attack.Data[j]-want[j]/total) > 1e-9 {
				t.Errorf("seed %d: attack %v, want %g at %d", seed, attack.Data, want[j]/total, j)
				break
			}
		}
	}
}
