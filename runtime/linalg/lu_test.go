package linalg

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/members"
)

// TestSparseLU solves with matrices whose solutions are known, and asks for the rank of those that are products of thin ones: what
// is left out has to be as many columns and rows, and the others a matrix with factors.
func TestSparseLU(t *testing.T) {
	rng := members.Rand(t, 41)
	var f LU
	for k := range members.Count(300) {
		n := 1 + rng.IntN(40)
		a := sparseMatrix(rng, n)
		missing := 0
		if k%3 == 0 { // some columns are sums of two others, one is 0
			for missing = range min(n/4, 5) {
				j, u, v := n-1-missing, rng.IntN(n/2), rng.IntN(n/2)
				for i := range n {
					a[i][j] = a[i][u] - 2*a[i][v]
				}
			}
			if missing = min(n/4, 5); n > 1 {
				for i := range n {
					a[i][n-1-missing] = 0
				}
				missing++
			}
		}
		columns := make([]int, n)
		for j := range columns {
			columns[j] = j
		}
		rows := func(j int, add func(i int, v float64)) {
			for i := range n {
				add(i, a[i][columns[j]])
			}
		}
		outCols, outRows := f.Factor(n, n, rows)
		if len(outCols) != missing || len(outRows) != missing {
			t.Errorf("case %d: %d columns and %d rows of %d depend on others", k, len(outCols), len(outRows), missing)
			continue
		}
		if missing > 0 { // units in place of what is left out
			units := slices.Clone(outRows)
			columns = slices.DeleteFunc(columns, func(j int) bool { return slices.Contains(outCols, int32(j)) })
			kept := len(columns)
			if c, r := f.Factor(n, n, func(j int, add func(i int, v float64)) {
				if j >= kept {
					add(int(units[j-kept]), -1)
				} else {
					rows(j, add)
				}
			}); len(c)+len(r) > 0 {
				t.Errorf("case %d: what is left has no factors", k)
			}
			continue
		}
		want, b, bt := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range want {
			want[i] = float64(rng.IntN(9) - 4)
		}
		for i := range n {
			for j := range n {
				b[i] += a[i][j] * want[j]
				bt[j] += a[i][j] * want[i]
			}
		}
		x, y := make([]float64, n), make([]float64, n)
		f.Solve(x, slices.Clone(b))
		f.SolveT(y, slices.Clone(bt))
		for i := range n {
			r, rt, size := -b[i], -bt[i], 1.0
			for j := range n {
				r += a[i][j] * x[j]
				rt += a[j][i] * y[j]
				size += math.Abs(a[i][j]*x[j]) + math.Abs(a[j][i]*y[j])
			}
			if math.Abs(r)+math.Abs(rt) > 1e-10*size {
				t.Errorf("case %d: equation %d of %d is off by %g and %g", k, i, n, r, rt)
			}
		}
	}
}

// sparseMatrix is a regular matrix: a permutation, and some further entries on one side of it in a hidden order, and a few anywhere.
func sparseMatrix(rng *rand.Rand, n int) [][]float64 {
	a := make([][]float64, n)
	for i := range a {
		a[i] = make([]float64, n)
	}
	p, q := rng.Perm(n), rng.Perm(n)
	for k := range n {
		a[p[k]][q[k]] = float64(20 + rng.IntN(20))
		for l := range k {
			if rng.IntN(n) < 3 {
				a[p[k]][q[l]] = float64(rng.IntN(21) - 10)
			}
		}
		if k > 0 && rng.IntN(3) == 0 {
			a[p[rng.IntN(k)]][q[k]] = float64(rng.IntN(5) - 2)
		}
	}
	return a
}
