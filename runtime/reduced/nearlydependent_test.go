package reduced_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
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

// At x = 0 as many rows hold as y has entries, two of which are nearly parallel, one of these without a force: its multiplier, which rounding makes as much as the rows are near to each other squared, counts as 0.
func TestForcesOfNearlyParallelRows(t *testing.T) {
	rng := members.Rand(t, 43)
	normal := func(n int) []float64 { return each.Below(n, func(int) float64 { return rng.NormFloat64() }) }
	for k := range members.Of(200, 2000) {
		ny := 2 + rng.IntN(4)
		f := &kkttest.Quadratic{Nx: 1, Ny: ny, M: make([]float64, (1+ny)*(1+ny)), C: normal(1 + ny)}
		g := &kkttest.Quadratic{Nx: 1, Ny: ny, M: make([]float64, (1+ny)*(1+ny)), C: make([]float64, 1+ny)}
		rows := &problem.Rows{A: sparse.Empty(1), B: sparse.Empty(ny)}
		at := normal(ny)
		for i := range ny {
			row, force := normal(ny), 0.5+rng.Float64()
			floats.Scale(0.1, row) // the others are far from dependent
			row[i]++
			if i == 1 {
				floats.Scale(math.Pow(10, -1-3*rng.Float64()), row)
				rows.B.AddRow(row, 0, 1)
				force = 0
			}
			g.M[(1+i)*(1+ny)+1+i], g.C[1+i] = 1, g.C[1+i]-at[i]
			floats.AddScaled(g.C[1:], force, row)
			kkttest.AddRow(rows, problem.AtMost, normal(1), each.Below(ny, func(j int) int { return j }), row, -floats.Dot(row, at))
		}
		s, err := kkt.New(&problem.Problem{Name: "parallel", Dx: 1, Dy: ny, F: f, G: g, Rows: rows, X: &problem.Set{Lo: []float64{-1}, Hi: []float64{1}, E: sparse.Empty(1)},
			Facts: problem.Facts{StrongConvexity: 1, JointlyQuadratic: true, DegreeF: 1}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := reduced.Solve(t.Context(), s, []float64{0}, reduced.Options{Still: true})
		if err != nil {
			t.Errorf("case %d: %v", k, err)
		} else if weak := each.Of(r.Point.Biactive, func(p int) int { return s.Pairs[p].Row }); !slices.Contains(weak, 1) {
			t.Errorf("case %d: rows %v are biactive, row 1 is not", k, weak)
		}
	}
}
