package qp

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Projections onto sets of many variables agree with the dense method, from any
// warm start, and depend on the state of the projector alone.
func TestSeparableProjections(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 1))
	for trial := range 60 {
		n, m := tolerance.LeastSparse+rng.IntN(60), 1+rng.IntN(4)
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
			want := Solve(&Problem{H: Diagonal(diagonal), C: linear, A: set.E, Equal: equal, B: set.Rhs, Lo: set.Lo, Hi: set.Hi}, nil)
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
			if p.sparseX == nil || len(p.warm) == 0 {
				t.Fatal("left to the dense method")
			}
		}
	}
}

// Projections onto X and cuts agree with the dense method where there is a point, and
// with a proof where there is none, however many bounds hold.
func TestProjectionsWithinCuts(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 1))
	empty, found := 0, 0
	for trial := range 80 {
		n := 2*tolerance.LeastSparse + rng.IntN(30)
		set := &problem.Set{Lo: make([]float64, n), Hi: make([]float64, n), Rhs: []float64{1}, Kind: []problem.Kind{problem.Equal}}
		ones := make([]float64, n)
		for j := range ones {
			ones[j], set.Hi[j] = 1, math.Inf(1)
			if trial%2 == 1 {
				set.Hi[j] = 0.2 + 0.3*rng.Float64()
			}
		}
		set.E = sparse.FromDense(1, n, ones)
		p := NewProjector(set, rowsOf(n, 1, nil, nil, nil), n, 1)
		center := make([]float64, n) // most entries on their bounds
		for range 1 + rng.IntN(5) {
			center[rng.IntN(n)] += rng.Float64()
		}
		cuts := make([]Cut, 1+rng.IntN(7)) // full rows, and the KKT matrix is still sparse
		a, side, equal := append([]float64(nil), ones...), []float64{1}, []bool{true}
		for k := range cuts {
			normal := make([]float64, n)
			for j := range normal {
				normal[j] = rng.NormFloat64()
			}
			cuts[k] = Cut{Normal: normal, Side: linalg.Dot(normal, center) - rng.Float64()}
			if trial%4 == 0 && k == 0 { // farther than the simplex reaches
				cuts[k].Side = slices.Min(normal) - rng.Float64()
			}
			a, side, equal = append(a, normal...), append(side, cuts[k].Side), append(equal, false)
		}
		diagonal, linear, got := make([]float64, n), make([]float64, n), make([]float64, n)
		for j, v := range center {
			diagonal[j], linear[j] = 1, -v
		}
		q := &Problem{H: Diagonal(diagonal), C: linear, A: sparse.FromDense(1+len(cuts), n, a), Equal: equal, B: side, Lo: set.Lo, Hi: set.Hi}
		want := Solve(q, nil)
		s := (*structured)(nil).of(q.A, q.Equal).decide(q, diagonal)
		if s == nil || s.Status != want.Status {
			t.Fatalf("trial %d: left to the dense method, which says %v", trial, want.Status)
		}
		if s.Status == Solved { // the multipliers of bounds balance the other forces
			rest := slices.Clone(q.C)
			q.A.AddMulVecT(rest, 1, s.Lambda)
			for j, v := range s.Z {
				if rest[j] += diagonal[j]*v + s.Bound[j]; math.Abs(rest[j]) > 1e-9*(1+math.Abs(s.Bound[j])) || s.Bound[j] < 0 && v > set.Lo[j]+1e-9 || s.Bound[j] > 0 && v < set.Hi[j]-1e-9 {
					t.Fatalf("trial %d: entry %d is %v with the multiplier %v, and %v is left", trial, j, v, s.Bound[j], rest[j])
				}
			}
		}
		err := p.ProjectWithin(got, center, cuts)
		if want.Status == Infeasible {
			empty++
			var none *EmptySetError
			if !errors.As(err, &none) {
				t.Fatalf("trial %d: %v where there is no point", trial, err)
			}
			continue
		}
		if found++; err != nil || want.Status != Solved {
			t.Fatalf("trial %d: %v, and %v", trial, err, want.Status)
		}
		for j, v := range want.Z {
			if math.Abs(got[j]-v) > 1e-11*(1+math.Abs(v)) {
				t.Fatalf("trial %d: entry %d is %v, want %v", trial, j, got[j], v)
			}
		}
	}
	if empty < 10 || found < 10 {
		t.Fatalf("%d sets without a point, %d with one", empty, found)
	}
}

// Where entries of a projection onto a simplex are at their bound without a force, and were off it before, rounding takes them beyond it; that does not leave the program to the dense method. The projection is known: each
// point is one of the simplex moved along its normal, and entries that are 0 there further down.
func TestProjectionsOntoCorners(t *testing.T) {
	for seed := range members.Seeds(t, 40) {
		rng := rand.New(rand.NewPCG(seed, 22))
		n := 200 + rng.IntN(200)
		a, zero, diagonal := sparse.FromDense(1, n, slices.Repeat([]float64{1}, n)), make([]float64, n), slices.Repeat([]float64{1}, n)
		hi := slices.Repeat([]float64{math.Inf(1)}, n)
		equal := []bool{rng.IntN(2) == 0}
		var k *structured
		var warm []int
		for step := range 8 {
			z, c, budget, along := make([]float64, n), make([]float64, n), 0.0, 10*rng.Float64()
			for j := range z {
				if rng.IntN(3) == 0 {
					z[j] = rng.ExpFloat64()
				}
				budget += z[j]
			}
			for j, v := range z {
				c[j] = -(v + along)
				if v == 0 && rng.IntN(2) == 0 {
					c[j] += rng.Float64()
				}
			}
			k = k.of(a, equal)
			s := k.decide(&Problem{H: Diagonal(diagonal), C: c, A: a, Equal: equal, B: []float64{budget}, Lo: zero, Hi: hi, Warm: warm}, diagonal)
			if s == nil {
				t.Errorf("seed %d, step %d: not decided", seed, step)
				continue
			}
			warm = s.Active
			if off := linalg.Distance(s.Z, z); off > 1e-12*linalg.Norm(c) {
				t.Errorf("seed %d, step %d: off by %v", seed, step, off)
			}
		}
	}
}
