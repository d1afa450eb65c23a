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

// An evaluation prints the hypergradient of every kind of variable, in the user's sense,
// with the bound that each entry of x is at. Here y = x, and F is linear in both: its
// gradient is the sum of the weights, odd numbers, which print as such.
func TestHypergradientInText(t *testing.T) {
	for trial := range members.Seeds(t, 24) {
		rng := rand.New(rand.NewPCG(trial, 12))
		word := []string{"minimize", "maximize"}[trial%2]
		entry := func() (x, weight float64, want string) { // of x in [-1, 1]
			x, weight = []float64{-1, 0.5, 1}[rng.IntN(3)], float64(2*rng.IntN(10)-9)
			// The weights of F are weight and 2, one on x and one on y.
			return x, weight, fmt.Sprintf("%v", weight+2) + map[float64]string{-1: " (lower)", 0.5: "", 1: " (upper)"}[x]
		}
		var x, weight [8]float64
		var want [8]string
		for i := range x {
			x[i], weight[i], want[i] = entry()
		}
		source := fmt.Sprintf(`model sides
set city = {"Rome", "Oslo"}
upper {
  var s: real in box(-1, 1)
  var m: matrix[2, 2] in box(-1, 1)
  var v: vector[1] in box(-1, 1)
  var c: [city] in box(-1, 1)
  var fixed: real in box(3, 3)
  %s (%v) * s + sum([[%v, %v], [%v, %v]] .* m) + (%v) * v[1] + (%v) * c["Rome"] + (%v) * c["Oslo"] + fixed +
    2 * (sum(y) + z)
}
lower {
  var y: vector[5]
  var z: real
  let all = [m[1, 1], m[1, 2], m[2, 1], m[2, 2], v[1]]
  minimize sumsq(y - all) + (z - s - c["Rome"] - c["Oslo"] - fixed)^2
}
`, word, weight[0], weight[1], weight[2], weight[3], weight[4], weight[5], weight[6], weight[7])
		point := runtime.Values{{Name: "s", Data: x[:1]}, {Name: "m", Shape: []int{2, 2}, Data: x[1:5]},
			{Name: "v", Shape: []int{1}, Data: x[5:6]}, {Name: "c", Shape: []int{2}, Data: x[6:]}, {Name: "fixed", Data: []float64{3}}}
		r, err := bindText(t, source).Eval(context.Background(), point, runtime.Options{})
		if err != nil {
			t.Fatalf("%v\n%s", err, source)
		}
		var b strings.Builder
		if err := r.WriteText(&b, runtime.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		_, section, _ := strings.Cut(b.String(), "\nhypergradient, error ")
		section, _, _ = strings.Cut(section, "\nlower\n")
		lines := strings.Split(section, "\n")
		wanted := []string{"s " + want[0], "m[1, :] " + want[1] + " " + want[2], "m[2, :] " + want[3] + " " + want[4], "v " + want[5],
			`c["Rome"] ` + want[6], `c["Oslo"] ` + want[7], "fixed 3 (fixed)"}
		if len(lines) != 1+len(wanted) || !strings.Contains(lines[0], "in brackets: the bound that x is at") {
			t.Fatalf("the text shows no such section:\n%s", b.String())
		}
		for i, line := range lines[1:] {
			if got := strings.Join(strings.Fields(line), " "); got != wanted[i] {
				t.Errorf("trial %d: %q, want %q", trial, got, wanted[i])
			}
		}
	}
}

// Without bounds nothing is marked; a solution shows its stationarity in the place of
// the hypergradient.
func TestHypergradientWithoutBounds(t *testing.T) {
	const source = "model free\nupper {\n  var x: real\n  minimize (y - 2)^2\n}\nlower {\n  var y: real\n  minimize (y - x)^2\n}\n"
	show := func(r *runtime.Result, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := r.WriteText(&b, runtime.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	p := bindText(t, source)
	if text := show(p.Eval(context.Background(), runtime.Values{{Name: "x", Data: []float64{1}}}, runtime.Options{})); strings.Contains(text, "(") ||
		strings.Contains(text, "bracket") || !strings.Contains(text, "\n  x   -2\n") {
		t.Error(text)
	}
	if text := show(p.Solve(context.Background(), runtime.Options{Seed: 1})); strings.Contains(text, "hypergradient") {
		t.Error(text)
	}
}

// Text shows entries that are rounding beside the largest as 0; what is small on purpose stays.
func TestRoundingInText(t *testing.T) {
	problem := bindText(t, `model tiny
upper {
  var x: vector[3] in box(0, 10)
  minimize (x[1] - 4)^2 + (x[2] - 1e-9)^2 + x[3] + y
}
lower { var y: real; minimize (y - x[1])^2 }
`)
	r, err := problem.Eval(context.Background(), runtime.Values{{Name: "x", Shape: []int{3}, Data: []float64{4, 1e-9, 3e-14}}}, runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := r.WriteText(&text, runtime.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "4  1e-09  0\n") {
		t.Errorf("no entry is shown as 0, or too many are:\n%s", &text)
	}
}
