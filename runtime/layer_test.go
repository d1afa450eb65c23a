package runtime_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"gonum.org/v1/gonum/optimize"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// layered has rows that come and go, a lower objective that is not quadratic where
// bend > 0, and an upper one to be maximized.
const layered = `
model layered
param n: int
param m: int
param bend: real
data Q: matrix[n, n]
data P: matrix[n, m]
data A: matrix[n, m]
data c: vector[n]
upper {
  var x: vector[m]
  maximize -sumsq(x - 1) - sum(exp(0.3 * y)) + c' * y
}
lower {
  var y: vector[n]
  minimize 0.5 * sumsq(Q * y) + 0.5 * sumsq(y) + (P * x + c)' * y + bend * sum(log1pexp(2 * y))
  subject to
    cap: y <= A * x + 0.3
    total: sum(y) == 0.5 * x[1]
}
`

func drawn(t *testing.T, rng *rand.Rand, n, m int, bend float64) *runtime.Problem {
	t.Helper()
	d := draws{Rand: rng}
	return bindData(t, layered, runtime.Data{"n": n, "m": m, "bend": bend, "Q": d.matrix(n, n), "P": d.matrix(n, m), "A": d.matrix(n, m), "c": d.vector(n)})
}

// Derivatives of random layers against differences of their values.
func TestLayerDerivatives(t *testing.T) {
	ctx := context.Background()
	smooth, held := 0, 0
	enough := func() bool { return smooth >= 12 && held >= 10 }
	for seed := range members.SeedsUntil(t, 60, enough) {
		rng := rand.New(rand.NewPCG(seed, 7))
		n, m := 3+rng.IntN(5), 1+rng.IntN(4)
		p := drawn(t, rng, n, m, float64(seed%2))
		l, err := p.Layer(runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		x, dx := make([]float64, m), make([]float64, m)
		for j := range x {
			x[j], dx[j] = rng.NormFloat64(), rng.NormFloat64()
		}
		e, err := l.Evaluate(ctx, x)
		if errors.Is(err, runtime.ErrInfeasible) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		const h = 1e-5
		at := func(step float64) *runtime.Evaluation {
			z := make([]float64, m)
			for j := range z {
				z[j] = x[j] + step*dx[j]
			}
			e, err := l.Evaluate(ctx, z)
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		plus, minus := at(h), at(-h)
		crossed := false
		for i, v := range plus.Lambda {
			held += map[bool]int{true: 1}[v > 0]
			crossed = crossed || (v > 1e-9) != (minus.Lambda[i] > 1e-9) && i < n
		}
		if crossed {
			continue
		}
		smooth++
		if len(e.Kinks) > 0 {
			t.Errorf("seed %d: kinks at %v", seed, e.Kinks)
		}
		tangent, err := e.JVP(ctx, dx)
		if err != nil {
			t.Fatal(err)
		}
		// The differences are good to the rounding of answers, 1e-12 or so, over h, and
		// to h^2.
		near := func(what string, got, a, b float64) {
			if want := (a - b) / (2 * h); math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
				t.Errorf("seed %d: %s = %v, by differences %v", seed, what, got, want)
			}
		}
		w, u := make([]float64, n), make([]float64, len(e.Lambda))
		forward := 0.0
		for j := range w {
			near("dy", tangent.Y[j], plus.Y[j], minus.Y[j])
			w[j] = rng.NormFloat64()
			forward += w[j] * tangent.Y[j]
		}
		for i := range u {
			near("dlambda", tangent.Lambda[i], plus.Lambda[i], minus.Lambda[i])
			u[i] = rng.NormFloat64()
			forward += u[i] * tangent.Lambda[i]
		}
		near("dF", tangent.F, plus.F, minus.F)
		grad, accuracy, err := e.Gradient(ctx)
		if err != nil || !(accuracy < 1e-5) {
			t.Fatalf("seed %d: %v, accuracy %v", seed, err, accuracy)
		}
		product, _, err := e.VJP(ctx, w, u)
		if err != nil {
			t.Fatal(err)
		}
		slope, backward := 0.0, 0.0
		for j := range dx {
			slope += grad[j] * dx[j]
			backward += product[j] * dx[j]
		}
		near("gradient", slope, plus.F, minus.F)
		if math.Abs(forward-backward) > 1e-6*(1+math.Abs(forward)) {
			t.Errorf("seed %d: JVP gives %v, VJP %v", seed, forward, backward)
		}
	}
	if !enough() {
		t.Errorf("only %d smooth points, with %d multipliers", smooth, held)
	}
}

// max(x, 0): at the kink JVP is one-sided, and VJP and Gradient give a piece and say so.
func TestLayerAtAKink(t *testing.T) {
	p := bindText(t, `
model clip
upper {
  var x: real
  maximize -y^2 - x
}
lower {
  var y: real in nonneg
  minimize 0.5 * (y - x)^2
}
`)
	ctx := context.Background()
	e, err := p.Evaluate(ctx, []float64{0})
	if err != nil || len(e.Kinks) != 1 {
		t.Fatalf("%v, %v", e, err)
	}
	for _, c := range []struct{ dx, dy, dl, df float64 }{{1, 1, 0, -1}, {-2, 0, 2, 2}, {3, 3, 0, -3}} {
		tangent, err := e.JVP(ctx, []float64{c.dx})
		if err != nil || math.Abs(tangent.Y[0]-c.dy) > 1e-9 || math.Abs(tangent.Lambda[0]-c.dl) > 1e-9 || math.Abs(tangent.F-c.df) > 1e-9 {
			t.Errorf("along %v: %+v, %v", c.dx, tangent, err)
		}
	}
	var kink *runtime.KinkError
	v, _, err := e.VJP(ctx, []float64{1}, nil)
	if !errors.As(err, &kink) || len(kink.Rows) != 1 || len(v) != 1 || math.Min(math.Abs(v[0]), math.Abs(v[0]-1)) > 1e-9 {
		t.Errorf("VJP %v, %v", v, err)
	}
	if g, _, err := e.Gradient(ctx); !errors.As(err, &kink) || len(g) != 1 {
		t.Errorf("gradient %v, %v", g, err)
	}
}

// What cannot be evaluated is an error that says of which kind.
func TestLayerErrors(t *testing.T) {
	p := bindText(t, `
model edge
upper {
  var x: real
  minimize x^2 + y
}
lower {
  var y: real
  minimize 0.5 * y^2
  subject to
    low: y >= 1 - x
    high: y <= x
}
`)
	ctx := context.Background()
	var status *runtime.StatusError
	if _, err := p.Evaluate(ctx, []float64{0.2}); !errors.Is(err, runtime.ErrInfeasible) || errors.Is(err, runtime.ErrUnbounded) || !errors.As(err, &status) {
		t.Errorf("x = 0.2: %v", err)
	}
	var usage *runtime.UsageError
	for _, x := range [][]float64{nil, {1, 2}, {math.NaN()}, {math.Inf(1)}} {
		if _, err := p.Evaluate(ctx, x); !errors.As(err, &usage) {
			t.Errorf("x = %v: %v", x, err)
		}
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := p.Evaluate(gone, []float64{2}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	e, err := p.Evaluate(ctx, []float64{2})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.VJP(ctx, []float64{1, 2}, nil); !errors.As(err, &usage) {
		t.Error(err)
	}
	if _, _, err := e.VJP(ctx, nil, []float64{math.NaN(), 0}); !errors.As(err, &usage) {
		t.Error(err)
	}
	if _, err := e.JVP(ctx, nil); !errors.As(err, &usage) {
		t.Error(err)
	}
	if _, err := p.Layer(runtime.Options{Solver: "none"}); !errors.As(err, &usage) {
		t.Error(err)
	}
	// At x = 1/2 y has no room: on one side no y is feasible.
	if e, err = p.Evaluate(ctx, []float64{0.5}); err == nil {
		var kink *runtime.KinkError
		if _, err := e.JVP(ctx, []float64{-1}); !errors.As(err, &kink) {
			t.Errorf("towards where no y is feasible: %v", err)
		}
	}
	r, err := p.Eval(ctx, runtime.Values{{Name: "x", Data: []float64{0}}}, runtime.Options{})
	if err != nil || !errors.Is(r.Err(), runtime.ErrInfeasible) || errors.Is(r.Err(), runtime.ErrInterrupted) {
		t.Errorf("%v, %v", r.Err(), err)
	}
	if r, err = p.Solve(ctx, runtime.Options{Seed: 1}); err != nil || r.Err() != nil {
		t.Errorf("%v, %v", r.Err(), err)
	}
}

// A zero Status is of a run that has not ended, and no solved one; zero options solve;
// options that mean nothing are refused.
func TestZeroValues(t *testing.T) {
	var status runtime.Status
	if status == runtime.Solved || (&runtime.Result{}).Err() == nil {
		t.Error("the zero Status is solved")
	}
	p := bindFile(t, "../examples/toll/toll.blv")
	r, err := p.Solve(context.Background(), runtime.Options{})
	if err != nil || r.Status != runtime.Solved {
		t.Fatalf("zero options: %v, %v", r, err)
	}
	nan := math.NaN()
	var usage *runtime.UsageError
	for name, o := range map[string]runtime.Options{
		"starts": {Starts: -3}, "iterations": {MaxIter: -1}, "threads": {Threads: -1}, "time": {TimeLimit: -1}, "kept": {KeepEvery: -1},
		"NaN": {Settings: map[string]any{"epsilon": nan}}, "negative": {Settings: map[string]any{"epsilon": -1e-6}},
		"infinite": {Settings: map[string]any{"epsilon": math.Inf(1)}}, "lower NaN": {Settings: map[string]any{"alm.tolerance": nan}, Solver: "alm"},
		"lower negative": {Settings: map[string]any{"alm.tolerance": -1.0}, Solver: "alm"},
		"start":          {Start: runtime.Values{{Name: "toll", Shape: []int{6}, Data: []float64{nan, 0, 0, 0, 0, 0}}}},
	} {
		if _, err := p.Solve(context.Background(), o); !errors.As(err, &usage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Layers are warm: a second evaluation next to the first costs a part of it. Layers of
// one problem go on beside each other, and one layer takes turns.
func TestLayersAreWarmAndShared(t *testing.T) {
	ctx := context.Background()
	p := drawn(t, rand.New(rand.NewPCG(3, 3)), 40, 3, 0)
	l, err := p.Layer(runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := []float64{2, 0.1, -0.2}
	if _, err := l.Evaluate(ctx, x); err != nil {
		t.Fatal(err)
	}
	cold := l.Calls().GradG
	x[0] += 1e-3
	if _, err := l.Evaluate(ctx, x); err != nil {
		t.Fatal(err)
	}
	if warm := l.Calls().GradG - cold; warm*2 > cold {
		t.Errorf("%d gradients of g, warm %d", cold, warm)
	}
	var wait sync.WaitGroup
	for k := range 8 {
		wait.Go(func() {
			x := []float64{2 + 0.01*float64(k%2), 0.1, -0.2}
			for _, evaluate := range []func(context.Context, []float64) (*runtime.Evaluation, error){p.Evaluate, l.Evaluate} {
				e, err := evaluate(ctx, x)
				if err != nil {
					t.Error(err)
					return
				}
				g, _, err := e.Gradient(ctx)
				tangent, err2 := e.JVP(ctx, []float64{1, 0, 0})
				if err != nil || err2 != nil || math.Abs(g[0]-tangent.F) > 1e-8*(1+math.Abs(g[0])) {
					t.Errorf("%v and %v (%v, %v)", g, tangent, err, err2)
				}
			}
		})
	}
	wait.Wait()
}

// gonum's own methods find the optimum that Solve certifies, with gradients and
// without; X is respected.
func TestGonumOptimize(t *testing.T) {
	ctx := context.Background()
	model, err := runtime.Compile("smooth.blv", `
model smooth
upper {
  var x: vector[2]
  maximize -sumsq(y - 1) - 0.1 * sum(exp(x))
}
lower {
  var y: vector[2]
  minimize sumsq(y - x) + sum(log1pexp(y)) + 0.5 * y[1] * y[2]
}
`)
	if err != nil {
		t.Fatal(err)
	}
	p, err := model.Bind(nil, runtime.BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	solved, err := p.Solve(ctx, runtime.Options{Seed: 1})
	if err != nil || solved.Status != runtime.Solved {
		t.Fatalf("%v, %v", solved, err)
	}
	l, err := p.Layer(runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []optimize.Method{&optimize.BFGS{}, &optimize.NelderMead{}} {
		r, err := optimize.Minimize(l.Objective(ctx), []float64{-1, 2}, nil, method)
		if err != nil {
			t.Errorf("%T: %v", method, err)
			continue
		}
		if want := -float64(solved.Upper.Objective); math.Abs(r.F-want) > 1e-6*(1+math.Abs(want)) {
			t.Errorf("%T: %v at %v, not %v", method, r.F, r.X, want)
		}
	}
	model, err = runtime.Compile("box.blv", "model box\nupper {\n  var x: real in box(0, 1)\n  minimize (y - 2)^2\n}\nlower {\n  var y: real\n  minimize (y - x)^2\n}\n")
	if err != nil {
		t.Fatal(err)
	}
	if p, err = model.Bind(nil, runtime.BindOptions{}); err != nil {
		t.Fatal(err)
	}
	if l, err = p.Layer(runtime.Options{}); err != nil {
		t.Fatal(err)
	}
	r, err := optimize.Minimize(l.Objective(ctx), []float64{0.2}, nil, &optimize.NelderMead{})
	if err != nil || math.Abs(r.X[0]-1) > 1e-4 || r.X[0] > 1+1e-11 {
		t.Errorf("NelderMead in a box: %v, %v", r, err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := optimize.Minimize(l.Objective(gone), []float64{0.2}, nil, &optimize.NelderMead{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
