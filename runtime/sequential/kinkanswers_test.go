package sequential_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
)

// Answers beside a kink, on either side and as near as doubles tell, keep the conditions of Karush, Kuhn and Tucker to rounding: rows hold, multipliers have signs, and either is 0 where the other is not.
func TestAnswersBesideKinks(t *testing.T) {
	kinks, worst := 0, [3]float64{}
	for _, seed := range append(slices.Collect(members.SeedsOf(t, 60, 1000)), 221765541) { // of the last one a row that had a multiplier lets another in
		rng := rand.New(rand.NewPCG(seed, 19))
		p := kkttest.RandomSmooth(rng, 2, 4, 5, 0, true)
		if seed%3 == 0 {
			p.Facts.StrongConvexity, p.Facts.Convex = 0, true // it is, and nothing says so
		}
		v := solver(t, p, false)
		start := make([]float64, p.Dy)
		answer := func(x []float64) (y, lambda []float64) {
			y, lambda, err := v.Answer(t.Context(), x, start)
			if err != nil {
				t.Fatalf("seed %d, x %v: %v", seed, x, err)
			}
			h, grad := make([]float64, p.Rows.Len()), make([]float64, p.Dy)
			p.Rows.Residual(h, x, y)
			p.G.GradY(grad, x, y)
			terms := append([]float64(nil), grad...)
			for j := range terms {
				terms[j] = 1 + math.Abs(terms[j])
			}
			for i, l := range lambda[:p.Rows.Len()] {
				size := p.Rows.A.AddTerms(p.Rows.B.AddTerms(math.Abs(p.Rows.Rhs[i]), i, y), i, x)
				worst[0] = max(worst[0], h[i]/size)
				cols, vals := p.Rows.B.Row(i)
				for k, j := range cols {
					grad[j] -= l * vals[k]
					terms[j] += math.Abs(l * vals[k])
				}
				worst[1] = max(worst[1], -l, math.Min(l, -h[i]/size))
			}
			for j, g := range grad {
				worst[2] = max(worst[2], math.Abs(g)/terms[j])
			}
			return y, lambda
		}
		from, to := randomIn(rng, p.Dx, 1), randomIn(rng, p.Dx, 1)
		active := func(x []float64) (set uint64) {
			_, lambda := answer(x)
			for i, l := range lambda[:p.Rows.Len()] {
				if l > 1e-7 {
					set |= 1 << i
				}
			}
			return set
		}
		mid := func() []float64 {
			x := make([]float64, p.Dx)
			for j := range x {
				x[j] = (from[j] + to[j]) / 2
			}
			return x
		}
		first := active(from)
		if active(to) == first {
			continue
		}
		kinks++
		for range 50 {
			if x := mid(); active(x) == first {
				from = x
			} else {
				to = x
			}
		}
		for range 20 {
			x := mid()
			by := math.Pow(10, -6-9*rng.Float64())
			for j := range x {
				x[j] += by * rng.NormFloat64()
			}
			answer(x)
		}
	}
	t.Logf("%d kinks, %.1e", kinks, worst)
	if kinks < 10 {
		t.Errorf("%d kinks", kinks)
	}
	for k, most := range [3]float64{1e-14, 1e-14, 1e-13} {
		if worst[k] > most {
			t.Errorf("%s are off by %g", []string{"rows", "multipliers beside rows", "forces"}[k], worst[k])
		}
	}
}
