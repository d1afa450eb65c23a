package runtime_test

import (
	"context"
	"math"
	"testing"

	"bilevelc/runtime"
)

// A follower that is not quadratic, of more variables and rows than dense factors are made for, with a sparse Hessian, is solved on its KKT system, too: each row of y is at its entry of x, so that the best x is the mean of a row of goals (beside 0, for
// its own square), in the box.
func TestLargeSmoothFollowers(t *testing.T) {
	t.Parallel()
	const k, n = 21, 30
	goal, want := make([][]float64, k), 0.0
	best := make([]float64, k)
	for j := range k {
		sum, squares := 0.0, 0.0
		for i := range n {
			v := float64((7*i+11*j)%13)/13 + float64(j)/12
			goal[j] = append(goal[j], v)
			sum, squares = sum+v, squares+v*v
		}
		best[j] = math.Min(1, sum/(n+0.5))
		want += squares - 2*best[j]*sum + (n+0.5)*best[j]*best[j]
	}
	problem := bindData(t, `model large
param k: int
param n: int
data goal: matrix[k, n]
upper {
  var x: vector[k] in box(-1, 1)
  minimize sum(j in 1..k, i in 1..n: (y[j, i] - goal[j, i])^2) + 0.5 * sumsq(x)
}
lower {
  var y: matrix[k, n] in nonneg
  minimize sum(j in 1..k, i in 1..n: exp(y[j, i] - x[j]) - (y[j, i] - x[j]) + 0.5 * (y[j, i] - x[j])^2)
  subject to
    all: sum(y) <= 2 * k * n
}`, runtime.Data{"goal": goal})
	r, err := problem.Solve(context.Background(), runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != runtime.Solved || r.Method != runtime.SystemMethod || math.Abs(float64(r.Upper.Objective)-want) > 1e-9*want {
		t.Errorf("%v by %s (%s), F %v, and the least is %v", r.Status, r.Method, r.Reason, r.Upper.Objective, want)
	}
}
