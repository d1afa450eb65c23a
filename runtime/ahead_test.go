package runtime_test

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"bilevelc/runtime"
)

// ninety followers whose linear term is an exponential of x: too many for dense factors of the KKT system, with too many upper variables for subproblems in their space.
const ninety = `
model ahead
upper {
  var w: vector[640] in box(-1, 1)
  minimize sum(i in 1..90: sum(j in 1..6: sin(2 * i + 3 * j) * y[i, j])) + 0.01 * sumsq(w)
}
lower {
  var y: matrix[90, 6] in box(0, 1)
  minimize sum(i in 1..90: sum(j in 1..6: y[i, j]^2 - exp(sin(i) * w[1] + cos(i + j) * w[2] + sin(j) * w[3]) * cos(5 * i + j) * y[i, j]))
  subject to
    cap: forall i in 1..90: sum(j in 1..6: y[i, j]) <= 2
}
`

// A default run of a large problem begins at the end of the path of F, and goes on from a checkpoint as if it had not been stopped, its calls included; one with a method or a start that somebody has chosen
// does not.
func TestAhead(t *testing.T) {
	t.Parallel()
	whole := solveText(t, ninety, runtime.Options{Seed: 1, Starts: 1})
	if whole.Status != runtime.Solved {
		t.Fatalf("%s: %s", whole.Status, whole.Reason)
	}
	part := solveText(t, ninety, runtime.Options{Seed: 1, Starts: 1, MaxIter: 2})
	if part.Checkpoint == nil || !part.Checkpoint.Ahead {
		t.Fatalf("%s: the checkpoint is %+v", part.Reason, part.Checkpoint)
	}
	text, err := json.Marshal(part.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	var c runtime.Checkpoint
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	on := solveText(t, ninety, runtime.Options{Resume: &c})
	if math.Float64bits(float64(on.Upper.Objective)) != math.Float64bits(float64(whole.Upper.Objective)) || !reflect.DeepEqual(on.Calls, whole.Calls) {
		t.Errorf("F %v with %+v in one run, %v with %+v in two", whole.Upper.Objective, whole.Calls, on.Upper.Objective, on.Calls)
	}
	for name, opts := range map[string]runtime.Options{"method": {Method: "bundle"}, "start": {Start: whole.Upper.Variables}} {
		opts.Seed, opts.Starts, opts.MaxIter = 1, 1, 1
		if r := solveText(t, ninety, opts); r.Checkpoint != nil && r.Checkpoint.Ahead {
			t.Errorf("%s: chosen, and the start is another", name)
		}
	}
}
