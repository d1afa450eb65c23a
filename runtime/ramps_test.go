package runtime_test

import (
	"context"
	"math"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// A plant that may not go up or down faster than a ramp has some thousand branches on the way of two variables of the leader, and a small
// sparse factor for each: they are followed to a strongly stationary point, next to which F is nowhere less.
func TestRampsOfAPlant(t *testing.T) {
	t.Parallel()
	rng := members.Rand(t, 4)
	demand := make([]float64, 300)
	level := 0.0
	for k := range demand {
		level = 0.95*level + 0.35*rng.NormFloat64()
		demand[k] = math.Round(1e3*(5+1.5*math.Sin(float64(k)/12)+level)) / 1e3
	}
	p := bindData(t, `model ramps
param T: int
data d: vector[T]
upper {
  var ramp: real in box(0.01, 1)
  var top: real in box(3, 8)
  minimize sumsq(y - d) / T + 0.15 * ramp + 0.006 * top^2
}
lower {
  var y: vector[T]
  minimize sumsq(y - d)
  subject to
    up: forall t in 2..T: y[t] - y[t - 1] <= ramp
    down: forall t in 2..T: y[t - 1] - y[t] <= ramp
    limit: y <= top
}
`, runtime.Data{"T": len(demand), "d": demand})
	r, err := p.Solve(context.Background(), runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != runtime.Solved || r.Method != "pieces" || !verified(p, r) {
		t.Fatalf("%v (%s) by %s", r.Status, r.Reason, r.Method)
	}
	x := []float64{r.Upper.Variables[0].Data[0], r.Upper.Variables[1].Data[0]}
	for k := range 40 {
		size := math.Pow(10, -1-float64(k%4))
		near := []float64{min(1, max(0.01, x[0]+size*0.1*rng.NormFloat64())), min(8, max(3, x[1]+size*rng.NormFloat64()))}
		e, err := p.Evaluate(context.Background(), near)
		if err != nil {
			t.Fatal(err)
		}
		if size < 0.05 && e.F < float64(r.Upper.Objective)-1e-9 {
			t.Errorf("F is %v at %v, %v at %v", e.F, near, r.Upper.Objective, x)
		}
	}
}
