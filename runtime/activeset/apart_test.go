package activeset_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
)

// Blocks of different sizes, as the follower's, in a random order, some of whose pattern joins what its values do not: the solutions are those of the program as a whole.
func TestBlocksApart(t *testing.T) {
	for seed := range members.Seeds(t, 60) {
		r := rand.New(rand.NewPCG(seed, 61))
		n := 4 + r.IntN(6)
		blocks := make([][]int, 2+r.IntN(2))
		for _, j := range r.Perm(n) {
			k := r.IntN(len(blocks))
			blocks[k] = append(blocks[k], j)
		}
		owner := make([]int, n)
		for k, vars := range blocks {
			for _, j := range vars {
				owner[j] = k
			}
		}
		p := &activeset.Program{N: n, Q: sparse.Empty(n), C: make([]float64, n), A: sparse.Empty(n)}
		half := make([][]float64, n)
		for i := range half {
			half[i] = make([]float64, n)
			for j := range n {
				if owner[i] == owner[j] {
					half[i][j] = r.NormFloat64()
				}
			}
		}
		for i := range n {
			p.C[i] = r.NormFloat64()
			p.Lo, p.Hi = append(p.Lo, -1), append(p.Hi, 1+r.Float64())
			for j := range n {
				v := 0.0
				for k := range n {
					v += half[i][k] * half[j][k]
				}
				if v != 0 || r.IntN(3) == 0 {
					p.Q.Append(j, v)
				}
			}
			p.Q.EndRow()
		}
		for _, vars := range blocks {
			for range min(2, len(vars)) {
				for j := range n {
					if owner[j] == owner[vars[0]] {
						p.A.Append(j, r.NormFloat64())
					} else if r.IntN(3) == 0 {
						p.A.Append(j, 0)
					}
				}
				p.A.EndRow()
				p.RowLo, p.RowHi = append(p.RowLo, -r.Float64()), append(p.RowHi, r.Float64())
			}
		}
		whole, err := activeset.New(p)
		if err != nil {
			t.Fatal(err)
		}
		apart, err := activeset.NewApart(p, blocks)
		if err != nil {
			t.Fatal(err)
		}
		a, b := whole.Solve(context.Background(), nil, nil, activeset.Options{}), apart.Solve(context.Background(), nil, nil, activeset.Options{})
		if a.Status != activeset.Optimal || b.Status != activeset.Optimal || math.Abs(a.Value-b.Value) > 1e-9*(1+math.Abs(a.Value)) {
			t.Errorf("seed %d: %v, %v as a whole; %v, %v in blocks", seed, a.Status, a.Value, b.Status, b.Value)
		}
	}
}

// Blocks without a point next to blocks without an end, in any order: the program has no point, as it has none as a whole.
func TestBlocksWithoutSolutions(t *testing.T) {
	for seed := range members.Seeds(t, 200) {
		r := rand.New(rand.NewPCG(seed, 62))
		n := 2 + r.IntN(4)
		p := &activeset.Program{N: n, C: make([]float64, n), A: sparse.Empty(n)}
		blocks, want := make([][]int, n), activeset.Optimal
		for j := range n { // a block of one variable each: c y with y >= 0, and a row
			blocks[j] = []int{j}
			p.C[j] = 1 + r.Float64()
			p.Lo, p.Hi = append(p.Lo, 0), append(p.Hi, math.Inf(1))
			p.A.Append(j, 1)
			p.A.EndRow()
			low := r.Float64()
			high := low + 1
			switch r.IntN(4) {
			case 0: // no end
				p.C[j], high = -p.C[j], math.Inf(1)
				if want == activeset.Optimal {
					want = activeset.Unbounded
				}
			case 1: // no point
				low, high = math.Inf(-1), -1-low
				want = activeset.Infeasible
			}
			p.RowLo, p.RowHi = append(p.RowLo, low), append(p.RowHi, high)
		}
		apart, err := activeset.NewApart(p, blocks)
		if err != nil {
			t.Fatal(err)
		}
		found := apart.Solve(context.Background(), nil, nil, activeset.Options{})
		if found.Status != want {
			t.Errorf("seed %d: %v, not %v", seed, found.Status, want)
		}
	}
}
