package runtime_test

import (
	"math"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestQueues: a queue whose hours follow Lindley's recursion, as a follower with a chain of thousands of rows. Beside rates that are too low waits add up along the chain, to thousands of times what an hour
// brings, and so do multipliers. Truth is the recursion itself: at any rate, and over a grid.
func TestQueues(t *testing.T) {
	t.Parallel()
	rng := members.Rand(t, 5)
	for k := range members.Of(1, 12) {
		hours := 700 + rng.IntN(1000)
		arrivals, weight := make([]float64, hours), 0.2+rng.Float64()
		for i := range arrivals {
			arrivals[i] = 2.6 * rng.Float64()
		}
		f := func(rate float64) float64 {
			w, sum := 0.0, 0.0
			for _, a := range arrivals {
				w = max(0, w+a-rate)
				sum += w
			}
			return rate + weight*sum/float64(hours)
		}
		p := bindData(t, `model queue
param n: int
param c: real
data a: vector[n]
upper {
  var rate: real in box(0.2, 4)
  minimize rate + c * sum(w) / n
}
lower {
  var w: vector[n] in nonneg
  minimize sum(w) + 0.05 * sumsq(w)
  subject to
    first: w[1] >= a[1] - rate
    next: forall t in 2..n: w[t] >= w[t - 1] + a[t] - rate
}
`, runtime.Data{"n": hours, "c": weight, "a": arrivals})
		for _, rate := range []float64{0.2, 0.2 + 1.1*rng.Float64(), 1.3 + rng.Float64()} {
			e, err := p.Evaluate(t.Context(), []float64{rate})
			if err != nil {
				t.Fatal(err)
			}
			if want := f(rate); !(math.Abs(float64(e.F)-want) <= 1e-9*want) {
				t.Errorf("member %d, %d hours, rate %v: F %v, by the recursion %v", k, hours, rate, e.F, want)
			}
		}
		r, err := p.Solve(t.Context(), runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		best := math.Inf(1)
		for i := range 4000 {
			best = min(best, f(0.2+3.8*float64(i)/4000))
		}
		rate, value := r.Upper.Variables[0].Data[0], float64(r.Upper.Objective)
		if want := f(rate); r.Status != runtime.Solved || r.Certificate == nil || r.Certificate.Strong == nil || !verified(p, r) || !(math.Abs(value-want) <= 1e-9*want) || !(value <= best+1e-6*best) {
			t.Errorf("member %d, %d hours: %v (%s), F %v at %v, %v by the recursion, and on a grid %v", k, hours, r.Status, r.Reason, value, rate, want, best)
		}
	}
}
