package oracle_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/runtime/lower"
	"bilevelc/runtime/oracle"
)

// TestBendsOnAnotherLength: g bends on lengths of 1 in each entry of y, and nothing else
// says so: one entry of y is large, up to 1e6, or the far end of X drives y up to e^30
// away. Every oracle is right to within its stated error, and that is small.
func TestCurvesOnAnotherLength(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 77))
		a := newAnswering(rng, 1+rng.IntN(3), 2+rng.IntN(5), rng.IntN(2), 0, 1+rng.IntN(2), true)
		if seed%2 == 0 {
			a.y[rng.IntN(a.Dy)] *= math.Pow(10, 6*rng.Float64())
		}
		if seed%3 != 1 {
			for j := range a.x {
				width := 2 + 58*rng.Float64()
				a.X.Lo[j], a.X.Hi[j] = a.x[j]-width, a.x[j]+width
			}
		}
		a.settle()
		want := make([]float64, a.Dx)
		for j := range want {
			e := make([]float64, a.Dx)
			e[j] = 1
			y, _ := a.truth(t, a.strong, e)
			want[j] = a.fx[j] + dot(a.fy, y)
		}
		for _, name := range []string{"face", "difference", "penalty"} {
			o := made(t, name, nil)
			solver, err := lower.New(lower.Default, nil, a.Problem, 1)
			if err != nil {
				t.Fatal(err)
			}
			pt, err := oracle.New(a.Problem, solver, o).Gradient(ctx, a.x)
			if err != nil {
				t.Errorf("seed %d, %s: %v", seed, name, err)
				continue
			}
			off, size := 0.0, norm(want)
			for j, v := range want {
				off = math.Hypot(off, v-pt.Grad[j])
			}
			// The rounding of a force, over the least curvature, 1, is what double
			// precision leaves of y.
			rounding := 1e-14 * norm(a.y) * norm(a.fy)
			if off > 10*pt.GradError+1e-9*size+rounding {
				t.Errorf("seed %d, %s: off by %.1e of %.1e, stated %.1e", seed, name, off, size, pt.GradError)
			}
			if pt.GradError > 1e-2*size {
				t.Errorf("seed %d, %s: %.1e stated of %.1e, off by %.1e", seed, name, pt.GradError, size, off)
			}
		}
	}
}
