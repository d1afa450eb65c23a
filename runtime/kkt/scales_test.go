package kkt_test

import (
	"math"
	"slices"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
)

// inUnits is a problem with x and y in other units, its rows and g in others, too: powers of two.
func inUnits(p *problem.Problem, x, y, rows []float64, g float64) *problem.Problem {
	q, n := *p, p.Dx+p.Dy
	unit := slices.Concat(x, y)
	scaled := func(of problem.Function, by float64) *kkttest.Quadratic {
		f := of.(*kkttest.Quadratic)
		out := &kkttest.Quadratic{Nx: f.Nx, Ny: f.Ny, M: slices.Clone(f.M), C: slices.Clone(f.C), K: f.K * by}
		for i := range n {
			out.C[i] *= by / unit[i]
			for j := range n {
				out.M[i*n+j] *= by / unit[i] / unit[j]
			}
		}
		return out
	}
	q.F, q.G = scaled(p.F, 1), scaled(p.G, g)
	matrix := func(m *sparse.CSR, of []float64) *sparse.CSR {
		out := m.Clone()
		for i := range out.Rows {
			cols, vals := out.Row(i)
			for t, j := range cols {
				vals[t] *= rows[i] / of[j]
			}
		}
		return out
	}
	q.Rows = &problem.Rows{Kind: p.Rows.Kind, A: matrix(p.Rows.A, x), B: matrix(p.Rows.B, y), Rhs: slices.Clone(p.Rows.Rhs)}
	for i := range q.Rows.Rhs {
		q.Rows.Rhs[i] *= rows[i]
	}
	set := *p.X
	set.Lo, set.Hi = slices.Clone(set.Lo), slices.Clone(set.Hi)
	for j, u := range x {
		set.Lo[j] *= u
		set.Hi[j] *= u
	}
	q.X = &set
	return &q
}

// The units of a relaxation's columns are those of the model, whatever these are.
func TestScalesFollowUnits(t *testing.T) {
	rng := members.Rand(t, 4)
	for k := range 200 {
		p := kkttest.Random(rng, 1+rng.IntN(6), 1+rng.IntN(8), rng.IntN(5), k%2 == 0, k%3 == 0)
		for j, c := range p.G.(*kkttest.Quadratic).C { // an equation of multipliers alone, with no force on them, has them in any unit
			if c == 0 {
				p.G.(*kkttest.Quadratic).C[j] = 1
			}
		}
		powers := func(n int) []float64 {
			out, all := make([]float64, n), rng.IntN(61)-30
			for j := range out {
				out[j] = math.Ldexp(1, all+rng.IntN(3)-1)
			}
			return out
		}
		x, y, rows, g := powers(p.Dx), powers(p.Dy), powers(p.Rows.Len()), powers(1)[0]
		one, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		two, err := kkt.New(inUnits(p, x, y, rows, g))
		if err != nil {
			t.Fatal(err)
		}
		unit := slices.Concat(x, y)
		for i := range rows { // multipliers are g over rows
			unit = append(unit, g/rows[i])
		}
		read := make([]bool, one.N) // a column that no row reads has no unit
		for _, j := range one.Relaxation.A.Col {
			read[j] = true
		}
		for j, u := range unit {
			if read[j] && two.ColScale[j] != one.ColScale[j]*u {
				t.Errorf("case %d: column %d has the unit %v, and %v where its own is %v", k, j, one.ColScale[j], two.ColScale[j], u)
			}
		}
	}
}
