package certify

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// What is claimed of the follower's answer is judged by the terms at the point, however wide X is: answers and multipliers that are off by a thousandth of them are refused in a box of 1e9 as they
// are in one of 1, and honest ones are not. The answers are planted: g is made for them.
func TestAnswersInWideBoxes(t *testing.T) {
	for seed := range members.Seeds(t, 60) {
		rng := rand.New(rand.NewPCG(seed, 33))
		const dx, dy = 2, 3
		wide := math.Pow(10, 9*rng.Float64())
		g, f := newPolynomial(dx+dy), newPolynomial(dx+dy)
		x, y := make([]float64, dx), make([]float64, dy)
		for j := range x {
			x[j] = math.Max(-wide, math.Min(wide, rng.NormFloat64()))
		}
		lambda, force := make([]float64, dy), make([]float64, dy)
		var active []int
		for j := range y {
			// y >= 0, which holds with equality for some
			if y[j] = 0.5 + rng.Float64(); rng.IntN(3) == 0 {
				y[j], lambda[j] = 0, 0.5+rng.Float64()
				active = append(active, j)
			}
			f.l[dx+j] = 1
		}
		for j := range y {
			h := 1 + rng.Float64()
			g.set(dx+j, dx+j, h)
			force[j] = h*y[j] - lambda[j]
			for k := range x {
				p := rng.NormFloat64()
				g.set(k, dx+j, p)
				force[j] += p * x[k]
			}
			g.l[dx+j] = -force[j]
		}
		p := &problem.Problem{Dx: dx, Dy: dy, F: formula(f.ValueGrad), G: formula(g.ValueGrad), Start: make([]float64, dx),
			Rows:  &problem.Rows{Kind: make([]problem.Kind, dy), A: sparse.FromEntries(dy, dx, nil), B: sparse.FromDense(dy, dy, []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}), Rhs: make([]float64, dy)},
			X:     &problem.Set{Lo: []float64{-wide, -wide}, Hi: []float64{wide, wide}, E: sparse.FromEntries(0, dx, nil)},
			Facts: problem.Facts{QuadraticInY: true, FixedHessian: true, JointlyQuadratic: true, DegreeF: 1}}
		verify := func(y, lambda []float64) *Report {
			doc := &Document{X: x, Y: y, Lambda: lambda, Upper: p.F.Value(x, y), Lower: p.G.Value(x, y), Solved: true, GradientError: math.NaN(),
				Certificate: &Certificate{Lower: lowerOf(p, x, y, lambda, active)}}
			return Verify(doc, p)
		}
		if report := verify(y, lambda); !report.OK() {
			t.Errorf("seed %d, X of %.3g: %v", seed, wide, report.Failures())
		}
		j := rng.IntN(dy)
		moved, pushed := append([]float64(nil), y...), append([]float64(nil), lambda...)
		if y[j] > 0 {
			moved[j] *= 1.001
			pushed[j] = 1e-3 // beside a slack
		} else {
			moved[j] = 1e-3
			pushed[j] *= 1.001
		}
		balanced, against := append([]float64(nil), y...), append([]float64(nil), lambda...)
		balanced[j] += 1e-3
		against[j] += 1e-3 * g.m[dx+j][dx+j]
		for _, c := range []struct {
			y, lambda []float64
			claims    []string
		}{{moved, lambda, []string{kktClaims[0], AnswerClaim}}, {y, pushed, kktClaims[:1]}, {balanced, against, []string{kktClaims[3], AnswerClaim}}} {
			for _, claim := range c.claims {
				if report := verify(c.y, c.lambda); !slices.ContainsFunc(report.Failures(), func(f Check) bool { return strings.HasPrefix(f.Claim, claim) }) {
					t.Errorf("seed %d, X of %.3g: y of %v with multipliers of %v, and %v with %v are true: %q holds", seed, wide, c.y, c.lambda, y, lambda, claim)
				}
			}
		}
	}
}
