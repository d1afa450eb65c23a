package bench

import (
	"context"
	"fmt"
	"testing"

	"bilevelc/bench/clock"
	"bilevelc/runtime"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/problem"
)

// BenchmarkHypergradient takes the hypergradient of the paper's experiment from
// nothing, and along an outer run, where x moves by 1 % to and fro and the lower
// level starts from the solution before. One thread's processor time, medians in
// microseconds, and gradients of g:
//
//	GOMAXPROCS=1 go test ./bench -run '^$' -bench 'Hypergradient$' -benchtime 5x
func BenchmarkHypergradient(b *testing.B) {
	for _, dy := range []int{50, 100, 200, 400, 800, 1600} {
		b.Run(fmt.Sprintf("dy=%d", dy), func(b *testing.B) { hypergradients(b, experimentModel(b, dy)) })
	}
}

// BenchmarkLogistic is the same for a follower that fits a logistic regression to 4 d_y
// observations within a box, where about a third of the bounds hold it:
//
//	GOMAXPROCS=1 go test ./bench -run '^$' -bench 'Logistic$' -benchtime 5x
func BenchmarkLogistic(b *testing.B) {
	for _, dy := range []int{50, 200} {
		b.Run(fmt.Sprintf("dy=%d", dy), func(b *testing.B) {
			hypergradients(b, logistic(b, dy))
		})
	}
}

// logistic is a follower that fits a logistic regression with n coefficients.
func logistic(t testing.TB, n int) *runtime.Problem {
	model, err := runtime.Compile("logistic.blv", logisticText)
	if err != nil {
		t.Fatal(err)
	}
	p, err := model.Bind(runtime.Data{"n": n}, runtime.BindOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const logisticText = `model logistic
param n: int
param k: int = 4 * n
data X: matrix[k, n] ~ normal(0, 1)
data s: vector[k] ~ normal(0, 1)
data P: matrix[20, n] ~ normal(0, 1)
upper {
  var x: vector[20] in box(-1, 1)
  minimize 0.5 * sumsq(y - 0.1) + 0.1 * sumsq(x)
}
lower {
  var y: vector[n] in box(-0.3, 0.3)
  minimize mean(log1pexp(-sign(s) .* (X * y))) + 0.01 * sumsq(y) + 0.05 * x' * P * y / sqrt(n)
}
`

// hypergradients measures the hypergradient of a problem, cold and warm.
func hypergradients(b *testing.B, bound *runtime.Problem) {
	p := bound.Numeric.Counted()
	cold, warm := coldAndWarm(b, p)
	for _, run := range []struct {
		name string
		take func()
	}{{"cold", cold}, {"warm", warm}} {
		b.Run(run.name, func(b *testing.B) {
			before := p.Calls().GradG
			run.take()
			calls := p.Calls().GradG - before
			b.ReportMetric(contest(b, clock.Process, run.take)[0]/1e3, "processor-us")
			b.ReportMetric(float64(calls), "gradients")
		})
	}
}

// coldAndWarm are a hypergradient from nothing, and one after a step of x by up to 1 %.
func coldAndWarm(t testing.TB, p *problem.Problem) (cold, warm func()) {
	x := normals(3, p.Dx)
	moved := make([]float64, len(x))
	fresh := func() *oracle.Hyper {
		solver, err := lower.New(lower.Choose(p), nil, p, 1)
		if err != nil {
			t.Fatal(err)
		}
		spec, err := oracle.Lookup(oracle.Default)
		if err != nil {
			t.Fatal(err)
		}
		face, err := spec.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		return oracle.New(p, solver, face)
	}
	gradient := func(h *oracle.Hyper, x []float64) {
		if _, err := h.Gradient(context.Background(), x); err != nil {
			t.Fatal(err)
		}
	}
	kept := fresh()
	gradient(kept, x)
	steps := 0
	return func() { gradient(fresh(), x) }, func() {
		steps++ // never a point of the last few, which are not solved again
		for j, v := range x {
			moved[j] = (1 + 0.01*float64(steps%20)/20) * v
		}
		gradient(kept, moved)
	}
}

// TestWarmIsNotCold: what a solve keeps serves the next one, of a follower whose Hessian moves with y too: a
// hypergradient next to the last takes less than half of the gradients of one from nothing.
func TestWarmIsNotCold(t *testing.T) {
	p := logistic(t, 200).Numeric.Counted()
	cold, warm := coldAndWarm(t, p)
	count := func(take func()) int64 {
		before := p.Calls().GradG
		take()
		return p.Calls().GradG - before
	}
	if first, next := count(cold), count(warm); 2*next >= first {
		t.Errorf("%d gradients, and %d from nothing", next, first)
	}
}
