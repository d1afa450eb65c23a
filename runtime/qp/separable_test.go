package qp

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// Projections onto sets of many variables agree with the dense method, from any
// warm start, and depend on the state of the projector alone.
func TestSeparableProjections(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 1))
	for trial := range 60 {
		n, m := leastSeparable+rng.IntN(60), 1+rng.IntN(4)
		set := &problem.Set{Lo: make([]float64, n), Hi: make([]float64, n), Rhs: make([]float64, m), Kind: make([]problem.Kind, m)}
		inside := make([]float64, n)
		for j := range inside {
			inside[j], set.Hi[j] = rng.Float64(), math.Inf(1)
			if rng.IntN(2) == 0 {
				set.Hi[j] = inside[j] + rng.Float64()
			}
		}
		e := make([]float64, m*n)
		for i := range m {
			for j := range n {
				if i == 0 || rng.IntN(4) == 0 {
					e[i*n+j] = 1 // the first row, with equality, is a simplex
				}
			}
			set.Rhs[i] = linalg.Dot(e[i*n:(i+1)*n], inside)
			if i == 0 && trial%2 == 0 {
				set.Kind[i] = problem.Equal
			} else if rng.IntN(3) > 0 {
				set.Rhs[i] += rng.Float64()
			}
		}
		set.E = sparse.FromDense(m, n, e)
		p := NewProjector(set, rowsOf(n, 1, nil, nil, nil), n, 1)
		diagonal, linear, got := make([]float64, n), make([]float64, n), make([]float64, n)
		for step := range 4 {
			x := make([]float64, n)
			for j := range x {
				diagonal[j] = 1
				x[j] = inside[j] + 2*rng.NormFloat64()
				linear[j] = -x[j]
			}
			state := p.State()
			if err := p.Project(got, x); err != nil {
				t.Fatal(err)
			}
			equal := make([]bool, m)
			for i, k := range set.Kind {
				equal[i] = k == problem.Equal
			}
			want := Solve(&Problem{H: diagonalHessian(diagonal), C: linear, A: set.E, Equal: equal, B: set.Rhs, Lo: set.Lo, Hi: set.Hi}, nil)
			for j, v := range want.Z {
				if math.Abs(got[j]-v) > 1e-12*(1+math.Abs(v)) {
					t.Fatalf("trial %d, step %d: entry %d is %v, want %v", trial, step, j, got[j], v)
				}
			}
			again := NewProjector(set, rowsOf(n, 1, nil, nil, nil), n, 1)
			again.Restore(state)
			other := make([]float64, n)
			if err := again.Project(other, x); err != nil || !slices.Equal(other, got) {
				t.Fatalf("trial %d, step %d: a restored projector differs (%v)", trial, step, err)
			}
			if p.separable == nil || len(p.warm) == 0 {
				t.Fatal("left to the dense method")
			}
		}
	}
}
