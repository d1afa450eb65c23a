package paper

import (
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/outer"
	"math"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/oracle/oracletest"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/status"
)

// F(x) = 1/2 sum_j w_j (x_j - t_j)^2 over |x| <= r, x_1 <= hi, by way of y*(x) = x, with
// a row that never binds. With the sphere's multiplier theta the minimum is at
// x_j = min(w_j t_j / (w_j + theta), hi_j), and |x| falls with theta.
func onSphere(n int, radius, hi float64) (*problem.Problem, []float64) {
	w, t := make([]float64, n), make([]float64, n)
	for j := range w {
		w[j], t[j] = math.Pow(30, float64(j)/float64(n)), 1+math.Sin(float64(3*j))
	}
	set := oracletest.Free(n)
	set.Hi[0] = hi
	set.Balls = []problem.Ball{{Start: 0, End: n, Radius: radius, Name: "ball"}}
	b := make([]float64, n)
	b[0] = 1
	p := &problem.Problem{Name: "sphere", Dx: n, Dy: n, X: set, Start: make([]float64, n),
		F: oracletest.FromFormula(n, n, func(_, y []float64) float64 {
			s := 0.0
			for j, v := range y {
				s += w[j] / 2 * (v - t[j]) * (v - t[j])
			}
			return s
		}),
		G: oracletest.FromFormula(n, n, func(x, y []float64) float64 { d := linalg.Distance(x, y); return d * d / 2 }),
		Rows: &problem.Rows{Kind: []problem.Kind{problem.AtMost}, A: sparse.FromDense(1, n, make([]float64, n)),
			B: sparse.FromDense(1, n, b), Rhs: []float64{100}, Name: []string{"floor"}},
		Facts: problem.Facts{StrongConvexity: 1, Smoothness: 1},
	}
	// -y_1 <= 100 never binds.
	x := make([]float64, n)
	lo, up := 0.0, 1e6
	for range 200 {
		theta := (lo + up) / 2
		for j := range x {
			x[j] = math.Min(w[j]*t[j]/(w[j]+theta), set.Hi[j])
		}
		if linalg.Norm(x) > radius {
			lo = theta
		} else {
			up = theta
		}
	}
	return p, x
}

// On a sphere, and where it meets a bound, the methods that promise accuracy find
// the minimum; bfgs does so in few steps.
func TestBalls(t *testing.T) {
	for _, hi := range []float64{math.Inf(1), 0.01} {
		p, want := onSphere(8, 1, hi)
		for _, name := range []string{"bfgs", "pgd"} {
			r := solve(t, p, name, nil, outer.Options{Seed: 1, Limits: outer.Limits{Iterations: 3000}})
			if r.Best == nil {
				t.Fatalf("%s: %v (%s)", name, r.Status, r.Reason)
			}
			t.Logf("%s, bound %g: %v after %d iterations, %d evaluations, distance %.1e; %s", name, hi, r.Status, r.Iterations, r.Evaluations, linalg.Distance(r.Best.X, want), r.Reason)
			if d := linalg.Distance(r.Best.X, want); r.Status != status.Solved || d > 1e-6 {
				t.Errorf("%s, bound %g: %v (%s), distance %.2e", name, hi, r.Status, r.Reason, d)
			}
			if name == "bfgs" && r.Iterations > 40 {
				t.Errorf("bound %g: %d iterations", hi, r.Iterations)
			}
		}
	}
}
