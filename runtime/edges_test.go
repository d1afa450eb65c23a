package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// A road of a width x that the leader builds at a price, beside one that is there: its delay y/x has a pole where x is 0, which is a bound of X and, where nobody would take the road, the optimum (x[2] tells of what size x is). Truth: the follower's
// answer in closed form, on a grid and by bisection around its best point.
func TestBoundsAtTheEdgeOfADomain(t *testing.T) {
	t.Parallel()
	atEdge := 0
	for seed := range members.Seeds(t, 40) {
		rng := rand.New(rand.NewPCG(seed, 61))
		d, k, c1, c2, p := 1+4*rng.Float64(), 0.5+rng.Float64(), 3*rng.Float64(), 2*rng.Float64(), 0.2+3*rng.Float64()
		if seed%2 == 0 {
			c1 = c2 + d/k + rng.Float64() // nobody takes it
		}
		f := func(x float64) float64 {
			y := 0.0
			if x > 0 {
				y = math.Max(0, math.Min(d, (c2-c1+d/k)/(1/x+1/k)))
			}
			cost := p*x + y*c1 + (d-y)*((d-y)/k+c2)
			if x > 0 {
				cost += y * y / x
			}
			return cost
		}
		best, least := 0.0, f(0)
		for i := range 2000 {
			if x := 8 * float64(i+1) / 2000; f(x) < least {
				best, least = x, f(x)
			}
		}
		for width := 8.0 / 2000; width > 1e-9; width /= 2 {
			for _, x := range []float64{best - width, best + width} {
				if x >= 0 && x <= 8 && f(x) < least {
					best, least = x, f(x)
				}
			}
		}
		if best == 0 && c1 < c2+d/k {
			continue // some would take any road: of how many at x = 0 rounding decides
		}
		text := fmt.Sprintf("model road\nupper {\n  var x: vector[2] in box(0, 8)\n  minimize %v * x[1] + y[1] * (y[1] / x[1] + %v) + y[2] * (y[2] / %v + %v) + (x[2] - 1.3)^2\n}\nlower {\n  var y: vector[2] in nonneg\n"+
			"  minimize y[1]^2 / (2 * x[1]) + %v * y[1] + y[2]^2 / (2 * %v) + %v * y[2]\n  subject to\n    y[1] + y[2] == %v\n}\n", p, c1, k, c2, c1, k, c2, d)
		r := solveText(t, text, runtime.Options{Seed: seed})
		if got := float64(r.Upper.Objective); r.Status != runtime.Solved || r.Method != runtime.SystemMethod || math.Abs(got-least) > 1e-7*math.Abs(least) {
			t.Errorf("seed %d: %s by %s (%s), F %v, in truth %v at %v\n%s", seed, r.Status, r.Method, r.Reason, got, least, best, text)
		}
		if best == 0 {
			atEdge++
		}
	}
	if atEdge < 5 {
		t.Errorf("only %d optima are at the edge", atEdge)
	}
}

// The leader's f falls to no end, or rises to one, at a bound of X, as logarithms and quotients do: F is smooth where it has values. Truth: a grid and bisection, with the answer of a follower of one variable in closed form.
func TestObjectivesWithPolesAtBounds(t *testing.T) {
	for seed := range members.Seeds(t, 30) {
		rng := rand.New(rand.NewPCG(seed, 62))
		a, b, w := 0.2+rng.Float64(), 3*rng.Float64()-0.5, 0.5+2*rng.Float64()
		barrier := func(x float64) float64 { return -a * math.Log(x) }
		text := fmt.Sprintf("- %v * log(x)", a)
		if seed%2 == 0 {
			barrier, text = func(x float64) float64 { return a / x }, fmt.Sprintf("+ %v / x", a)
		}
		f := func(x float64) float64 {
			y := math.Max(0, x-b)
			return w*(y-0.7)*(y-0.7) + 0.1*x*x + barrier(x)
		}
		best, least := 4.0, f(4)
		for i := range 4000 {
			if x := 4 * float64(i+1) / 4000; f(x) < least {
				best, least = x, f(x)
			}
		}
		for width := 4.0 / 4000; width > 1e-12; width /= 2 {
			for _, x := range []float64{best - width, best + width} {
				if x > 0 && x <= 4 && f(x) < least {
					best, least = x, f(x)
				}
			}
		}
		r := solveText(t, fmt.Sprintf("model barrier\nupper {\n  var x: real in box(0, 4)\n  minimize %v * (y - 0.7)^2 + 0.1 * x^2 %s\n}\nlower {\n  var y: real in nonneg\n  minimize (y - x + %v)^2\n}\n", w, text, b),
			runtime.Options{Seed: seed})
		if got := float64(r.Upper.Objective); r.Status != runtime.Solved || r.Method != runtime.SystemMethod || math.Abs(got-least) > 1e-7*(1+math.Abs(least)) {
			t.Errorf("seed %d: %s by %s (%s), F %v, in truth %v at %v", seed, r.Status, r.Method, r.Reason, got, least, best)
		}
	}
}

// An x at which a follower that is linear in y has a choice is one alone, and the leader's rows that read y hold nowhere else: it is the root of a curve.
func TestIsolatedTiesOfCurves(t *testing.T) {
	all, solved := 0, 0
	for seed := range members.Seeds(t, 40) {
		rng := rand.New(rand.NewPCG(seed, 63))
		a, k, c := 0.5+rng.Float64(), 0.3+rng.Float64(), 1.2*rng.Float64()-0.2
		w, want := 0.1+0.3*rng.Float64(), rng.NormFloat64()
		lo, hi := -3.0, 3.0 // a x + exp(k x) - c rises through 0 between them
		for range 60 {
			if mid := (lo + hi) / 2; a*mid+math.Exp(k*mid) < c {
				lo = mid
			} else {
				hi = mid
			}
		}
		text := fmt.Sprintf("model tie\nupper {\n  var x: real in box(-3, 3)\n  minimize (y - %[5]v)^2\n  subject to\n    y <= %[4]v\n    y >= -%[4]v\n}\nlower {\n  var y: real in box(-1, 1)\n  minimize y * (%[1]v * x + exp(%[2]v * x) - %[3]v)\n}\nsolve { ties = optimistic }\n",
			a, k, c, w, want)
		r := solveText(t, text, runtime.Options{Seed: seed})
		miss := math.Max(0, math.Abs(want)-w)
		if all++; r.Status != runtime.Solved {
			t.Logf("seed %d: %s (%s)\n%s", seed, r.Status, r.Reason, text)
			continue
		}
		solved++
		if got := float64(r.Upper.Objective); math.Abs(got-miss*miss) > 1e-8*(1+miss*miss) || math.Abs(r.Upper.Variables[0].Data[0]-lo) > 1e-7 {
			t.Errorf("seed %d: %s (%s), F %v at %v, in truth %v at %v\n%s", seed, r.Status, r.Reason, got, r.Upper.Variables[0].Data, miss*miss, lo, text)
		}
	}
	if solved < members.Least(all, 0.9) {
		t.Errorf("%d of %d are solved", solved, all)
	}
}

// A coefficient of a linearized row that is all rounding, as income has none in what the follower has chosen for its sake, is none.
func TestSlopesThatVanishAtAnswers(t *testing.T) {
	t.Parallel()
	all, solved := 0, 0
	for seed := range members.SeedsOf(t, 12, 30) {
		rng := rand.New(rand.NewPCG(seed, 64))
		n, want := 1+rng.IntN(4), 0.0
		skill, reserve := make([]float64, n), make([]float64, n)
		for i := range n {
			skill[i], reserve[i] = 1+2*rng.Float64(), 0.6*rng.Float64()
			share := math.Max(0.5, math.Sqrt(2*reserve[i]/skill[i]))
			want += (1 - share) * share * skill[i]
		}
		text := fmt.Sprintf("model shares\ndata skill: vector[%[1]d] = %[2]s\ndata reserve: vector[%[1]d] = %[3]s\nupper {\n  var share: vector[%[1]d] in box(0, 1)\n  maximize sum((1 - share) .* sales)\n  subject to\n"+
			"    participate: share .* sales - sales .^ 2 ./ (2 * skill) >= reserve\n}\nlower {\n  var sales: vector[%[1]d] in nonneg\n  maximize sum(share .* sales - sales .^ 2 ./ (2 * skill))\n}\n", n, list(skill), list(reserve))
		r := solveText(t, text, runtime.Options{Seed: seed})
		if all++; r.Status != runtime.Solved || r.Method != runtime.SystemMethod {
			t.Logf("seed %d: %s by %s (%s)\n%s", seed, r.Status, r.Method, r.Reason, text)
			continue
		}
		solved++
		if got := float64(r.Upper.Objective); math.Abs(got-want) > 1e-8 {
			t.Errorf("seed %d: F %v, in truth %v\n%s", seed, got, want, text)
		}
	}
	if solved < members.Least(all, 0.85) {
		t.Errorf("%d of %d are solved on the system", solved, all)
	}
}
