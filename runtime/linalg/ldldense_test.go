package linalg

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/runtime/tolerance"
)

// Quasi-definite matrices whose factors end in a dense block, of which some entries
// before it read a part: the solution of K x = b meets the equations, pivots included
// that a caller replaces.
func TestDenseEnds(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	for trial := range 30 {
		sparse, full := rng.IntN(80), tolerance.LeastSparse+rng.IntN(150)
		n := sparse + full
		var row, col []int32
		var val []float64
		k := make([]float64, n*n)
		negative := make([]bool, n)
		add := func(i, j int, v float64) {
			row, col, val = append(row, int32(i)), append(col, int32(j)), append(val, v)
			k[i*n+j] += v
			if i != j {
				k[j*n+i] += v
			}
		}
		for i := range n {
			negative[i] = rng.IntN(3) == 0
			d := float64(n)
			if negative[i] {
				d = -d
			}
			add(i, i, d)
			for j := range i {
				if i >= sparse && j >= sparse || rng.IntN(40) == 0 {
					add(i, j, rng.NormFloat64())
				}
			}
		}
		s := analyze(n, row, col)
		f := NewLDL(s, func(i int) bool { return negative[i] })
		if n-int(f.from) < full {
			t.Fatalf("trial %d: a dense end of %d, want %d", trial, n-int(f.from), full)
		}
		b, x := make([]float64, n), make([]float64, n)
		for i := range b {
			b[i] = rng.NormFloat64()
		}
		for range 2 { // the second factorization finds the workspace as the first did
			if !f.Factor(val, 1e-12) || f.Raised != 0 {
				t.Fatalf("trial %d: %d pivots raised", trial, f.Raised)
			}
			f.Solve(x, b)
			for i := range n {
				r := b[i]
				for j := range n {
					r -= k[i*n+j] * x[j]
				}
				if math.Abs(r) > 1e-11 {
					t.Fatalf("trial %d: residual %.2e", trial, r)
				}
			}
		}
		val[len(val)-1] = math.NaN()
		if f.Factor(val, 1e-12) {
			t.Fatalf("trial %d: a matrix with a NaN was factorized", trial)
		}
	}
}

// A dense Gram matrix with dependent rows: those, and no others, are reported.
func TestDenseEndOfDependentRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	const n, rank = 120, 70
	v := make([][]float64, n)
	for i := range v {
		v[i] = make([]float64, rank)
		for j := range v[i] {
			v[i][j] = rng.NormFloat64() / math.Sqrt(rank)
		}
	}
	var row, col []int32
	var val []float64
	for i := range n {
		for j := 0; j <= i; j++ {
			row, col, val = append(row, int32(i)), append(col, int32(j)), append(val, Dot(v[i], v[j]))
		}
	}
	f := NewLDL(analyze(n, row, col), nil)
	out := 0
	f.factorSemidefinite(val, 1e-10, func(int) { out++ })
	if out != n-rank {
		t.Errorf("%d rows of rank %d: %d dependent ones", n, rank, out)
	}
}
