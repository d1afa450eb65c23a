package reduced_test

import (
	"errors"
	"math"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/reduced"
)

// Tolls on a grid whose roads cost the more of a kind of goods the more it carries: at most nodes no goods pass, so that the terms of most balances are 0. Every row holds by its own terms, and x is in X by the last digit.
func TestNetworks(t *testing.T) {
	rng := members.Rand(t, 61)
	solved, all := 0, members.Of(10, 100)
	for k := range all {
		const side = 3
		var tail, head []int
		link := func(a, b int) { tail, head = append(tail, a, b), append(head, b, a) }
		for i := range side {
			for j := range side {
				if j+1 < side {
					link(i*side+j, i*side+j+1)
				}
				if i+1 < side {
					link(i*side+j, (i+1)*side+j)
				}
			}
		}
		goods, arcs := 2+rng.IntN(3), len(tail)
		few, joined, pattern := k%2 == 1, k%4 >= 2, k%8 < 4 // few roads have tolls, and most flows do not move with any; all goods on a road slow each other down; sparse factors
		nx, ny := arcs, arcs*goods
		g, f := kkttest.Quadratic{Nx: nx, Ny: ny}, kkttest.Quadratic{Nx: nx, Ny: ny}
		g.M, g.C, f.M, f.C = make([]float64, (nx+ny)*(nx+ny)), make([]float64, nx+ny), make([]float64, (nx+ny)*(nx+ny)), make([]float64, nx+ny)
		rows := &problem.Rows{A: sparse.Empty(nx), B: sparse.Empty(ny)}
		for a := range arcs {
			cost, slope := float64(2+rng.IntN(8)), 0.1+rng.Float64()
			for c := range goods {
				v := nx + a*goods + c
				g.C[v], g.M[v*(nx+ny)+v] = cost, slope
				if joined {
					g.M[v*(nx+ny)+v] = 0.1
					for other := range goods {
						g.M[v*(nx+ny)+nx+a*goods+other] += slope
					}
				}
				if !few || a%4 == 0 {
					g.M[a*(nx+ny)+v], g.M[v*(nx+ny)+a] = 1, 1
					f.M[a*(nx+ny)+v], f.M[v*(nx+ny)+a] = -1, -1 // the leader's revenue
				}
				kkttest.AddRow(rows, problem.AtMost, nil, []int{a*goods + c}, []float64{1}, 0)
			}
		}
		for c := range goods {
			from, amount := rng.IntN(side*side), float64(1+rng.IntN(5))
			to := (from + 1 + rng.IntN(side*side-1)) % (side * side)
			for n := range side*side - 1 {
				var columns []int
				var ones []float64
				for a := range arcs {
					switch n {
					case tail[a]:
						columns, ones = append(columns, a*goods+c), append(ones, 1)
					case head[a]:
						columns, ones = append(columns, a*goods+c), append(ones, -1)
					}
				}
				trips := 0.0
				switch n {
				case from:
					trips = amount
				case to:
					trips = -amount
				}
				kkttest.AddRow(rows, problem.Equal, nil, columns, ones, -trips)
			}
		}
		p := &problem.Problem{Dx: nx, Dy: ny, F: &f, G: &g, Rows: rows, X: &problem.Set{Lo: make([]float64, nx), Hi: make([]float64, nx), E: sparse.Empty(nx)},
			Facts: problem.Facts{StrongConvexity: 0.1, JointlyQuadratic: true, DegreeF: 2}}
		if joined && pattern {
			var entries []sparse.Entry
			for v := range ny {
				for c := range goods {
					entries = append(entries, sparse.Entry{Row: v, Col: v/goods*goods + c, Val: 1})
				}
			}
			p.Facts.HessianPattern = sparse.FromEntries(ny, ny, entries)
		}
		start := make([]float64, nx)
		for a := range start {
			p.X.Hi[a], start[a] = 5, 5*rng.Float64()
		}
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		space, err := reduced.New(s)
		if err != nil {
			t.Fatal(err)
		}
		r, err := space.Solve(t.Context(), start, reduced.Options{})
		if errors.Is(err, reduced.ErrNumerical) || err == nil && r.Status != reduced.Stationary {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		solved++
		x, y, m := s.X(r.Point.Z), s.Y(r.Point.Z), r.Point.Multipliers
		for _, n := range r.Point.Biactive {
			if i := s.Pairs[n].Row; m.Slack[i] < -1e-7*(1+linalg.NormInf(x)) || m.Lambda[i] < -1e-7*linalg.NormInf(y) {
				t.Errorf("network %d: biactive row %d has the multipliers %g and %g", k, i, m.Slack[i], m.Lambda[i])
			}
		}
		for a, v := range x {
			if v < 0 || v > 5 {
				t.Errorf("network %d: toll %d is %g", k, a, v)
			}
		}
		for i, kind := range rows.Kind {
			h := rows.A.RowDot(i, x) - rows.B.RowDot(i, y) - rows.Rhs[i]
			if terms := rows.B.AddTerms(math.Abs(rows.Rhs[i]), i, y); h > 1e-10*terms || kind == problem.Equal && h < -1e-10*terms {
				t.Errorf("network %d: row %d is off by %g, its terms are %g", k, i, h, terms)
			}
		}
	}
	if solved < all/3 {
		t.Errorf("%d of %d networks", solved, all)
	}
}
