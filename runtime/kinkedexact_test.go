package runtime_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/each"
	"bilevelc/internal/members"
	"bilevelc/runtime"
	"bilevelc/runtime/certify"
)

// kinkedFollower is the answer to x of a follower who minimizes 0.5 q (y - x)^2 + a |y - b| + c max(0, y - d), entry by entry, with sum(y) >= s: with the force nu of that row each entry is at the lowest of its kinks and of where one of
// its pieces is; nu is found by bisection.
func kinkedFollower(q, a, b, c, d, x []float64, s float64) []float64 {
	answer := func(nu float64) []float64 {
		return each.Below(len(x), func(i int) float64 {
			value := func(y float64) float64 {
				return q[i]/2*(y-x[i])*(y-x[i]) + a[i]*math.Abs(y-b[i]) + c[i]*math.Max(0, y-d[i]) - nu*y
			}
			best := b[i]
			for _, y := range []float64{d[i], x[i] + (nu+a[i])/q[i], x[i] + (nu-a[i])/q[i], x[i] + (nu+a[i]-c[i])/q[i], x[i] + (nu-a[i]-c[i])/q[i]} {
				if value(y) < value(best) {
					best = y
				}
			}
			return best
		})
	}
	sum := func(y []float64) float64 { return each.Sum(y, func(v float64) float64 { return v }) }
	lo, hi := 0.0, 0.0
	for hi = 1; sum(answer(hi)) < s; hi *= 2 {
	}
	if sum(answer(0)) >= s {
		hi = 0
	}
	for range 100 {
		if mid := (lo + hi) / 2; sum(answer(mid)) < s {
			lo = mid
		} else {
			hi = mid
		}
	}
	return answer(hi)
}

// manyKinks is a leader whose follower kinkedFollower answers for.
const manyKinks = `model kinked
param n: int
data q: vector[n]
data a: vector[n]
data b: vector[n]
data c: vector[n]
data d: vector[n]
data t: vector[n]
param s: real
upper {
  var x: vector[n] in box(-4, 4)
  minimize max(abs(y - t)) + 0.1 * norm1(x)
}
lower {
  var y: vector[n]
  minimize 0.5 * sum(q .* (y - x) .^ 2) + sum(i in 1..n: a[i] * abs(y[i] - b[i]) + c[i] * max(0, y[i] - d[i]))
  subject to tot: sum(y) >= s
}
`

// TestValuesAtManyKinks: where many kinks of the follower's meet, F is f at x and the follower's exact answer to it, and what the search has bounded stays so where the point of the KKT system is refused.
func TestValuesAtManyKinks(t *testing.T) {
	for seed := range members.SeedsOf(t, 4, 60) {
		rng := rand.New(rand.NewPCG(seed, 208))
		n := 6 + rng.IntN(7)
		draw := func(lo, hi float64) []float64 {
			return each.Below(n, func(int) float64 { return math.Round(100*(lo+(hi-lo)*rng.Float64())) / 100 })
		}
		q, a, b, c, d, to := draw(0.5, 2), draw(0.1, 2), draw(-2, 2), draw(0.1, 2), draw(-2, 2), draw(-3, 3)
		s := math.Round(100*4*(rng.Float64()-0.25)) / 100
		data := runtime.Data{"n": n, "q": q, "a": a, "b": b, "c": c, "d": d, "t": to, "s": s}
		r, err := bindData(t, manyKinks, data).Solve(context.Background(), runtime.Options{Starts: 1, Nodes: 1})
		if err != nil {
			t.Fatal(err)
		}
		x, _ := r.Upper.Variables.Get("x")
		f := 0.0
		for i, y := range kinkedFollower(q, a, b, c, d, x.Data, s) {
			f = math.Max(f, math.Abs(y-to[i]))
		}
		f += 0.1 * each.Sum(x.Data, math.Abs)
		if bound := float64(r.Global.Bound); !(math.Abs(float64(r.Upper.Objective)-f) <= 1e-8*f) || math.IsInf(bound, 0) || bound > f {
			t.Errorf("seed %d: %s by %s, F = %v, bounded by %v, and at the follower's answer to this x %v\n%s\n%v", seed, r.Status, r.Method, r.Upper.Objective, bound, f, r.Reason, data)
		}
	}
}

// TestStartsAreNotBelowTheOptimum: rows that nearly depend on each other, where many kinks meet, moved x along by rounding, and starts ended with an F that no point has. 2.7607813068925 is the optimum by a mixed-integer program of the KKT
// system (SCIP, with special ordered sets).
func TestStartsAreNotBelowTheOptimum(t *testing.T) {
	p := bindData(t, manyKinks, runtime.Data{"n": 15, "q": []float64{1.89, 0.95, 1.46, 1.61, 1.71, 1.0, 0.71, 1.71, 1.86, 0.65, 1.01, 1.44, 0.83, 0.9, 1.63},
		"a": []float64{1.99, 1.97, 0.65, 0.61, 1.92, 1.92, 1.77, 1.15, 1.45, 1.87, 1.81, 0.34, 0.66, 0.12, 0.37},
		"b": []float64{-0.7, -0.59, -0.64, -1.04, -1.78, -0.69, 1.72, 0.75, -0.09, 0.35, 0.31, -1.22, -0.69, 1.8, -0.87},
		"c": []float64{1.82, 1.4, 0.52, 0.92, 0.52, 0.26, 1.79, 1.47, 1.79, 0.54, 1.88, 0.58, 1.27, 1.22, 1.36},
		"d": []float64{-0.68, 1.37, 1.05, 0.01, -0.93, 0.54, 0.9, -0.89, -1.69, 0.72, -0.51, -1.15, -1.1, -1.89, -0.79},
		"t": []float64{-1.47, -1.41, -0.01, -2.53, 0.62, 2.0, -1.62, 1.31, -1.53, -1.35, -1.33, 1.77, -2.09, -2.05, 2.84}, "s": 2.76})
	r, err := p.Solve(context.Background(), runtime.Options{Starts: 20, Nodes: 1})
	if err != nil {
		t.Fatal(err)
	}
	const optimum = 2.7607813068925
	if r.Status != runtime.Solved || r.Method != runtime.SystemMethod || !(math.Abs(float64(r.Upper.Objective)-optimum) <= 1e-8) || !(r.Global.Bound > 0) || !verified(p, r) {
		t.Errorf("%s by %s: F = %v, bounded by %v: %s", r.Status, r.Method, r.Upper.Objective, r.Global.Bound, r.Reason)
	}
	for k, s := range r.Starts {
		if s.Status != runtime.Solved || !(float64(s.Objective) >= optimum-1e-8) { // one that is refused is none, either
			t.Errorf("start %d: F = %v, %s, %s", k+1, s.Objective, s.Status, s.Reason)
		}
	}
}

// TestForgedKinks: a document that says of its lower level not to be solved, and lets what restates a kink go below the kink, has an F that is not f at its x and y.
func TestForgedKinks(t *testing.T) {
	p := bindText(t, `model m
upper {
  var x: real in box(-3, 3)
  minimize abs(y - 1) + 0.1 * x^2
}
lower {
  var y: real
  minimize (y - x)^2
}
`)
	r, err := p.Solve(context.Background(), runtime.Options{})
	if err != nil || r.Status != runtime.Solved || math.Abs(float64(r.Upper.Objective)-0.1) > 1e-9 || !verified(p, r) {
		t.Fatalf("%v, %v", r, err)
	}
	r.Status, r.Reason, r.Global = runtime.LimitReached, "time limit", nil
	r.Lower.Status, r.Stationarity.Strict = "inaccurate", false
	r.Upper.Hypergradient, r.Certificate.Strong = nil, nil
	r.Stationarity.Measure, r.Stationarity.Value = "none", runtime.Number(math.NaN())
	r.Certificate.Lower.Hidden.Values[0] -= 0.125
	report, err := p.Verify(r)
	if err != nil {
		t.Fatal(err)
	}
	of, found := r.Certificate.Lower, report.Residuals // the rest is as it would be
	of.Residuals, of.Bound = found, nil
	r.Residuals.Stationarity, r.Residuals.Primal, r.Lower.ErrorBound = runtime.Number(found.Stationarity), runtime.Number(found.Primal), runtime.Number(math.Inf(1))
	for _, c := range report.Failures() {
		switch c.Claim {
		case certify.ObjectiveClaim:
			r.Upper.Objective = runtime.Number(c.Found)
		case "lower objective":
			r.Lower.Objective = runtime.Number(c.Found)
		}
	}
	if report, err = p.Verify(r); err != nil || len(report.Failures()) != 1 || !strings.HasPrefix(report.Failures()[0].Claim, "objective with the kinks") || !(r.Upper.Objective < 0) {
		t.Errorf("F = %v: %v, %v", r.Upper.Objective, err, report.Failures())
	}
}
