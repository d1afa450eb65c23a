package kkt

import (
	"math"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/problem"
)

// The variables that take one value on a polyhedron are those of which the greatest value is the least, each by two programs of its own.
func TestHeldVariables(t *testing.T) {
	rng := members.Rand(t, 71)
	one, several, endless := 0, 0, 0
	for k := range members.Of(200, 2000) {
		n := 3 + rng.IntN(8)
		p := &activeset.Program{N: n, A: sparse.Empty(n), C: make([]float64, n)}
		inside := make([]float64, n)
		for j := range n {
			lo, hi := 0.0, math.Inf(1)
			switch rng.IntN(4) {
			case 0:
				hi = 2
			case 1:
				lo = math.Inf(-1)
			}
			if rng.IntN(3) > 0 { // else it is at a bound of 0, if there is one
				inside[j] = rng.Float64()
			}
			p.Lo, p.Hi = append(p.Lo, lo), append(p.Hi, hi)
		}
		for range rng.IntN(n) {
			value := 0.0
			for j := range n {
				if rng.IntN(2) == 0 {
					v := float64(rng.IntN(5) - 1)
					if v != 0 {
						p.A.Append(j, v)
						value += v * inside[j]
					}
				}
			}
			p.A.EndRow()
			hi := value
			if rng.IntN(3) == 0 {
				hi += rng.Float64()
			}
			p.RowLo, p.RowHi = append(p.RowLo, value), append(p.RowHi, hi)
		}
		for range rng.IntN(2) { // sums of entries that are 0
			for j, v := range inside {
				if v == 0 {
					p.A.Append(j, 1)
				}
			}
			p.A.EndRow()
			p.RowLo, p.RowHi = append(p.RowLo, math.Inf(-1)), append(p.RowHi, 0)
		}
		ones := make([]float64, n*n)
		for j := range ones {
			ones[j] = 1
		}
		scale := make([]float64, n)
		for j := range scale {
			scale[j] = 1
		}
		s := &System{P: &problem.Problem{}, N: n, Relaxation: p, ColScale: scale, Objective: &Objective{Quadratic: sparse.Quadratic{Hess: sparse.FromDense(n, n, ones)}}}
		held := make([]bool, n)
		if err := s.hold(t.Context(), held); err != nil {
			t.Fatal(err)
		}
		solver, err := activeset.New(p)
		if err != nil {
			t.Fatal(err)
		}
		for j := range n {
			ends := [2]float64{}
			for e, sign := range [2]float64{1, -1} {
				c := make([]float64, n)
				c[j] = sign
				solver.SetObjective(nil, c)
				if sol := solver.Solve(t.Context(), nil, nil, activeset.Options{}); sol.Status == activeset.Optimal {
					ends[e] = sol.Z[j]
				} else {
					ends[e] = math.Inf(-int(sign))
				}
			}
			switch width := ends[1] - ends[0]; {
			case math.IsInf(width, 1):
				endless++
			case width > 1e-6:
				several++
			default:
				one++
			}
			if width := ends[1] - ends[0]; held[j] != (width < 1e-7) {
				t.Errorf("polyhedron %d: variable %d is in [%g, %g], held %v", k, j, ends[0], ends[1], held[j])
			}
		}
	}
	if least := members.Of(200, 2000); one < least/2 || several < least || endless < least {
		t.Errorf("%d of one value, %d of several, %d without end", one, several, endless)
	}
}
