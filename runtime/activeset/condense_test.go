package activeset_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
)

// eliminating is a program of a kind with e free variables more, and as many equations, of which some depend on others.
func eliminating(r *rand.Rand, k kind, e int, dependent bool) *activeset.Program {
	inner := random(r, k)
	n, m := k.n+e, k.m+e
	a, q := make([]float64, m*n), make([]float64, n*n)
	at := r.Perm(n) // where the variables of inner, and then the free ones, stand
	for i := range k.m {
		for j, v := range inner.A.Entries(i) {
			a[i*n+at[j]] = v
		}
		for j := k.n; j < n; j++ {
			if r.IntN(3) == 0 {
				a[i*n+at[j]] = float64(r.IntN(5) - 2)
			}
		}
	}
	for i := k.m; i < m; i++ {
		for j := range n {
			if r.IntN(2) == 0 {
				a[i*n+at[j]] = r.NormFloat64()
			}
		}
	}
	switch {
	case dependent:
		copy(a[(m-1)*n:], a[k.m*n:(k.m+1)*n])
	case r.IntN(2) == 0: // nearly so
		by := math.Pow(10, -float64(2+r.IntN(5)))
		for j := range n {
			a[(m-1)*n+j] = a[k.m*n+j] + by*a[(m-1)*n+j]
		}
	}
	p := &activeset.Program{N: n, C: make([]float64, n), A: sparse.FromDense(m, n, a), Bounds: activeset.Bounds{
		RowLo: append(slices.Clone(inner.RowLo), make([]float64, e)...), RowHi: append(slices.Clone(inner.RowHi), make([]float64, e)...),
		Lo: slices.Repeat([]float64{-inf}, n), Hi: slices.Repeat([]float64{inf}, n)}}
	z := make([]float64, n)
	for j := range n {
		z[at[j]] = math.Round(3 * r.NormFloat64())
		if j < k.n {
			p.Lo[at[j]], p.Hi[at[j]], p.C[at[j]] = inner.Lo[j], inner.Hi[j], inner.C[j]
			z[at[j]] = min(max(z[at[j]], inner.Lo[j]), inner.Hi[j])
		} else if r.IntN(2) == 0 {
			p.C[at[j]] = r.NormFloat64()
		}
	}
	v := make([]float64, m)
	p.A.MulVec(v, z)
	for i := range m {
		if i >= k.m {
			p.RowLo[i], p.RowHi[i] = v[i], v[i]
		} else { // z is feasible
			p.RowLo[i], p.RowHi[i] = min(p.RowLo[i], v[i]), max(p.RowHi[i], v[i])
		}
	}
	if inner.Q != nil {
		for i := range k.n {
			for j, v := range inner.Q.Entries(i) {
				q[at[i]*n+at[j]] = v
			}
		}
		for range e { // squares of sums of two variables
			i, j, w := r.IntN(n), r.IntN(n), r.Float64()
			q[i*n+i] += w
			q[j*n+j] += w
			if i != j {
				q[i*n+j] += w
				q[j*n+i] += w
			}
		}
		p.Q = sparse.FromDense(n, n, q)
	}
	return p
}

// Solutions of condensed programs pass the check on the data of the program itself, have the values of programs that are solved as they stand, and a dual bound is none above it: with other bounds, objectives and sides of the
// equations, from the bases of earlier ones, and where a variable that is gone is held.
func TestCondensedPrograms(t *testing.T) {
	seen, condensed, open := map[activeset.Status]int{}, 0, 0
	ctx := context.Background()
	for seed := range members.Seeds(t, 60) {
		for part := range uint64(4) {
			r := rand.New(rand.NewPCG(seed, part))
			k := kinds(r)
			k.scaled, k.near, k.free = false, 0, false
			k.n, k.m = min(k.n, 12), min(k.m, 10)
			p := eliminating(r, k, k.n+k.m+1+r.IntN(5), r.IntN(8) == 0)
			c := activeset.Condense(p)
			if c == nil {
				continue
			}
			condensed++
			s := c.Solver()
			bounds, cost, q := cloneBounds(&p.Bounds), slices.Clone(p.C), p.Q
			var warm *activeset.Basis
			for range 8 {
				switch r.IntN(6) {
				case 0, 1:
					spoil(r, bounds)
				case 2:
					bounds = cloneBounds(&p.Bounds)
					i := r.IntN(len(bounds.RowLo))
					if by := r.NormFloat64(); bounds.RowLo[i] == bounds.RowHi[i] {
						bounds.RowLo[i], bounds.RowHi[i] = bounds.RowLo[i]+by, bounds.RowHi[i]+by
					}
				case 3:
					bounds = cloneBounds(&p.Bounds)
					if j := r.IntN(p.N); math.IsInf(bounds.Lo[j], -1) && math.IsInf(bounds.Hi[j], 1) {
						bounds.Lo[j], bounds.Hi[j] = -1, 1
					}
				case 4:
					for j := range cost {
						cost[j] += r.NormFloat64() / 4
					}
					s.SetObjective(q, cost)
				case 5:
					if p.Q != nil {
						q = sparse.Add(1+r.Float64(), p.Q, 0, p.Q)
						s.SetObjective(q, cost)
					}
				}
				of := *p
				of.Q, of.C = q, slices.Clone(cost)
				plain, err := activeset.New(&of)
				if err != nil {
					t.Fatal(err)
				}
				want := plain.Solve(ctx, bounds, nil, activeset.Options{})
				cutoff := inf
				if want.Status == activeset.Optimal && r.IntN(3) == 0 {
					cutoff = want.Value + math.Abs(want.Value)*(r.Float64()-0.8)
				}
				got := s.Solve(ctx, bounds, warm, activeset.Options{Cutoff: new(cutoff)})
				seen[got.Status]++
				warm = got.Basis
				scale := 1e-9 * (1 + math.Abs(want.Value)) // and what rows that are kept to 1e-9 of their terms leave open
				for _, end := range []*activeset.Solution{want, got} {
					for i, u := range end.Row {
						scale += 1e-9 * math.Abs(u) * (1 + p.A.RowTerms(i, end.Z))
					}
				}
				switch {
				case got.Status == activeset.CutOff:
					if !(got.Value > cutoff) || !(want.Value >= got.Value-scale) {
						t.Errorf("seed %d: cut off at %g by %g, and the least value is %g", seed, cutoff, got.Value, want.Value)
					}
					continue
				case got.Status != want.Status && (verify(&of, bounds, got) != nil || verify(&of, bounds, want) != nil):
					t.Errorf("seed %d: %v for %v", seed, got.Status, want.Status)
					continue
				case got.Status != want.Status: // both are right to the tolerance of the check
					open++
					continue
				case got.Status == activeset.Optimal && math.Abs(got.Value-want.Value) > scale:
					t.Errorf("seed %d: %.17g for %.17g", seed, got.Value, want.Value)
				}
				if err := verify(&of, bounds, got); err != nil {
					t.Errorf("seed %d, %+v: %v", seed, k, err)
				}
			}
		}
	}
	if open > condensed/8 || condensed < 30 || seen[activeset.Optimal] < 100 || seen[activeset.Infeasible] < 20 || seen[activeset.CutOff] < 4 {
		t.Errorf("%d are condensed, their ends are %v, and %d are others than of the program as it stands", condensed, seen, open)
	}
	t.Logf("%d condensed, %v", condensed, seen)
}
