package activeset_test

import (
	"math"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
)

// Shortest paths on grids whose arcs are closed and opened, and cost other amounts, from one solve to the next: programs of a size that has sparse factors, in which one balance repeats the others. The
// lengths are those of Bellman's and Ford's method, and multipliers, or weights where there is no path, show them by themselves.
func TestPathsOnGrids(t *testing.T) {
	rng := members.Rand(t, 42)
	ends, paths := 0, 0
	for k := range members.Count(40) {
		side := 4 + rng.IntN(4)
		nodes := side * side
		var from, to []int
		for i := range nodes {
			for _, j := range [2]int{i + 1, i + side} {
				if j < nodes && (j != i+1 || j%side > 0) {
					from, to = append(from, i, j), append(to, j, i)
				}
			}
		}
		m := len(from)
		p := &activeset.Program{N: m, C: make([]float64, m)}
		var e []sparse.Entry
		for a := range m {
			e = append(e, sparse.Entry{Row: from[a], Col: a, Val: 1}, sparse.Entry{Row: to[a], Col: a, Val: -1})
			p.C[a] = float64(1 + rng.IntN(9))
			p.Lo, p.Hi = append(p.Lo, 0), append(p.Hi, math.Inf(1))
		}
		p.A = sparse.FromEntries(nodes, m, e)
		need := make([]float64, nodes)
		need[0], need[nodes-1] = 1, -1
		p.RowLo, p.RowHi = need, need
		s, err := activeset.New(p)
		if err != nil {
			t.Fatal(err)
		}
		cost := p.C
		var warm *activeset.Basis
		b := cloneBounds(&p.Bounds)
		for step := range 30 {
			for range 1 + rng.IntN(3) {
				a := rng.IntN(m)
				if b.Hi[a] = 0; rng.IntN(2) == 0 {
					b.Hi[a] = math.Inf(1)
				}
			}
			if step%5 == 4 {
				cost = append([]float64(nil), cost...)
				cost[rng.IntN(m)] = float64(1 + rng.IntN(9))
				s.SetObjective(nil, cost)
			}
			far := make([]float64, nodes)
			for i := range far[1:] {
				far[1+i] = math.Inf(1)
			}
			for range nodes {
				for a := range m {
					if b.Hi[a] > 0 {
						far[to[a]] = min(far[to[a]], far[from[a]]+cost[a])
					}
				}
			}
			sol := s.Solve(t.Context(), b, warm, activeset.Options{})
			warm = sol.Basis
			if math.IsInf(far[nodes-1], 1) {
				ends++
				left, sum := append([]float64(nil), sol.FarkasBound...), 0.0
				if sol.Status != activeset.Infeasible || left == nil {
					t.Fatalf("case %d, step %d: %v without a path", k, step, sol.Status)
				}
				p.A.AddMulVecT(left, 1, sol.FarkasRow)
				for i, w := range sol.FarkasRow {
					sum += w * need[i]
				}
				for a, w := range sol.FarkasBound {
					if math.Abs(left[a]) > 1e-12 || w < 0 && b.Hi[a] > 0 {
						t.Errorf("case %d, step %d: weights leave %g of arc %d", k, step, left[a], a)
					}
				}
				if sum <= 0 {
					t.Errorf("case %d, step %d: weights add up to %g", k, step, sum)
				}
				continue
			}
			paths++
			shown := sol.Row[0] - sol.Row[nodes-1]
			reduced := append([]float64(nil), cost...)
			p.A.AddMulVecT(reduced, -1, sol.Row)
			for a, d := range reduced {
				if b.Hi[a] > 0 && d < -1e-12 {
					t.Errorf("case %d, step %d: arc %d has the reduced cost %g", k, step, a, d)
				}
			}
			if sol.Status != activeset.Optimal || math.Abs(sol.Value-far[nodes-1]) > 1e-12*far[nodes-1] || math.Abs(shown-sol.Value) > 1e-12*sol.Value {
				t.Errorf("case %d, step %d: %v, length %v, multipliers show %v, not %v", k, step, sol.Status, sol.Value, shown, far[nodes-1])
			}
		}
	}
	if ends == 0 || paths == 0 {
		t.Errorf("%d ends without a path, %d with one", ends, paths)
	}
}
