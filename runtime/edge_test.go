package runtime

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
)

// A leader who teaches a follower with budgets of slack: where samples pull in all
// directions the budgets leave the follower one answer, at the edge of D, where as many
// pieces of F meet as there are vertices around.
const edgeModel = `model edge
param n: int
data M: matrix[n, 4]
data v: vector[4]
upper {
  var c: vector[n] in box(0.001, 50)
  minimize 0.5 * sumsq(w - v) + 0.0001 * sumsq(c)
}
lower {
  var w: vector[4]
  minimize 0.5 * sumsq(w)
  subject to
    margin: M * w >= 1 - c
}
`

// leastOver is min_w |w - v|^2/2 + 1e-4 sum max(0.001, 1 - M_i w)^2, below which no budget
// brings F, by a semismooth Newton method.
func leastOver(m [][]float64, v []float64) float64 {
	n := len(v)
	w := make([]float64, n)
	value := func(w []float64) float64 {
		s := 0.0
		for j := range w {
			s += (w[j] - v[j]) * (w[j] - v[j]) / 2
		}
		for _, row := range m {
			c := 1.0
			for j, a := range row {
				c -= a * w[j]
			}
			c = math.Max(0.001, c)
			s += 1e-4 * c * c
		}
		return s
	}
	for range 100 {
		h, g := make([][]float64, n), make([]float64, n)
		for j := range h {
			h[j] = make([]float64, n+1)
			h[j][j] = 1
			g[j] = w[j] - v[j]
		}
		for _, row := range m {
			c := 1.0
			for j, a := range row {
				c -= a * w[j]
			}
			if c > 0.001 {
				for j, a := range row {
					g[j] -= 2e-4 * c * a
					for k, b := range row {
						h[j][k] += 2e-4 * a * b
					}
				}
			}
		}
		for j := range h {
			h[j][n] = g[j]
		}
		for j := range h { // positive definite: no pivoting
			for i := j + 1; i < n; i++ {
				f := h[i][j] / h[j][j]
				for k := j; k <= n; k++ {
					h[i][k] -= f * h[j][k]
				}
			}
		}
		for j := n - 1; j >= 0; j-- {
			for k := j + 1; k < n; k++ {
				h[j][n] -= h[j][k] * h[k][n]
			}
			h[j][n] /= h[j][j]
		}
		for j := range w {
			w[j] -= h[j][n]
		}
	}
	return value(w)
}

func TestEdgeWhereTheFollowerHasNoChoice(t *testing.T) {
	t.Parallel()
	model, err := Compile("edge.blv", edgeModel)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 5))
		const n = 70
		m, v := make([][]float64, n), make([]float64, 4)
		for i := range m {
			m[i] = []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		}
		for j := range v {
			v[j] = 3 * rng.NormFloat64()
		}
		problem, err := model.Bind(Data{"n": n, "M": m, "v": v}, BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := problem.Solve(context.Background(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		least := leastOver(m, v)
		if r.Status != Solved || math.Abs(float64(r.Upper.Objective)-least) > 1e-7*least {
			t.Errorf("seed %d: %v %s, F %.12g, no less than %.12g", seed, r.Status, r.Reason, float64(r.Upper.Objective), least)
			continue
		}
		if report, err := problem.Verify(r); err != nil || !report.OK() {
			t.Errorf("seed %d: %v %v", seed, err, report.Failures())
		}
	}
}
