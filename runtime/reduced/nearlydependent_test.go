package reduced_test

import (
	"math"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/reduced"
	"bilevelc/runtime/tolerance"
)

// Equality rows that depend on others to the square root of rounding are left out where they hold all the same; else there is no answer: what they ask of y is another one.
func TestNearlyDependentEquations(t *testing.T) {
	rng := members.Rand(t, 61)
	refused, solved := 0, 0
	for c := range 120 {
		p := random(rng, kind{})
		row := func(by float64, a, b []float64, rhs float64) {
			for j := range a {
				p.Rows.A.Append(j, by*a[j])
			}
			p.Rows.A.EndRow()
			for j := range b {
				p.Rows.B.Append(j, by*b[j])
			}
			p.Rows.B.EndRow()
			p.Rows.Kind, p.Rows.Rhs = append(p.Rows.Kind, problem.Equal), append(p.Rows.Rhs, by*rhs)
		}
		a, b, rhs := make([]float64, p.Dx), make([]float64, p.Dy), 0.1
		for j := range a {
			a[j] = rng.NormFloat64()
		}
		for j := range b {
			b[j] = rng.NormFloat64()
		}
		row(1, a, b, rhs)
		near := math.Pow(10, -float64(6+c%4))
		for j := range a {
			a[j] += near * rng.NormFloat64()
		}
		for j := range b {
			b[j] += near * rng.NormFloat64()
		}
		row(2, a, b, rhs+near*rng.NormFloat64())
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		r, err := reduced.Solve(t.Context(), s, make([]float64, p.Dx), reduced.Options{Steps: 2000})
		if err != nil {
			refused++
			continue
		}
		solved++
		x, y := s.X(r.Point.Z), s.Y(r.Point.Z)
		for i := p.Rows.Len() - 2; i < p.Rows.Len(); i++ {
			off := p.Rows.Rhs[i] + p.Rows.B.RowDot(i, y) - p.Rows.A.RowDot(i, x)
			terms := p.Rows.B.AddTerms(p.Rows.A.AddTerms(math.Abs(p.Rows.Rhs[i]), i, x), i, y)
			if math.Abs(off) > 1.01*tolerance.Sign*terms {
				t.Errorf("case %d, %g: row %d is off by %g of %g", c, near, i, off, terms)
			}
		}
	}
	if refused < 5 || solved < 20 {
		t.Errorf("%d refused, %d solved", refused, solved)
	}
}
