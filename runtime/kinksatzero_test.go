package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// Where x is held at 0 by a kink of its own, all that the rows of the kink add up is rounding: the point is stationary all the same, and verified. The follower is
// y_i = max(0, c_i + P_i x), so that F is known at every x.
func TestKinksAtZero(t *testing.T) {
	for seed := range members.SeedsOf(t, 25, 400) {
		rng := rand.New(rand.NewPCG(seed, 71))
		n := 3 + rng.IntN(5)
		number := func() float64 { return math.Round(rng.NormFloat64()*64) / 64 }
		c, p := make([]float64, n), make([][]float64, n)
		for i := range p {
			c[i], p[i] = number()+1, []float64{number() / 4, number()}
		}
		weight := 0.5 + rng.Float64()
		f := func(x []float64) float64 {
			most, least := math.Inf(-1), math.Inf(1)
			for i := range p {
				y := math.Max(0, c[i]+p[i][0]*x[0]+p[i][1]*x[1])
				most, least = math.Max(most, y), math.Min(least, y)
			}
			return most - 0.5*least + weight*(math.Abs(x[0])+math.Abs(x[1]))
		}
		text := fmt.Sprintf(`model zero
data c: vector[%d] = %s
data P: matrix[%d, 2] = %s
upper { var x: vector[2] in box(-2, 2)
  minimize max(y) - 0.5 * min(y) + %v * norm1(x) }
lower { var y: vector[%d] in nonneg
  minimize 0.5 * sumsq(y) - (c + P * x)' * y }
`, n, list(c), n, table(p), weight, n)
		problem := bindText(t, text)
		r, err := problem.Solve(t.Context(), runtime.Options{Method: "pieces"})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != runtime.Solved || !verified(problem, r) {
			t.Errorf("seed %d: %v (%s)\n%s", seed, r.Status, r.Reason, text)
			continue
		}
		least := math.Inf(1)
		for a := -200; a <= 200; a++ {
			for b := -200; b <= 200; b++ {
				least = math.Min(least, f([]float64{float64(a) / 100, float64(b) / 100}))
			}
		}
		if got := float64(r.Upper.Objective); got > least+1e-9 || math.Abs(got-f(r.Upper.Variables[0].Data)) > 1e-9 {
			t.Errorf("seed %d: F = %v; on a grid %v, by hand there %v\n%s", seed, got, least, f(r.Upper.Variables[0].Data), text)
		}
	}
}

// Where the optimum is x = 0 with the answer 0 nothing has a length, and what the multipliers of many followers leave of grad f is their rounding: the point is the optimum and passes its
// verification, in all units. The followers' answers are Cx with C >= 0, by their objectives or by rows that push them there, and F grows with each of them.
func TestManyAnswersAtZero(t *testing.T) {
	for seed := range members.SeedsOf(t, 20, 400) {
		rng := rand.New(rand.NewPCG(seed, 331))
		n, d := 2+rng.IntN(60), 1+rng.IntN(3)
		c, h, a := make([][]float64, n), make([]float64, n), make([]float64, n)
		unit := func() float64 { return math.Ldexp(1, rng.IntN(41)-20) }
		ux, uy, uf, ug := unit(), unit(), unit(), unit()
		for i := range c {
			h[i], a[i] = ug*(0.1+rng.Float64()), uf*rng.Float64()/uy
			for range d {
				c[i] = append(c[i], math.Max(0, rng.Float64()-0.3)*uy/ux)
			}
		}
		rows := rng.IntN(2) == 0
		lower := fmt.Sprintf("in box(0, %v)\n  minimize sum(i in 1..%d: h[i] * (y[i] - C[i, :] * x)^2)", uy, n)
		if rows {
			lower = fmt.Sprintf("\n  minimize sum(i in 1..%d: h[i] * (y[i]^2 + %v * y[i]))\n  subject to\n    y >= C * x", n, uy)
		}
		text := fmt.Sprintf("model zero\ndata C: matrix[%d, %d] = %s\ndata h: vector[%d] = %s\ndata a: vector[%d] = %s\nupper {\n  var x: vector[%d] in box(0, %v)\n  minimize a' * y\n}\nlower {\n  var y: vector[%d] %s\n}\n",
			n, d, table(c), n, list(h), n, list(a), d, ux, n, lower)
		problem := bindText(t, text)
		r, err := problem.Solve(t.Context(), runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != runtime.Solved || r.Method != "pieces" || !verified(problem, r) || r.Upper.Objective != 0 {
			t.Errorf("seed %d: %v by %s, F %v (%s), %v\n%s", seed, r.Status, r.Method, r.Upper.Objective, r.Reason, r.Global, text)
		}
	}
}
