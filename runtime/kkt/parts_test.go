package kkt_test

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
)

// beside is two problems without anything in common as one, with a row of X that reads nothing.
func beside(one, two *problem.Problem) *problem.Problem {
	nx, ny := one.Dx+two.Dx, one.Dy+two.Dy
	place := func(k, of int) int { // of entry k of (x, y) of either problem
		p := one
		if of == 1 {
			p = two
		}
		if k < p.Dx {
			return k + of*one.Dx
		}
		return k - p.Dx + nx + of*one.Dy
	}
	join := func(a, b problem.Function) *kkttest.Quadratic {
		out := &kkttest.Quadratic{Nx: nx, Ny: ny, M: make([]float64, (nx+ny)*(nx+ny)), C: make([]float64, nx+ny)}
		for of, f := range []*kkttest.Quadratic{a.(*kkttest.Quadratic), b.(*kkttest.Quadratic)} {
			out.K += f.K
			n := f.Nx + f.Ny
			for i := range n {
				out.C[place(i, of)] = f.C[i]
				for j := range n {
					out.M[place(i, of)*(nx+ny)+place(j, of)] = f.M[i*n+j]
				}
			}
		}
		return out
	}
	rows := &problem.Rows{A: sparse.Empty(nx), B: sparse.Empty(ny)}
	for of, p := range []*problem.Problem{one, two} {
		for i, kind := range p.Rows.Kind {
			a, b, cols := make([]float64, nx), make([]float64, ny), make([]int, ny)
			for j := range p.Dx {
				a[place(j, of)] = p.Rows.A.At(i, j)
			}
			for j := range p.Dy {
				b[place(p.Dx+j, of)-nx] = p.Rows.B.At(i, j)
			}
			for j := range cols {
				cols[j] = j
			}
			kkttest.AddRow(rows, kind, a, cols, b, p.Rows.Rhs[i])
		}
	}
	x := &problem.Set{Lo: slices.Concat(one.X.Lo, two.X.Lo), Hi: slices.Concat(one.X.Hi, two.X.Hi),
		Kind: []problem.Kind{problem.AtMost}, E: sparse.FromEntries(1, nx, nil), Rhs: []float64{1}, Name: []string{"nothing"}}
	return &problem.Problem{Name: "beside", Dx: nx, Dy: ny, F: join(one.F, two.F), G: join(one.G, two.G), Rows: rows, X: x, Facts: one.Facts}
}

// The least value of a relaxation is the sum of those of its parts, also with the same sides of pairs held in both.
func TestPartsAddUp(t *testing.T) {
	rng := members.Rand(t, 33)
	several := 0
	for k := range 40 {
		a, b := kkttest.Random(rng, 2, 2, 1, k%2 == 0, false), kkttest.Random(rng, 1, 3, 2, k%3 == 0, false)
		if k%4 == 0 {
			b.Rows.Kind[b.Rows.Len()-1] = problem.Equal
		}
		s, err := kkt.New(beside(a, b))
		if err != nil {
			t.Fatal(err)
		}
		parts := s.Parts()
		if len(parts) > 1 {
			several++
		}
		least := func(of *kkt.System, fix []kkt.Fix) float64 {
			program := *of.Relaxation
			program.Q, program.C = of.ScaledObjective(of.Objective.Relaxed())
			solver, err := activeset.New(&program)
			if err != nil {
				t.Fatal(err)
			}
			var b activeset.Bounds
			of.Bounds(&b, fix)
			sol := solver.Solve(t.Context(), &b, nil, activeset.Options{})
			switch sol.Status {
			case activeset.Infeasible:
				return math.Inf(1)
			case activeset.Optimal:
				return of.Objective.Relaxed().Value(of.Unscaled(sol.Z))
			}
			t.Fatalf("case %d: %v", k, sol.Status)
			return 0
		}
		for round := range 4 {
			fix := make([]kkt.Fix, len(s.Pairs))
			for i := range fix {
				if round > 0 && rng.IntN(3) == 0 {
					fix[i] = kkt.SlackZero + kkt.Fix(rng.IntN(2))
				}
			}
			sum := 0.0
			for _, p := range parts {
				own := make([]kkt.Fix, len(p.PairAt))
				for i, at := range p.PairAt {
					own[i] = fix[at]
				}
				sum += least(p.System, own)
			}
			if whole := least(s, fix); whole != sum && !(math.Abs(whole-sum) <= 1e-7*(1+math.Abs(whole))) {
				t.Errorf("case %d: %v, and %v in %d parts", k, whole, sum, len(parts))
			}
		}
	}
	if several < 30 {
		t.Errorf("%d of 40 fall into parts", several)
	}
}

// What an answer costs the follower is told also where it is less than what decides ties, by costs that are known.
func TestLossOfAnAnswer(t *testing.T) {
	rng := members.Rand(t, 34)
	told := 0
	for range 200 {
		const ny = 3
		g := &kkttest.Quadratic{Nx: 1, Ny: ny, M: make([]float64, 16), C: make([]float64, 4)}
		x, cost := []float64{float64(rng.IntN(5) - 2)}, make([]float64, ny)
		for j := range ny {
			slope := float64(rng.IntN(5) - 2)
			g.M[1+j], g.M[(1+j)*4] = slope, slope
			near := math.Ldexp(float64(rng.IntN(8)), -31-rng.IntN(6))
			g.C[1+j] = 2 - slope*x[0] + near
			cost[j] = 2 + near
		}
		rows := &problem.Rows{A: sparse.Empty(1), B: sparse.Empty(ny)}
		for j := range ny {
			kkttest.AddRow(rows, problem.AtMost, nil, []int{j}, []float64{1}, 0)
		}
		kkttest.AddRow(rows, problem.Equal, nil, []int{0, 1, 2}, []float64{1, 1, 1}, -1) // y adds up to 1
		p := &problem.Problem{Name: "costs", Dx: 1, Dy: ny, F: &kkttest.Quadratic{Nx: 1, Ny: ny, M: make([]float64, 16), C: make([]float64, 4)}, G: g, Rows: rows,
			X: &problem.Set{Lo: []float64{-2}, Hi: []float64{2}}, Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 2}}
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		follower, err := kkt.NewFollower(s)
		if err != nil {
			t.Fatal(err)
		}
		for j := range ny {
			y := make([]float64, ny)
			y[j] = 1
			loss, open := follower.Loss(t.Context(), x, y)
			if want := cost[j] - slices.Min(cost); !(math.Abs(loss-want) <= open) || open > 1e-11 {
				t.Errorf("costs 2 + %v: a loss of %g within %g, not %g", []float64{cost[0] - 2, cost[1] - 2, cost[2] - 2}, loss, open, want)
			} else if want > 2*open {
				told++
			}
		}
	}
	if told < 50 {
		t.Errorf("%d losses", told)
	}
}

// An answer on a row whose terms cancel is known to the rounding of these terms, and so is what it costs the follower: an answer of 1e-18
// where another way to compute it gives 0 is no loss, and one that is off by 1e-6 of the terms is.
func TestLossOnRowsWhoseTermsCancel(t *testing.T) {
	rng := members.Rand(t, 36)
	rounded := 0
	for range 300 {
		unit := math.Ldexp(1, rng.IntN(40)-20)
		a, b, rhs := 0.1*float64(1+rng.IntN(9)), 0.1*float64(1+rng.IntN(9)), unit*0.1*float64(1+rng.IntN(9))
		x := rhs / a
		cost := 0.1 * float64(1+rng.IntN(9))
		g := &kkttest.Quadratic{Nx: 1, Ny: 1, M: make([]float64, 4), C: []float64{0, cost}}
		rows := &problem.Rows{A: sparse.Empty(1), B: sparse.Empty(1)}
		kkttest.AddRow(rows, problem.AtMost, []float64{-a}, []int{0}, []float64{b}, -rhs)
		p := &problem.Problem{Name: "terms", Dx: 1, Dy: 1, F: &kkttest.Quadratic{Nx: 1, Ny: 1, M: make([]float64, 4), C: make([]float64, 2)}, G: g, Rows: rows,
			X: &problem.Set{Lo: []float64{-2 * x}, Hi: []float64{2 * x}}, Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 2}}
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		follower, err := kkt.NewFollower(s)
		if err != nil {
			t.Fatal(err)
		}
		z, status := follower.Solve(t.Context(), []float64{x})
		if status != activeset.Optimal {
			t.Fatalf("%v: %v", status, rows)
		}
		best := s.Y(z)[0]
		if !(math.Abs(best) <= 1e-9*rhs/b) {
			t.Fatalf("y = %v where the row leaves 0, of terms of %v", best, rhs)
		}
		off := 0x1p-52 * float64(1+rng.IntN(4)) * rhs / b
		if loss, open := follower.Loss(t.Context(), []float64{x}, []float64{best + off}); loss != 0 || !(open < 1e-6*cost*rhs/b) {
			t.Errorf("a loss of %g within %g for an answer off by %g of %g", loss, open, off, rhs/b)
		}
		if loss, _ := follower.Loss(t.Context(), []float64{x}, []float64{best + 1e-6*rhs/b}); !(math.Abs(loss-cost*1e-6*rhs/b) <= 1e-9*cost*rhs/b) {
			t.Errorf("a loss of %g for an answer off by %g", loss, 1e-6*rhs/b)
		} else {
			rounded++
		}
	}
	if rounded == 0 {
		t.Error("no loss was told")
	}
}

// Limits of slacks and multipliers hold at the follower's answers all over X, and the maps of interiors keep all rows there.
func TestLimitsHold(t *testing.T) {
	rng := members.Rand(t, 35)
	limited, equations := 0, 0
	for k := range 60 {
		p := kkttest.Random(rng, 2, 3, 2, k%2 == 0, k%3 == 0)
		last := p.Rows.Len() - 1
		if k%4 < 2 { // 2 y_0 - y_1 = x_0: inside of the other rows for small x
			p.Rows.Kind = append(p.Rows.Kind[:last:last], problem.Equal)
			rows := &problem.Rows{Kind: p.Rows.Kind[:last:last], Rhs: p.Rows.Rhs[:last:last], A: sparse.Empty(2), B: sparse.Empty(3)}
			for i := range last {
				rows.A.AppendAll(p.Rows.A.Row(i))
				rows.A.EndRow()
				rows.B.AppendAll(p.Rows.B.Row(i))
				rows.B.EndRow()
			}
			kkttest.AddRow(rows, problem.Equal, []float64{1, 0}, []int{0, 1, 2}, []float64{2, -1, float64(rng.IntN(2))}, 0)
			p.Rows = rows
			p.X.Lo, p.X.Hi = []float64{-0.5, -0.5}, []float64{0.5, 0.5}
		}
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		limits, no, err := s.Limits(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if no != nil {
			continue
		}
		if limited++; p.Rows.Kind[last] == problem.Equal {
			equations++
		}
		follower, err := kkt.NewFollower(s)
		if err != nil {
			t.Fatal(err)
		}
		interiors, _, err := s.Interiors(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			x := make([]float64, s.Nx)
			for j := range x {
				x[j] = p.X.Lo[j] + rng.Float64()*(p.X.Hi[j]-p.X.Lo[j])
			}
			for _, in := range interiors {
				y := make([]float64, s.Ny)
				for a, j := range in.Y {
					y[j] = in.At[a]
					for e, c := range in.Entry {
						y[j] += in.By[e][a] * x[c]
					}
				}
				for _, i := range in.Rows {
					h := p.Rows.A.RowDot(i, x) - p.Rows.B.RowDot(i, y) - p.Rows.Rhs[i]
					if h > 1e-7 || p.Rows.Kind[i] == problem.Equal && h < -1e-7 {
						t.Errorf("case %d: a map that is inside leaves %v of row %d at %v", k, h, i, x)
					}
				}
			}
			z, status := follower.Solve(t.Context(), x)
			if status != activeset.Optimal {
				continue
			}
			slack := make([]float64, s.M)
			s.Slack(slack, nil, z)
			for i, pair := range s.Pairs {
				if slack[pair.Row] > limits.Slack[i]+1e-7 || s.Lambda(z)[pair.Row] > limits.Mult[i]+1e-7 {
					t.Errorf("case %d, row %d: slack %v of at most %v, multiplier %v of at most %v", k, pair.Row, slack[pair.Row], limits.Slack[i], s.Lambda(z)[pair.Row], limits.Mult[i])
				}
			}
		}
	}
	if limited < 20 || equations < 10 {
		t.Errorf("%d with limits, %d of them with an equation", limited, equations)
	}
}

// Entries of rows that are zero join no blocks, and say nothing: with and without them maps and what is unique are the same.
func TestZerosJoinNothing(t *testing.T) {
	rng := members.Rand(t, 36)
	interiors := 0
	for k := range 40 {
		p := beside(kkttest.Random(rng, 1, 2, 2, true, false), kkttest.Random(rng, 1, 1, 1, true, false))
		with, rows := *p, *p.Rows
		rows.B = sparse.Empty(p.Dy)
		for i := range p.Rows.Len() {
			for j := range p.Dy {
				rows.B.Append(j, p.Rows.B.At(i, j))
			}
			rows.B.EndRow()
		}
		with.Rows = &rows
		var maps [2][]kkt.Interior
		var unique [2]bool
		for which, p := range []*problem.Problem{p, &with} {
			s, err := kkt.New(p)
			if err != nil {
				t.Fatal(err)
			}
			if maps[which], _, err = s.Interiors(t.Context()); err != nil {
				t.Fatal(err)
			}
			follower, err := kkt.NewFollower(s)
			if err != nil {
				t.Fatal(err)
			}
			z, status := follower.Solve(t.Context(), make([]float64, s.Nx))
			if status != activeset.Optimal {
				continue
			}
			unique[which] = follower.UniqueMultipliers(t.Context(), z)
		}
		if interiors += len(maps[0]); !reflect.DeepEqual(maps[0], maps[1]) || unique[0] != unique[1] {
			t.Errorf("case %d: %v and %v, %v", k, maps[0], maps[1], unique)
		}
	}
	if interiors < 20 {
		t.Errorf("%d maps", interiors)
	}
}
