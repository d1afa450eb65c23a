package runtime_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// A leader's objective that curves both ways is minimized on a branch by steps within a region. Where more of the follower's rows hold than he has variables, f does not tell his multipliers apart: they stay those of a vertex, and
// do not move on with the region, step by step, to sizes beside which nothing of the system is left..
func TestMultipliersStayWhereFDoesNotReadThem(t *testing.T) {
	const model = `model both
param nx: int
param ny: int
param m: int
data R: matrix[nx, nx]
data S: matrix[ny, ny]
data Q: matrix[ny, ny]
data P: matrix[nx, ny]
data A: matrix[m, nx]
data B: matrix[m, ny]
data b: vector[m]
data d: vector[ny]
upper {
  var x: vector[nx] in box(-2, 2)
  minimize 0.5 * quad(R, x) + 0.5 * quad(S, y) + d' * y
}
lower {
  var y: vector[ny] in nonneg
  minimize 0.5 * quad(Q, y) + x' * P * y
  subject to
    rows: A * x + B * y <= b
}`
	for seed := range members.Seeds(t, 2) {
		rng := rand.New(rand.NewPCG(seed, 88))
		nx, ny, m := 20, 40, 30
		table := func(n, k int, entry func() float64) [][]float64 {
			out := make([][]float64, n)
			for i := range out {
				out[i] = make([]float64, k)
				for j := range out[i] {
					out[i][j] = entry()
				}
			}
			return out
		}
		symmetric := func(n int, size float64) [][]float64 {
			h := table(n, n, func() float64 { return size * rng.NormFloat64() })
			for i := range h {
				for j := range i {
					h[i][j] = (h[i][j] + h[j][i]) / 2
					h[j][i] = h[i][j]
				}
			}
			return h
		}
		between := func(lo, hi float64) func() float64 {
			return func() float64 { return lo + (hi-lo)*rng.Float64() }
		}
		q := symmetric(ny, 0.05)
		for i := range q {
			q[i][i] += 1
		}
		p := bindData(t, model, runtime.Data{"nx": nx, "ny": ny, "m": m, "R": symmetric(nx, 0.25), "S": symmetric(ny, 0.2), "Q": q, "P": table(nx, ny, between(-2, 3)),
			"A": table(m, nx, between(-0.5, 0.5)), "B": table(m, ny, between(-0.3, 1)), "b": table(1, m, between(1.5, 5))[0], "d": table(1, ny, between(-2, 2))[0]})
		r, err := p.Solve(t.Context(), runtime.Options{Search: runtime.SearchNone, Starts: 6})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != runtime.Solved || r.Method != runtime.SystemMethod {
			t.Errorf("seed %d: %v by %s: %s", seed, r.Status, r.Method, r.Reason)
		}
		for k, start := range r.Starts {
			if start.Status != runtime.Solved {
				t.Errorf("seed %d, start %d: %s", seed, k, fmt.Sprint(start))
			}
		}
	}
}
