package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// Upper constraints that read y, F and x in any units give the same answer: whether the
// constraints can be met is that of a grid in the closed form of the follower, and where
// they can F is that of the same model as it stands, from the same start. Half the runs
// begin where F is least without constraints, or x is at 0, so that no gradient there tells
// of a multiplier.
func TestCoupledInAnyUnits(t *testing.T) {
	t.Parallel()
	solved, elsewhere := 0, 0
	all := [][3]float64{{1e-12, 1, 1}, {1e9, 1, 1}, {1, 1e-10, 1}, {1, 1e10, 1}, {1, 1, 1e-8}, {1, 1, 1e8}, {1e-9, 1e6, 1e-7}}
	these := members.Some(t, all, 2)
	in := func(trial uint64, these [][3]float64) {
		rng := rand.New(rand.NewPCG(trial, 25))
		m := newCoupled(rng)
		if m.equal = false; trial%2 == 0 {
			m.goal = [2]float64{math.Max(0, m.a[0]), math.Max(0, m.a[1])} // F is least at 0, but for x[1] y[2]
		}
		least := math.Inf(1) // violation on a grid of X
		for i := range 401 {
			for j := range 401 {
				_, v := m.at([2]float64{-2 + float64(i)/100, -2 + float64(j)/100})
				least = math.Min(least, v)
			}
		}
		solve := func(k, u, w float64) (*runtime.Problem, *runtime.Result) {
			problem := bindText(t, fmt.Sprintf(`model units
data a: vector[2] = %s
data b: vector[2] = %s
data goal: vector[2] = %s
data c: vector[2] = %s
data d: vector[2] = %s
param k: real = %g
param u: real = %g
param w: real = %g
upper {
  var z: vector[2] in box(-2 * w, 2 * w)
  let x = z / w
  minimize u * (sumsq(y - goal) + 0.3 * sumsq(x) + x[1] * y[2])
  subject to
    disc: k * (x[1]^2 + 2 * x[2]^2) <= k * %v
    joint: k * (c' * y + d' * x) <= k * %v
}
lower {
  var y: vector[2] in nonneg
  minimize 0.5 * sumsq(y) - (a - b .* x)' * y
}
`, text(m.a), text(m.b), text(m.goal), text(m.c), text(m.d), k, u, w, m.radius, m.limit))
			r, err := problem.Solve(context.Background(), runtime.Options{Starts: 4, Seed: 1, Start: runtime.Values{{Name: "z", Shape: []int{2}, Data: []float64{0, 0}}}})
			if err != nil {
				t.Fatal(err)
			}
			return problem, r
		}
		_, base := solve(1, 1, 1)
		for _, units := range these {
			problem, r := solve(units[0], units[1], units[2])
			if r.Status == runtime.Infeasible && least < 1e-9 {
				t.Errorf("case %d in units %v: called infeasible, and a grid point is feasible\n%s", trial, units, m.text())
			}
			if report, err := verifiedByProof(problem, r); err != nil || !report.OK() {
				t.Errorf("case %d in units %v: %s (%s): %v %v", trial, units, r.Status, r.Reason, err, report)
			}
			f := float64(r.Upper.Objective) / units[1]
			if r.Status == base.Status && r.Status == runtime.Solved && math.Abs(f-float64(base.Upper.Objective)) > 1e-4*(1+math.Abs(f)) {
				elsewhere++ // rounding of other units may decide between two local solutions
				t.Logf("case %d in units %v: F = %v; %v as it stands\n%s", trial, units, f, base.Upper.Objective, m.text())
			}
			if r.Status != base.Status {
				t.Errorf("case %d in units %v: %s (%s), F = %v; %s and %v as it stands\n%s", trial, units, r.Status, r.Reason, f, base.Status, base.Upper.Objective, m.text())
			}
			if r.Status != runtime.Solved {
				continue
			}
			solved++
			at, _ := r.Upper.Variables.Get("z")
			if _, violation := m.at([2]float64{at.Data[0] / units[2], at.Data[1] / units[2]}); violation > 1e-5 {
				t.Errorf("case %d in units %v: solved at a point that violates a constraint by %v of its unit", trial, units, violation)
			}
			// A point of F that is off by as much as the constraint is large does not pass for solved.
			forged := *r
			forged.Upper.Residuals = runtime.Values{r.Upper.Residuals[0], r.Upper.Residuals[1]}
			wrong := r.Upper.Residuals[0]
			wrong.Data = []float64{wrong.Data[0] - 0.1*units[0]}
			forged.Upper.Residuals[0] = wrong
			if verified(problem, &forged) {
				t.Errorf("case %d in units %v: a residual that is another passed", trial, units)
			}
		}
	}
	for trial := range members.Seeds(t, 24) {
		in(trial, these)
	}
	in(158255565, all[6:]) // only points next to the one that is reached are lower, again and again
	if elsewhere > members.Misses(solved, 0.01) {
		t.Errorf("%d of %d runs ended at another local solution in other units", elsewhere, solved)
	}
	if solved < members.Part(72*len(these)/len(all), 24) {
		t.Errorf("%d solved runs say too little", solved)
	}
}
