package runtime_test

import (
	"context"
	"encoding/json"
	"testing"

	"bilevelc/runtime"
)

// A run of one start off the KKT system, which begins at the end of a path, goes on from a state on its way, before the path has ended or after, to the same result, the path's calls among its own.
func TestResumesAhead(t *testing.T) {
	t.Parallel()
	p := bindText(t, `model ahead
param m: int = 20
param k: int = 20
upper {
  var x: vector[m] in box(-1, 1)
  minimize sum(j in 1..m: sum(i in 1..k: (y[k*(j-1)+i] - 0.4 * sin(0.37*j*i) - 0.1)^2)) + 0.05 * sumsq(x)
}
lower {
  var y: vector[m*k] in nonneg
  minimize sumsq(y) + 2 * sum(i in 1..m*k - 1: (y[i+1] - y[i])^2) - sum(j in 1..m: sum(i in 1..k: x[j] * cos(0.2*i*j) * y[k*(j-1)+i]))
  subject to
    forall j in 1..m: sum(i in 1..k: y[k*(j-1)+i]) <= 3
}
`)
	whole, err := p.Solve(t.Context(), runtime.Options{Seed: 1, Method: "goldstein"})
	if err != nil || whole.Status != runtime.Solved || whole.Method == runtime.SystemMethod {
		t.Fatalf("%v, %+v", err, whole)
	}
	stopped := 0
	for asked := int32(8); asked < 1<<20; asked *= 4 {
		ctx := &expiring{patience: asked}
		ctx.Context, ctx.cancel = context.WithCancelCause(context.Background())
		r, err := p.Solve(ctx, runtime.Options{Seed: 1, Method: "goldstein"})
		if err != nil {
			t.Fatal(err)
		}
		if r.Checkpoint == nil {
			if stopped > 0 {
				break // it came to its end
			}
			continue
		}
		stopped++
		text, err := json.Marshal(r.Checkpoint)
		if err != nil {
			t.Fatal(err)
		}
		var state runtime.Checkpoint
		if err := json.Unmarshal(text, &state); err != nil {
			t.Fatal(err)
		}
		again, err := p.Solve(t.Context(), runtime.Options{Resume: &state})
		if err != nil {
			t.Fatal(err)
		}
		if again.Status != whole.Status || again.Upper.Objective != whole.Upper.Objective || again.Calls != whole.Calls {
			t.Errorf("after %d: %s, F %v, %+v, in one run %s, %v, %+v", asked, again.Status, again.Upper.Objective, again.Calls, whole.Status, whole.Upper.Objective, whole.Calls)
		}
	}
	if stopped < 3 {
		t.Errorf("only %d runs were stopped", stopped)
	}
}
