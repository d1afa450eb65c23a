package runtime

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
)

// Where the leader would push w past rows that hold it, budgets of these rows at their
// least, the relaxation's minimizer is no answer. The run ends where the follower needs such
// rows whatever its multipliers are, which have the other sign in the certificate, and F
// is no lower next to there: neither at random budgets nor at the least ones around a w.
func TestRowsThatHoldTheAnswer(t *testing.T) {
	t.Parallel()
	model, err := Compile("edge.blv", edgeModel)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 8))
		const n = 64
		m, v := make([][]float64, n), make([]float64, 4)
		for j := range v {
			v[j] = 6 * rng.NormFloat64()
		}
		for i := range m {
			m[i] = []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
			along := 0.0
			for j, a := range m[i] {
				along += a * v[j]
			}
			if along < 0 && i%16 != 0 {
				for j := range m[i] {
					m[i][j] *= -1
				}
			}
		}
		problem, err := model.Bind(Data{"n": n, "M": m, "v": v}, BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := problem.Solve(context.Background(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		F, c := float64(r.Upper.Objective), r.Upper.Variables[0].Data
		if r.Status != Solved {
			t.Errorf("seed %d: %v (%s)", seed, r.Status, r.Reason)
			continue
		}
		report, err := problem.Verify(r)
		if err != nil || !report.OK() {
			t.Errorf("seed %d: %v %v", seed, err, report.Failures())
		}
		at, err := problem.Evaluate(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		w := at.Y
		for k := range 60 {
			far := math.Pow(10, -3-2*rng.Float64())
			next, budgets := make([]float64, 4), make([]float64, n)
			for j := range w {
				next[j] = w[j] + far*rng.NormFloat64()
			}
			for i, row := range m {
				budgets[i] = 1
				for j, a := range row {
					budgets[i] -= a * next[j]
				}
				if k%2 == 0 {
					budgets[i] += far * math.Max(0, rng.NormFloat64())
				}
				budgets[i] = math.Max(0.001, budgets[i])
			}
			near, err := problem.Evaluate(context.Background(), budgets)
			if err != nil {
				t.Fatal(err)
			}
			// The curvature of f in w is 1; w moves by 2 far or so.
			if near.F < F-10*far*far-1e-9 {
				t.Errorf("seed %d: F %.12g, and %.12g within %g", seed, F, near.F, far)
				break
			}
		}
	}
}
