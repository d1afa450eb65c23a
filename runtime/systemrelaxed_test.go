package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/optimize"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestBudgetsLeaveNoChoice has followers w whose rows a_i'w >= 1 - c_i the leader sets one by one, with an f that is convex and not quadratic in w. No F is below the least f over the
// rows, which is the minimum of a function of w alone, found by another method; where the rows that are tight there hold w as the follower's answer F is that, and all but few runs make no further start.
func TestBudgetsLeaveNoChoice(t *testing.T) {
	t.Parallel()
	attained, searched, n := 0, 0, 0
	for k := range members.SeedsOf(t, 10, 200) {
		n++
		rng := rand.New(rand.NewPCG(k, 71))
		d, rows, samples := 2+rng.IntN(3), 8+rng.IntN(8), 10
		list := func(count int) (text string, a [][]float64) {
			var lines []string
			for range count {
				row, cells := make([]float64, d), make([]string, d)
				for j := range row {
					row[j] = math.Round(100*rng.NormFloat64()) / 100
					cells[j] = fmt.Sprintf("(%g)", row[j])
				}
				a, lines = append(a, row), append(lines, "["+strings.Join(cells, ", ")+"]")
			}
			return "[" + strings.Join(lines, ", ") + "]", a
		}
		textA, a := list(rows)
		textB, b := list(samples)
		model := fmt.Sprintf(`model budgets
data A: matrix[%d, %d] = %s
data B: matrix[%d, %d] = %s
upper {
  var c: vector[%d] in box(0.01, 100)
  minimize mean(exp(1 - B * w)) + 0.5 * mean(exp(B * w)) + 0.001 * sumsq(c)
}
lower {
  var w: vector[%d]
  minimize 0.5 * sumsq(w)
  subject to
    margin: A * w >= 1 - c
}
`, rows, d, textA, samples, d, textB, rows, d)
		p := bindText(t, model)
		res, err := p.Solve(context.Background(), runtime.Options{})
		if err != nil || res.Status != runtime.Solved {
			t.Fatalf("case %d: %v %v %s\n%s", k, err, res.Status, res.Reason, model)
		}
		if report, err := p.Verify(res); err != nil || !report.OK() {
			t.Errorf("case %d: %v %v\n%s", k, err, report.Failures(), model)
		}
		dot := func(row, w []float64) (v float64) {
			for j, r := range row {
				v += r * w[j]
			}
			return v
		}
		f := func(w []float64) (v float64) {
			for _, row := range b {
				m := dot(row, w)
				v += (math.Exp(1-m) + 0.5*math.Exp(m)) / float64(len(b))
			}
			for _, row := range a {
				v += 0.001 * math.Pow(math.Max(0.01, 1-dot(row, w)), 2)
			}
			return v
		}
		least, err := optimize.Minimize(optimize.Problem{Func: f}, make([]float64, d), &optimize.Settings{Converger: &optimize.FunctionConverge{Absolute: 1e-13, Iterations: 500}}, &optimize.NelderMead{})
		if err != nil {
			t.Fatal(err)
		}
		F := float64(res.Upper.Objective)
		if F < least.F-1e-6*(1+math.Abs(least.F)) {
			t.Errorf("case %d: F %.12g, and no f over the rows is below %.12g\n%s", k, F, least.F, model)
		}
		if F < least.F+1e-6*(1+math.Abs(least.F)) {
			if attained++; len(res.Starts) > 0 {
				searched++
			}
		}
	}
	t.Logf("%d of %d attained", attained, n)
	if attained == 0 {
		t.Error("the follower always had a choice")
	}
	if searched > members.Misses(attained, 0.05) {
		t.Errorf("%d of %d made further starts, and f has no lower value over the rows", searched, attained)
	}
}

// TestTollsMakeTravellersBear has parallel roads that two kinds of travellers share, with travel times that are powers of the flow, and tolls without a limit that counts: total time then is the least of all
// flows, which is found here where the marginal times of the roads in use are equal.
func TestTollsMakeTravellersBear(t *testing.T) {
	attained, n := 0, 0
	for seed := range members.Seeds(t, 40) {
		rng := rand.New(rand.NewPCG(seed, 72))
		roads, power := 2+rng.IntN(4), 2+rng.IntN(3)
		free, bend := make([]float64, roads), make([]float64, roads)
		for i := range free {
			free[i], bend[i] = 1+3*rng.Float64(), 0.05+0.5*rng.Float64()
		}
		demand := []float64{1 + 2*rng.Float64(), 1 + 2*rng.Float64()}
		model := fmt.Sprintf(`model bear
data free: vector[%[1]d] = %[2]s
data bend: vector[%[1]d] = %[3]s
data demand: vector[2] = %[4]s
let road = flow[:, 1] + flow[:, 2]
upper {
  var toll: vector[%[1]d] in box(0, 1000)
  minimize sum(road .* (free + bend .* road .^ %[5]d))
}
lower {
  var flow: matrix[%[1]d, 2] in nonneg
  minimize sum((free + toll) .* road + bend .* road .^ %[6]d) + 0.001 * sumsq(flow)
  subject to
    all: forall k in 1..2: sum(flow[:, k]) == demand[k]
}
`, roads, array(free), array(bend), array(demand), power, power+1)
		// The marginal time of road i is free + (power + 1) bend v^power.
		flows := func(price float64) (v []float64, sum float64) {
			for i := range free {
				f := math.Pow(math.Max(0, price-free[i])/(float64(power+1)*bend[i]), 1/float64(power))
				v, sum = append(v, f), sum+f
			}
			return v, sum
		}
		lo, hi := 0.0, 1e6
		for range 300 {
			if _, sum := flows((lo + hi) / 2); sum > demand[0]+demand[1] {
				hi = (lo + hi) / 2
			} else {
				lo = (lo + hi) / 2
			}
		}
		least := 0.0
		v, _ := flows(lo)
		for i, f := range v {
			least += f * (free[i] + bend[i]*math.Pow(f, float64(power)))
		}
		p := bindText(t, model)
		r, err := p.Solve(context.Background(), runtime.Options{Starts: 1})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, model)
		}
		n++
		switch f := float64(r.Upper.Objective); {
		case r.Status == runtime.Solved && f < least*(1-1e-9):
			t.Errorf("seed %d: F is %v, and no flows take less than %v\n%s", seed, f, least, model)
		case r.Status == runtime.Solved && f < least*(1+1e-7):
			attained++
		default:
			t.Logf("seed %d: %v, F %v, least %v: %s", seed, r.Status, f, least, r.Reason)
		}
	}
	if n-attained > members.Misses(n, 0.05) {
		t.Errorf("%d of %d ended at the least time", attained, n)
	}
}
