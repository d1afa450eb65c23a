package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// smoothModels have followers that are not quadratic, constraints of the leader that are not linear, and balls.
var smoothModels = map[string]string{
	"congestion": `model design
data time: vector[3] = [2, 3, 1]
data cap: vector[3] = [4, 3, 2]
upper {
  var widen: vector[3] in box(0, 4)
  let room = cap + widen
  minimize sum(time .* flow .* (1 + 0.15 * (flow ./ room) .^ 4)) + 0.3 * sum(widen)
}
lower {
  var flow: vector[3] in nonneg
  minimize sum(time .* flow + 0.03 * time .* flow .^ 5 ./ room .^ 4) + 0.02 * sumsq(flow)
  subject to sum(flow) == 9
}`,
	"entropy": `model quantal
data value: vector[4] = [9, 8, 4, 3]
data loss: vector[4] = [5, 9, 3, 8]
upper {
  var guard: vector[4] in box(0, 1)
  minimize loss' * ((1 - guard) .* attack)
  subject to sum(guard) <= 1.5
}
lower {
  var attack: vector[4] in simplex(1)
  minimize -(value .* (1 - guard) - 4 * guard)' * attack - 0.8 * entropy(attack)
}`,
	"logistic": `model weights
data u: matrix[5, 2] = [[1, 0.3], [-0.5, 1], [0.2, -1.2], [1.4, 0.8], [-1, -0.6]]
data s: vector[5] = [1, -1, 1, 1, -1]
upper {
  var w: vector[5] in simplex(1)
  minimize mean(log1pexp(-(s .* (u * theta)))) + sumsq(w)
}
lower {
  var theta: vector[2] in box(-1, 1)
  minimize sum(w .* log1pexp(-(s .* (u * theta)))) + 0.05 * sumsq(theta)
}`,
	"kink": `model kink
upper {
  var x: real in box(-3, 3)
  maximize y[1] - 0.1 * x^2
}
lower {
  var y: vector[2]
  maximize -exp(y[1] - x) - exp(-y[1]) - y[2]^2
  subject to y[1] + y[2] <= 0.5
}`,
	"disc": `model disc
upper {
  var x: vector[2] in ball(1)
  minimize (x[1] - 2)^2 + (y[1] + 1)^2 + x[2] * y[2]
  subject to y[1]^2 + x[2] <= 0.6
}
lower {
  var y: vector[2] in box(0, 2)
  minimize sum(exp(y - x)) + 0.5 * sumsq(y) - 2 * y[1]
}`,
}

// Smooth problems are solved on the KKT system by default; evaluations of F by a solver of another kind find no direction in which it falls from there, and no number of the certificate can be changed.
func TestSmoothSystems(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 5))
	for name, text := range smoothModels {
		problem := bindText(t, text)
		r, err := problem.Solve(context.Background(), runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != runtime.Solved || r.Method != runtime.SystemMethod || !verified(problem, r) {
			t.Errorf("%s: %s with %s (%s)", name, r.Status, r.Method, r.Reason)
			continue
		}
		old, err := problem.Solve(context.Background(), runtime.OffSystem(runtime.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		sign := 1.0
		if r.Upper.Sense == "maximize" {
			sign = -1
		}
		if f, g := sign*float64(r.Upper.Objective), sign*float64(old.Upper.Objective); f > g+1e-6*(1+math.Abs(g)) {
			t.Errorf("%s: F = %v, %v with %s", name, f, g, old.Method)
		}
		if r.Upper.Residuals == nil { // without constraints that decide which points count
			x := r.Upper.Variables[0]
			for range 20 {
				moved := x
				moved.Data = append([]float64(nil), x.Data...)
				for j := range moved.Data {
					moved.Data[j] += 1e-4 * rng.NormFloat64()
				}
				e, err := problem.Eval(context.Background(), runtime.Values{moved}, runtime.Options{})
				if err != nil || e.Residuals.Upper > 1e-12 {
					continue // outside of X
				}
				if f, g := sign*float64(r.Upper.Objective), sign*float64(e.Upper.Objective); g < f-1e-6*(1+math.Abs(f)) {
					t.Errorf("%s: F falls from %v to %v", name, f, g)
				}
			}
		}
		strong := r.Certificate.Strong
		for _, part := range [][]float64{strong.Adjoint, strong.Slack, strong.Multiplier, strong.Bound, strong.Rows, strong.Coupled, strong.Balls} {
			for i, was := range part {
				for _, forged := range []float64{was + 0.01*(1+math.Abs(was)), -was - 1, math.NaN()} {
					if part[i] = forged; verified(problem, r) {
						t.Errorf("%s: a multiplier %v passed for %v", name, forged, was)
					}
				}
				part[i] = was
			}
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Random congestion games with a kink or two: by the closed form of the follower on two roads F has no better point on a grid near the solution.
func TestTwoRoads(t *testing.T) {
	t.Parallel()
	for seed := range members.Seeds(t, 40) {
		rng := rand.New(rand.NewPCG(seed, 6))
		free, slope, demand, wish := 1+rng.Float64(), 0.2+rng.Float64(), 1+2*rng.Float64(), 3*rng.Float64()
		p := bindText(t, fmt.Sprintf(`model roads
param free: real = %.17g
param slope: real = %.17g
param demand: real = %.17g
param wish: real = %.17g
upper {
  var toll: real in box(0, 6)
  minimize (flow[1] - wish)^2 + 0.01 * toll^2
}
lower {
  var flow: vector[2] in nonneg
  minimize (1 + toll) * flow[1] + 0.1 * flow[1]^5 + free * flow[2] + slope * flow[2]^3 + 0.05 * sumsq(flow)
  subject to sum(flow) == demand
}`, free, slope, demand, wish))
		r, err := p.Solve(context.Background(), runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != runtime.Solved || r.Method != runtime.SystemMethod || !verified(p, r) {
			t.Errorf("seed %d: %s with %s (%s)", seed, r.Status, r.Method, r.Reason)
			continue
		}
		gap := func(toll, v float64) float64 {
			w := demand - v
			return 1 + toll + 0.5*math.Pow(v, 4) + 0.1*v - free - 3*slope*w*w - 0.1*w
		}
		tollIsBest(t, seed, r, demand, wish, gap)
	}
}

// tollIsBest holds that F is that of the toll on the first of two roads, and on a grid no toll has less. The flow on the road is where the costs of both are the same, gap is 0, or at an end: by bisection.
func tollIsBest[S any](t *testing.T, seed S, r *runtime.Result, demand, wish float64, gap func(toll, v float64) float64) {
	t.Helper()
	at := func(toll float64) float64 {
		lo, hi := 0.0, demand
		if gap(toll, lo) > 0 {
			hi = lo
		} else if gap(toll, hi) < 0 {
			lo = hi
		}
		for range 100 {
			if mid := (lo + hi) / 2; gap(toll, mid) < 0 {
				lo = mid
			} else {
				hi = mid
			}
		}
		return (lo-wish)*(lo-wish) + 0.01*toll*toll
	}
	best := math.Inf(1)
	for k := range 6001 {
		best = math.Min(best, at(float64(k)/1000))
	}
	toll, _ := r.Upper.Variables.Get("toll")
	if f := at(toll.Data[0]); math.Abs(f-float64(r.Upper.Objective)) > 1e-8 || f > best+1e-9 {
		t.Errorf("seed %v: F = %v, which is %v by bisection, %v on a grid", seed, r.Upper.Objective, f, best)
	}
}

// Where the follower's answer, or what f feels of it, is 0, and the multipliers are rounding, neither says what it is to be compared with.
func TestSmoothSystemsAtZero(t *testing.T) {
	for want, text := range map[float64]string{
		-2.25: `model unread
upper {
  var x: real in box(-3, 1)
  minimize 3 * x + x^2
}
lower {
  var y: real in box(-0.5, 1)
  minimize 0.5 * y^2 + sqrt(1 + y^2) + 2 * x * y + 3 * y
}`,
		-3.5: `model edge
upper {
  var x: real in box(-2, 1.2)
  minimize 2 * x + 0.5 * (x + 3)^2 + 2 * y
}
lower {
  var y: real in box(-0.5, 1)
  minimize exp(y) + 0.5 * x * y
}`,
		0.286980503752: `model shares // the value is from bisection for y, and a grid for x
upper {
  var x: real in box(-1, 1)
  minimize (share - 0.5)^2 + 0.25 * (x + 1)
}
lower {
  var share: real in nonneg
  minimize 0.5 * share^2 + 2 * share * log(share / 3) + x * share
}`,
	} {
		r, err := bindText(t, text).Solve(context.Background(), runtime.Options{Method: runtime.SystemMethod})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != runtime.Solved || math.Abs(float64(r.Upper.Objective)-want) > 1e-8 {
			t.Errorf("%s: %v (%s), F %v, not %v", r.Model, r.Status, r.Reason, float64(r.Upper.Objective), want)
		}
	}
}

// Path flows over two stages of two parallel roads each, whose travel times are powers: the flows on roads are unique and found here by bisection; those on paths are a segment, so that the leader's
// linear use of them is best and worst at its ends. Nearly all starts come to a solution: which directions paths may go on along differences tell, of the follower's curvature and of what tolls do along them.
func TestPathFlows(t *testing.T) {
	t.Parallel()
	solved, n, starts, ended := 0, 0, 0, 0
	for seed := range members.Seeds(t, 40) {
		rng := rand.New(rand.NewPCG(seed, 41))
		power := 2 + rng.IntN(3) // of the travel time: g has the next one
		free, bend, use := make([]float64, 4), make([]float64, 4), make([]float64, 4)
		for i := range free {
			free[i], bend[i], use[i] = 0.5+2*rng.Float64(), 0.1+rng.Float64(), float64(rng.IntN(3))*rng.Float64()
		}
		demand, weight := 1+3*rng.Float64(), 0.3+rng.Float64()
		text := fmt.Sprintf(`model paths
data on: matrix[4, 4] = [[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]]
data free: vector[4] = %s
data bend: vector[4] = %s
data use: vector[4] = %s
upper {
  var toll: vector[4] in box(0, 3)
  minimize sum(road .* (free + 0.5 * road)) - %v * toll' * road + 0.1 * sumsq(toll) + use' * path
}
lower {
  var path: vector[4] in nonneg
  let road = on' * path
  minimize sum((free + toll) .* road + bend .* road .^ %d)
  subject to sum(path) == %v
}
solve { ties = optimistic }`, array(free), array(bend), array(use), weight, power+1, demand)
		r, err := bindText(t, text).Solve(context.Background(), runtime.Options{})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		for _, s := range r.Starts {
			if starts++; s.Status == runtime.Solved {
				ended++
			}
		}
		if n++; r.Status != runtime.Solved {
			t.Logf("seed %d: %v: %s\n%s", seed, r.Status, r.Reason, text)
			continue
		}
		solved++
		toll := r.Upper.Variables[0].Data
		road := make([]float64, 4)
		for stage := range 2 {
			a, b := 2*stage, 2*stage+1
			time := func(i int, v float64) float64 {
				return free[i] + toll[i] + float64(power+1)*bend[i]*math.Pow(v, float64(power))
			}
			lo, hi := 0.0, demand
			for range 200 {
				if v := (lo + hi) / 2; time(a, v) > time(b, demand-v) {
					hi = v
				} else {
					lo = v
				}
			}
			road[a], road[b] = lo, demand-lo
		}
		own := 0.0
		for i, v := range road {
			own += v*(free[i]+0.5*v) - weight*toll[i]*v + 0.1*toll[i]*toll[i]
		}
		best, worst := math.Inf(1), math.Inf(-1)
		for _, first := range []float64{math.Max(0, road[0]+road[2]-demand), math.Min(road[0], road[2])} {
			path := []float64{first, road[0] - first, road[2] - first, demand - road[0] - road[2] + first}
			f := own
			for i, v := range path {
				f += use[i] * v
			}
			best, worst = math.Min(best, f), math.Max(worst, f)
		}
		size := 1e-7 * math.Max(1, math.Abs(best))
		if f := float64(r.Upper.Objective); math.Abs(f-best) > size {
			t.Errorf("seed %d: F is %v, with the best answer %v\n%s", seed, f, best, text)
		}
		ties := r.Lower.Ties
		if w := float64(ties.Pessimistic); ties.Unique && worst-best > size || !math.IsNaN(w) && math.Abs(w-worst) > size {
			t.Errorf("seed %d: unique %v, worst %v; the worst is %v, the best %v\n%s", seed, ties.Unique, w, worst, best, text)
		}
	}
	if n-solved > members.Misses(n, 0.05) {
		t.Errorf("%d of %d were not solved", n-solved, n)
	}
	if 50*ended < 49*starts {
		t.Errorf("%d of %d starts came to a solution", ended, starts)
	}
}

func array(v []float64) string {
	out := fmt.Sprint(v)
	return strings.ReplaceAll(out, " ", ", ")
}
