package activeset_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
)

// follower is the relaxation of a random follower's KKT system: nx variables of
// the leader in a box, ny of the follower, m rows; the leader's objective is
// linear or convex quadratic.
func follower(r *rand.Rand, nx, ny, m int, quadratic bool) (*activeset.Program, [][2]int) {
	matrix := func(rows, cols int, density float64) *sparse.CSR {
		var e []sparse.Entry
		for i := range rows {
			for j := range cols {
				if r.Float64() < density {
					e = append(e, sparse.Entry{Row: i, Col: j, Val: float64(r.IntN(9) - 4)})
				}
			}
		}
		return sparse.FromEntries(rows, cols, e)
	}
	vector := func(n int, f func() float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = f()
		}
		return v
	}
	b := &bilevel{A: matrix(m, nx, 0.3), B: matrix(m, ny, 0.5), D: matrix(0, nx, 0), E: matrix(0, ny, 0), P: matrix(nx, ny, 0), Nonneg: !quadratic}
	b.Q, b.R, b.S = matrix(ny, ny, 0), matrix(nx, nx, 0), matrix(ny, ny, 0)
	small := func() float64 { return float64(r.IntN(11) - 5) }
	b.C, b.D0, b.Q0 = vector(nx, small), vector(ny, small), vector(ny, small)
	b.Lo, b.Hi = make([]float64, nx), vector(nx, func() float64 { return 10 })
	b.B0 = vector(m, func() float64 { return 5 + 20*r.Float64() })
	for i := range ny { // a row that bounds the follower
		b.B.Val = append([]float64(nil), b.B.Val...)
		for t := b.B.Ptr[0]; t < b.B.Ptr[1]; t++ {
			b.B.Val[t] = float64(1 + i%3)
		}
	}
	if quadratic {
		gram := func(n int) *sparse.CSR {
			f := matrix(n, n, 0.4)
			q := make([]float64, n*n)
			for l := range n {
				cols, vals := f.Row(l)
				for s, i := range cols {
					for t, j := range cols {
						q[i*n+j] += vals[s] * vals[t] / float64(n)
					}
				}
			}
			for i := range n {
				q[i*n+i]++
			}
			return sparse.FromDense(n, n, q)
		}
		b.Q, b.P, b.S = gram(ny), matrix(nx, ny, 0.4), gram(ny)
		b.R = gram(nx)
	}
	return b.relaxation()
}

// Nodes of a tree, each warm from its parent, against the same from nothing.
func BenchmarkNodes(b *testing.B) {
	for _, c := range []struct {
		nx, ny, m int
		quadratic bool
	}{{20, 20, 20, false}, {20, 20, 20, true}, {60, 60, 60, false}, {60, 60, 60, true}, {100, 120, 120, false}, {100, 120, 120, true}} {
		r := rand.New(rand.NewPCG(7, 7))
		p, pairs := follower(r, c.nx, c.ny, c.m, c.quadratic)
		s, err := activeset.New(p)
		if err != nil {
			b.Fatal(err)
		}
		for _, cold := range []bool{false, true} {
			name := fmt.Sprintf("N=%d/M=%d/quadratic=%v/cold=%v", p.N, len(p.RowLo), c.quadratic, cold)
			b.Run(name, func(b *testing.B) {
				pivots := 0
				dive := rand.New(rand.NewPCG(1, 1))
				at := cloneBounds(&p.Bounds)
				root := s.Solve(context.Background(), at, nil, activeset.Options{})
				if root.Status == activeset.Failed {
					b.Fatal(root.Status)
				}
				warm, fixed := root.Basis, 0
				for b.Loop() {
					q := pairs[dive.IntN(len(pairs))][dive.IntN(2)]
					at.Hi[q] = 0
					fixed++
					start := warm
					if cold {
						s.Forget()
						start = nil
					}
					got := s.Solve(context.Background(), at, start, activeset.Options{})
					pivots += got.Iterations
					if warm = got.Basis; got.Status != activeset.Optimal || fixed > len(pairs)/2 {
						if got.Status == activeset.Failed {
							b.Fatal("failed")
						}
						at, fixed, warm = cloneBounds(&p.Bounds), 0, root.Basis
					}
				}
				b.ReportMetric(float64(pivots)/float64(b.N), "pivots/op")
			})
		}
	}
}
