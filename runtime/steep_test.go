package runtime_test

import (
	"context"
	"testing"

	"bilevelc/runtime"
)

// F is a thousand times steeper where the run starts than near its optimum: a
// regression whose penalties range over e^-6 to e^4. A measure of stationarity by the
// gradients on the way is one that the verification, which sees the end alone, accepts.
func TestSteepOnTheWay(t *testing.T) {
	model, err := runtime.Compile("ridge.blv", `model ridge
data X: matrix[40, 5] ~ normal(0, 1)
data Xv: matrix[40, 5] ~ normal(0, 1)
data noise: vector[40] ~ normal(0, 1)
let truth = [1; -2; 0; 0; 3]
let t = X * truth + noise
upper {
  var penalty: vector[5] in box(-6, 4)
  minimize mean((Xv * w - Xv * truth) .^ 2)
}
lower {
  var w: vector[5]
  minimize mean((X * w - t) .^ 2) + exp(penalty)' * (w .^ 2)
}
`)
	if err != nil {
		t.Fatal(err)
	}
	for seed := uint64(1); seed <= 12; seed++ {
		p, err := model.Bind(nil, runtime.BindOptions{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Solve(context.Background(), runtime.Options{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != runtime.Solved {
			t.Errorf("seed %d: %v: %s", seed, r.Status, r.Reason)
		}
	}
}
