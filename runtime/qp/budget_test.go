package qp

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/extended"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// TestBudget projects onto random budgets, sums of maxima of lines in one entry each, and
// asks for the same point as the quadratic program over (x, u), and for one that is in X.
func TestBudget(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 33))
	held := 0
	for trial := range 200 {
		n := 1 + rng.IntN(12)
		e := &extended.Rows{E: sparse.Empty(n)}
		end := func(rhs float64, of int) {
			e.E.EndRow()
			e.Rhs, e.Of, e.Name = append(e.Rhs, rhs), append(e.Of, of), append(e.Name, "")
		}
		type part struct{ entry int }
		var parts []part
		for range 1 + rng.IntN(2*n) {
			j := rng.IntN(n)
			switch kind := rng.IntN(3); kind {
			case 0: // |x_j - c|, a scale
				c, scale := math.Round(2*rng.NormFloat64()), 0.5+rng.Float64()
				for _, sign := range []float64{scale, -scale} {
					e.E.Append(j, sign)
					e.E.Append(n+e.Dim, -1)
					end(sign*c, e.Dim)
				}
			default:
				for range 1 + rng.IntN(4) {
					if slope := rng.NormFloat64(); rng.IntN(4) > 0 {
						e.E.Append(j, slope)
					}
					e.E.Append(n+e.Dim, -1)
					end(rng.NormFloat64(), e.Dim)
				}
			}
			parts = append(parts, part{e.Dim})
			e.Dim++
		}
		if rng.IntN(3) == 0 {
			e.E.Append(rng.IntN(n), rng.NormFloat64())
		}
		for _, p := range parts {
			e.E.Append(n+p.entry, 0.2+rng.Float64())
		}
		end(0, -1)
		e.E.Cols = n + e.Dim
		set := &problem.Set{Lo: make([]float64, n), Hi: make([]float64, n), Extended: e}
		inside := make([]float64, n)
		for j := range set.Lo {
			set.Lo[j], set.Hi[j] = math.Inf(-1), math.Inf(1)
			if rng.IntN(3) == 0 {
				set.Lo[j] = -1
			}
			if rng.IntN(3) == 0 {
				set.Hi[j] = 1
			}
			inside[j] = 2*rng.Float64() - 1
		}
		last := e.Len() - 1
		e.Each(inside, func(int) float64 { return 1 }, func(_ int, excess, _ float64) { e.Rhs[last] = excess + rng.Float64() })
		if err := e.Validate(n); err != nil {
			t.Fatal(err)
		}
		p := NewProjector(set, noRows(n), n, 0)
		if p.spend == nil {
			t.Fatalf("trial %d: it is no budget", trial)
		}
		x := make([]float64, n)
		for j := range x {
			x[j] = 3 * rng.NormFloat64()
		}
		got, want := make([]float64, n), make([]float64, n)
		if err := p.Project(got, x); err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		p.spend = nil
		if err := p.Project(want, x); err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		for j := range want {
			if math.Abs(got[j]-want[j]) > 1e-9*(1+math.Abs(x[j])) {
				t.Errorf("trial %d: entry %d is %v, not %v", trial, j, got[j], want[j])
			}
		}
		e.Each(got, func(int) float64 { return 1 }, func(_ int, excess, terms float64) {
			if excess > 1e-14*terms {
				t.Errorf("trial %d: off by %v", trial, excess)
			}
		})
		e.Each(x, func(int) float64 { return 1 }, func(_ int, excess, _ float64) {
			if excess > 0 {
				held++
			}
		})
	}
	if held < 100 {
		t.Errorf("%d budgets that hold say too little", held)
	}
}
