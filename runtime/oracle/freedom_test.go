package oracle

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// What a face leaves free of a row is the distance of the row from the span of the
// face's, here by a singular value decomposition.
func TestFreedom(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	vertices := 0
	for range 100 {
		n := 1 + rng.IntN(5)
		m := n + 3
		b := mat.NewDense(m, n, nil)
		for i := range m {
			for j := range n {
				if i%3 > 0 || j == i%n { // every third row is a bound
					b.Set(i, j, float64(1+rng.IntN(3))*float64(1-2*rng.IntN(2)))
				}
			}
		}
		rows := &problem.Rows{B: sparse.FromDense(m, n, b.RawMatrix().Data), A: sparse.FromDense(m, 0, nil),
			Kind: make([]problem.Kind, m), Rhs: make([]float64, m)}
		face := rng.Perm(m)[:rng.IntN(n+2)]
		var svd mat.SVD
		held := mat.NewDense(max(1, len(face)), n, nil)
		for k, i := range face {
			held.SetRow(k, b.RawRowView(i))
		}
		if !svd.Factorize(held, mat.SVDThin) {
			t.Fatal("no singular values")
		}
		var v mat.Dense
		svd.VTo(&v)
		rank := 0
		for _, s := range svd.Values(nil) {
			if s > 1e-9 {
				rank++
			}
		}
		if rank == n {
			vertices++
		}
		free := freedom(rows, face)
		for i := range m {
			rest := mat.VecDenseCopyOf(b.RowView(i))
			for k := range rank {
				rest.AddScaledVec(rest, -mat.Dot(v.ColView(k), b.RowView(i)), v.ColView(k))
			}
			if got, want := free(i), mat.Norm(rest, 2); math.Abs(got-want) > 1e-9 {
				t.Fatalf("row %d of %v with the face %v: %v, want %v", i, mat.Formatted(b), face, got, want)
			}
		}
	}
	if vertices < 10 {
		t.Errorf("only %d faces are vertices", vertices)
	}
}
