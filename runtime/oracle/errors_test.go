package oracle

import (
	"math"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// y <= x and y >= 2: no y at x < 2. The combination of both rows shows it at one x; it
// shows it everywhere only where the upper level's box ends before 2.
func TestRefuted(t *testing.T) {
	for _, c := range []struct {
		hi   float64
		kind problem.Kind
		u    []float64
		want bool
	}{
		{1, problem.AtMost, []float64{1, 1}, true},
		{2, problem.AtMost, []float64{1, 1}, false},
		{3, problem.AtMost, []float64{1, 1}, false},
		{1, problem.AtMost, []float64{-1, -1}, false},
		{1, problem.AtMost, nil, false},
	} {
		p := &problem.Problem{Dx: 1, Dy: 1,
			Rows: &problem.Rows{Kind: []problem.Kind{c.kind, c.kind}, A: sparse.FromDense(2, 1, []float64{-1, 0}),
				B: sparse.FromDense(2, 1, []float64{-1, 1}), Rhs: []float64{0, -2}},
			X: &problem.Set{Lo: []float64{-5}, Hi: []float64{c.hi}}}
		if got := refuted(p, c.u); got != c.want {
			t.Errorf("X = [-5, %g], u = %v: %v", c.hi, c.u, got)
		}
	}
}

// An x below 2 misses the plane x = 2 by the rounding of its terms, 2 and x, or by more, whatever units the rows are in and however wide X is.
func TestRoundingOfContradictions(t *testing.T) {
	for _, width := range []float64{1, 1e3, 1e13} {
		for _, unit := range []float64{1e-6, 1, 1e6} {
			p := &problem.Problem{Dx: 1, Dy: 1,
				Rows: &problem.Rows{Kind: []problem.Kind{problem.AtMost, problem.AtMost}, A: sparse.FromDense(2, 1, []float64{-unit, 0}),
					B: sparse.FromDense(2, 1, []float64{-unit, 1}), Rhs: []float64{0, -2}},
				X: &problem.Set{Lo: []float64{2 - width}, Hi: []float64{2 + width}}}
			for missed, want := range map[float64]bool{0x1p-51: true, 1e-13: false, 1e-6: false} {
				e := &InfeasibleError{X: []float64{2 - missed}, Farkas: []float64{1, unit}}
				if got := missed <= e.Rounding(p); got != want {
					t.Errorf("X 2 +- %g, unit %g: %g is rounding: %v", width, unit, missed, got)
				}
			}
		}
	}
}

// The rows c_k'x + y >= 1, weights that make y vanish and X without ends: they contradict each other everywhere where their combination in x is 0 in decimals, and rounding alone is left of it; where a thousand
// roundings of its terms are, there is an x that keeps it.
func TestWhatIsRoundingInACombination(t *testing.T) {
	rng := members.Rand(t, 61)
	for k := range members.Of(200, 2000) {
		n := 2 + rng.IntN(4)
		inf := math.Inf(1)
		u, a, b := make([]float64, n+1), make([]float64, n+1), make([]float64, n+1)
		sum, terms, ofY, rhs := 0.0, 0.0, 0.0, make([]float64, n+1)
		for i := range n {
			u[i], a[i], b[i], rhs[i] = 0.1+rng.Float64(), float64(rng.IntN(199)-99)/10, rng.NormFloat64(), -1
			sum, terms, ofY = sum+u[i]*a[i], terms+math.Abs(u[i]*a[i]), ofY+u[i]*b[i]
		}
		u[n], a[n], b[n], rhs[n] = 0.1, -sum/0.1, -ofY/0.1, -1
		terms += math.Abs(sum)
		if terms == 0 {
			continue
		}
		p := &problem.Problem{Dx: 1, Dy: 1, X: &problem.Set{Lo: []float64{-inf}, Hi: []float64{inf}},
			Rows: &problem.Rows{Kind: make([]problem.Kind, n+1), B: sparse.FromDense(n+1, 1, b), Rhs: rhs}}
		for _, left := range []float64{0, 100 * tolerance.SumRounding, -1000 * tolerance.SumRounding, 1e-3} {
			a[n] = (left*terms - sum) / 0.1
			p.Rows.A = sparse.FromDense(n+1, 1, a)
			if got := refuted(p, u); got != (left == 0) {
				t.Errorf("case %d: %g of the terms are left: refuted is %v", k, left, got)
			}
		}
	}
}
