package runtime_test

import (
	"context"
	"strings"
	"testing"

	"bilevelc/ir/data"
	"bilevelc/runtime"
)

// A gradient of 0 at a kink, which is one of several, is no sign of an optimum; on a smooth stretch it is.
func TestZeroGradientAtAKink(t *testing.T) {
	problem := bindText(t, `model kinked
upper {
  var x: real in box(0, 3)
  minimize w * (x - 1)^2 - z
}
param w: real = 1
lower {
  var z: real
  minimize (z - 2)^2
  subject to
    z <= x
    z <= 1.5
}
`)
	for at, want := range map[float64]bool{1.5: false, 1: false} {
		r, err := problem.Eval(context.Background(), runtime.Values{{Name: "x", Data: []float64{at}}}, runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := r.WriteText(&b, runtime.TextOptions{}); err != nil || strings.Contains(b.String(), "exactly zero") != want {
			t.Errorf("at %v it says\n%s%v", at, b.String(), err)
		}
	}
	flat := bindText(t, `model flat
upper {
  var x: real in box(0, 3)
  minimize y
}
lower {
  var y: real
  minimize y^2
}
`)
	r, err := flat.Eval(context.Background(), runtime.Values{{Name: "x", Data: []float64{1}}}, runtime.Options{})
	var b strings.Builder
	if err != nil || r.WriteText(&b, runtime.TextOptions{}) != nil || !strings.Contains(b.String(), "exactly zero") {
		t.Errorf("of a flat F it says\n%s%v", b.String(), err)
	}
}

// Where a start is moved is said as well where the follower's ties are broken by stages, each of which begins where the one before ended.
func TestMovedStartOfStages(t *testing.T) {
	text := `model moved
upper {
  var x: vector[2] in box(-1, 2)
  minimize exp(y[1] / 2) - y[2] + 0.1 * x[1]^2
  subject to x[1]^2 + x[2]^2 <= 6
}
lower {
  var y: vector[2] in box(0, 2)
  minimize sum(y) - x' * y
  subject to y[1] + y[2] <= 2 + x[1]
}
solve { ties = optimistic }
`
	for _, method := range []string{"", "pgd", "bfgs"} {
		for x1, moved := range map[float64]bool{3: true, 1: false} {
			r := solveText(t, text, runtime.Options{Method: method, Start: runtime.Values{{Name: "x", Shape: []int{2}, Data: []float64{x1, 0}}}})
			if strings.Contains(strings.Join(r.Notes, "\n"), "was moved: x[1] from 3 to 2") != moved {
				t.Errorf("method %q from %v: the notes are %q", method, x1, r.Notes)
			}
		}
	}
}

// A result's own words for a variable over no labels, {}, are a point.
func TestPointOverNothing(t *testing.T) {
	problem := bindText(t, `model nothing
set city = {}
upper {
  var x: [city] in box(0, 1)
  var t: real in box(0, 1)
  minimize sum(x) + y
}
lower {
  var y: real
  minimize (y - t)^2
}
`)
	if _, err := problem.Eval(context.Background(), runtime.Values{runtime.ByLabel("x", &data.Keyed{}), {Name: "t", Data: []float64{1}}}, runtime.Options{}); err != nil {
		t.Error(err)
	}
}
