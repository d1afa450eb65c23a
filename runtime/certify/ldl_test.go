package certify

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/members"
)

// TestQuasiDefiniteFactors: the factors of [H B'; B 0] hold as many equations as B has independent rows, and solve the system over these, with B that repeats and sums up its rows. Truth is a dense
// singular value decomposition and a dense solve.
func TestQuasiDefiniteFactors(t *testing.T) {
	rng := members.Rand(t, 12)
	for range members.Of(40, 2000) {
		n := 1 + rng.IntN(30)
		h := mat.NewSymDense(n, nil)
		for j := range n { // a banded one, each row with its own size
			h.SetSym(j, j, (4+rng.Float64())*math.Pow(10, float64(rng.IntN(3))))
			if j > 0 && rng.IntN(3) > 0 {
				h.SetSym(j, j-1, rng.NormFloat64())
			}
		}
		var rows [][]float64
		for len(rows) < rng.IntN(2*n+1) {
			row := make([]float64, n)
			switch at := rng.IntN(n); {
			case len(rows) > 1 && rng.IntN(4) == 0: // a sum of others
				for range 2 {
					for j, v := range rows[rng.IntN(len(rows))] {
						row[j] += v
					}
				}
			case rng.IntN(3) == 0 && n > 1: // a difference along the chain
				at = min(at, n-2)
				row[at], row[at+1] = 1, -1
			default:
				for range 1 + rng.IntN(3) {
					row[rng.IntN(n)] = float64(rng.IntN(7) - 3)
				}
			}
			rows = append(rows, row)
		}
		near, vals := make([][]int, n+len(rows)), make([][]float64, n+len(rows))
		add := func(r, q int, v float64) {
			if v != 0 {
				near[r], vals[r] = append(near[r], q), append(vals[r], v)
			}
		}
		for r := range n {
			for q := range n {
				add(r, q, h.At(r, q))
			}
		}
		for i, row := range rows {
			for j, v := range row {
				add(n+i, j, v)
				add(j, n+i, v)
			}
		}
		f, err := factorize(near, vals, n)
		if err != nil {
			t.Fatal(err)
		}
		var kept []int
		for i := range rows {
			if !f.out[n+i] {
				kept = append(kept, n+i)
			}
		}
		rank := 0
		if len(rows) > 0 {
			b := mat.NewDense(len(rows), n, slices.Concat(rows...))
			var svd mat.SVD
			svd.Factorize(b, mat.SVDNone)
			rank = svd.Rank(1e-10)
		}
		if len(kept) != rank {
			t.Fatalf("n %d, rows %v: %d are held, and %d are independent", n, rows, len(kept), rank)
		}
		size := n + rank
		whole, rhs, given := mat.NewDense(size, size, nil), mat.NewVecDense(size, nil), make([]float64, len(near))
		at := append(make([]int, 0, size), kept...)
		for r := range n {
			for q := range n {
				whole.Set(r, q, h.At(r, q))
			}
			for k, i := range at {
				whole.Set(n+k, r, rows[i-n][r])
				whole.Set(r, n+k, rows[i-n][r])
			}
			given[r] = rng.NormFloat64()
			rhs.SetVec(r, given[r])
		}
		for k, i := range at {
			given[i] = rng.NormFloat64()
			rhs.SetVec(n+k, given[i])
		}
		var want mat.VecDense
		if err := want.SolveVec(whole, rhs); err != nil {
			continue // the dense one is too badly conditioned to be the truth
		}
		f.solve(given)
		for r := range size {
			q := r
			if r >= n {
				q = at[r-n]
			}
			if w := want.AtVec(r); !(math.Abs(given[q]-w) <= 1e-6*mat.Norm(&want, math.Inf(1))) {
				t.Fatalf("n %d, rows %v: unknown %d is %v, and %v by a dense solve", n, rows, r, given[q], w)
			}
		}
	}
}

// TestEquationsWithAnEntryOfTheirOwn: margins of a support vector machine, a'w + xi = 1 each with its own xi, leave factors with no more entries than the system has, and a fill of w beside: behind all of w they are as many as pairs of
// samples. The solution is that of the normal equations (I + A'A) w = A'1 by dense factors.
func TestEquationsWithAnEntryOfTheirOwn(t *testing.T) {
	rng := members.Rand(t, 13)
	const p, n = 4, 60
	a := mat.NewDense(n, p, nil)
	a.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, a)
	near, vals := make([][]int, p+2*n), make([][]float64, p+2*n)
	add := func(r, q int, v float64) { near[r], vals[r] = append(near[r], q), append(vals[r], v) }
	for j := range p + n {
		add(j, j, 1)
	}
	entries := p + n
	for i := range n {
		for q, v := range [p + 1]float64{a.At(i, 0), a.At(i, 1), a.At(i, 2), a.At(i, 3), 1} {
			if q == p {
				q += i
			}
			add(p+n+i, q, v)
			add(q, p+n+i, v)
			entries++
		}
	}
	f, err := factorize(near, vals, p+n)
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, column := range f.below {
		size += len(column)
	}
	if size > entries+p*p {
		t.Errorf("factors have %d entries, of a system with %d", size, entries)
	}
	w := make([]float64, p+2*n)
	for i := range n {
		w[p+n+i] = 1
	}
	f.solve(w)
	var normal mat.SymDense
	normal.SymOuterK(1, a.T())
	for j := range p {
		normal.SetSym(j, j, normal.At(j, j)+1)
	}
	ones, right, want := mat.NewVecDense(n, slices.Repeat([]float64{1}, n)), mat.NewVecDense(p, nil), mat.NewVecDense(p, nil)
	right.MulVec(a.T(), ones)
	if err := want.SolveVec(&normal, right); err != nil {
		t.Fatal(err)
	}
	for j := range p {
		if math.Abs(w[j]-want.AtVec(j)) > 1e-12 {
			t.Errorf("w[%d] is %g, not %g", j, w[j], want.AtVec(j))
		}
	}
}
