package lower

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// What a Solution says of its point holds at any point and for any multipliers,
// not only for those that a solve ends with: the residuals are those of the
// definition, and the answer is within the error bound of every feasible point.
// Where the multipliers are the gradient's own, rows with slack are all that the
// bound rests on.
func TestAssessmentIsByDefinition(t *testing.T) {
	compared, slackened := 0, 0
	for seed := uint64(0); seed < 600; seed++ {
		rng := rand.New(rand.NewPCG(seed, 84))
		n, m := 1+rng.IntN(3), 1+rng.IntN(3)
		units := math.Pow(10, float64(rng.IntN(7)-3))
		mu := math.Pow(10, 2*rng.Float64()-1)
		q, c := make([]float64, n*n), normal(rng, n)
		for i := range c {
			q[i*n+i] = mu * (1 + rng.Float64()*float64(seed%2))
			c[i] *= 3
		}
		var b [][]float64
		var r []float64
		equal := map[int]bool{}
		for i := range m {
			row := normal(rng, n)
			if rng.IntN(3) == 0 { // a bound
				clear(row)
				row[rng.IntN(n)] = 1 - 2*float64(rng.IntN(2))
			}
			floats.Scale(units, row)
			b, r = append(b, row), append(r, units*(rng.NormFloat64()-1))
			equal[i] = rng.IntN(6) == 0 && n > 1
		}
		p := small(q, c, b, r, equal)
		poly := &polyhedron{}
		poly.set(p, nil, nil)
		y, lambda, grad := normal(rng, n), make([]float64, m), make([]float64, n)
		p.G.GradY(grad, nil, y)
		// Multipliers near those that the gradient asks for, row by row.
		for i, row := range b {
			lambda[i] = linalg.Dot(row, grad) / linalg.Dot(row, row)
			if !equal[i] && seed%4 != 0 {
				lambda[i] = math.Max(lambda[i], 0)
			}
			if rng.IntN(3) == 0 {
				lambda[i] *= rng.Float64()
			}
		}
		s := &Solution{Y: y, Lambda: lambda}
		working := &face{}
		working.reset(poly)
		s.assess(poly, working, grad, linalg.NormInf(grad), Curvature{Mu: mu})
		lambda = s.Lambda // others may say the same and leave no row weak

		want := problem.Residuals{}
		rest := append([]float64(nil), grad...)
		for i, row := range b {
			h := r[i] - linalg.Dot(row, y)
			for j, v := range row {
				rest[j] -= v * lambda[i]
			}
			if equal[i] {
				want.Primal = math.Max(want.Primal, math.Abs(h))
				continue
			}
			want.Primal = math.Max(want.Primal, h)
			want.Dual = math.Max(want.Dual, -lambda[i])
			want.Complementarity = math.Max(want.Complementarity, math.Abs(lambda[i]*h))
		}
		want.Stationarity = linalg.NormInf(rest)
		size := units * (10 + linalg.NormInf(y))
		for _, e := range []struct {
			name      string
			got, want float64
			size      float64
		}{
			{"stationarity", s.Residuals.Stationarity, want.Stationarity, 10 + linalg.NormInf(grad)},
			{"primal", s.Residuals.Primal, want.Primal, size},
			{"dual", s.Residuals.Dual, want.Dual, (10 + linalg.NormInf(grad)) / units},
			{"complementarity", s.Residuals.Complementarity, want.Complementarity, size * (10 + linalg.NormInf(grad)) / units},
		} {
			if math.Abs(e.got-e.want) > 1e-13*e.size {
				t.Errorf("seed %d: %s %v, by definition %v", seed, e.name, e.got, e.want)
			}
		}
		answer, ok := byFaces(q, c, b, r, equal)
		if !ok || want.Primal > 0 {
			continue // no answer, or y is not feasible, which the bound supposes
		}
		compared++
		off := distance(y, answer)
		if off > s.ErrorBound*(1+1e-9)+1e-12 {
			t.Errorf("seed %d: off by %g, bound %g", seed, off, s.ErrorBound)
		}
		if want.Dual > 0 && !math.IsInf(s.ErrorBound, 1) {
			t.Errorf("seed %d: a multiplier of %g has the wrong sign, and the bound is %g", seed, -want.Dual, s.ErrorBound)
		}
		if t := linalg.Norm(rest) / mu; off > 1.01*t {
			slackened++ // the residual alone would not cover it
		}
	}
	if compared < 150 || slackened < 40 {
		t.Errorf("%d compared, of which %d need the slack: this test sees little", compared, slackened)
	}
}
