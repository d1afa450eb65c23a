package linalg

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// definite is a random positive definite matrix with a condition number of at most
// some thousands.
func definite(r *rand.Rand, n int) []float64 {
	l := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			l.Set(i, j, r.NormFloat64())
		}
	}
	var h mat.Dense
	h.Mul(l.T(), l)
	for i := range n {
		h.Set(i, i, h.At(i, i)+1)
	}
	return slices.Clone(h.RawMatrix().Data)
}

// TestCholesky compares factors, solves and the condition number with gonum's, over
// sizes around those of panels.
func TestCholesky(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 7, 63, 64, 65, 130, 200} {
		h := definite(r, n)
		c, ok := NewCholesky(n, slices.Clone(h))
		if !ok {
			t.Fatalf("n = %d: not positive definite", n)
		}
		sym := mat.NewSymDense(n, slices.Clone(h))
		var want mat.Cholesky
		want.Factorize(sym)
		var u mat.TriDense
		want.UTo(&u)
		// Errors are of the order of n roundings times the condition number, at most 1e5.
		tolerance := 1e-10 * mat.Norm(&u, 2)
		for i := range n {
			for j := range n {
				if got := c.u[i*n+j]; j < i && got != h[i*n+j] {
					t.Fatalf("n = %d: entry (%d, %d), below the diagonal, has changed", n, i, j)
				} else if j >= i && math.Abs(got-u.At(i, j)) > tolerance {
					t.Fatalf("n = %d: U[%d, %d] is %v, want %v", n, i, j, got, u.At(i, j))
				}
			}
		}
		if got, cond := c.Condition(mat.Norm(sym, 1)), want.Cond(); math.Abs(got-cond) > 1e-6*cond {
			t.Errorf("n = %d: condition %v, want %v", n, got, cond)
		}
		const k = 11
		x := make([]float64, n*k)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		many := slices.Clone(x)
		c.SolveInverse(many, k)
		for j := range k {
			v, alone, product := make([]float64, n), make([]float64, n), mat.NewVecDense(n, nil)
			for i := range n {
				v[i] = x[i*k+j]
			}
			copy(alone, v)
			c.SolveInverse(alone, 1)
			one := slices.Clone(v)
			c.SolveT(one)
			c.Solve(one)
			product.MulVec(sym, mat.NewVecDense(n, one))
			for i := range n {
				if many[i*k+j] != alone[i] {
					t.Fatalf("n = %d: column %d depends on the others", n, j)
				}
				if math.Abs(one[i]-alone[i]) > 1e-8 || math.Abs(product.AtVec(i)-v[i]) > 1e-8 {
					t.Fatalf("n = %d: column %d is not solved", n, j)
				}
			}
		}
	}
}

// TestSolveAllT: vectors that share passes over the factor have the bits of one alone.
func TestSolveAllT(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{1, 3, 4, 65} {
		c, ok := NewCholesky(n, definite(r, n))
		if !ok {
			t.Fatalf("n = %d: not positive definite", n)
		}
		alone, all := make([][]float64, 19), make([][]float64, 19)
		for k := range all {
			all[k] = make([]float64, n)
			for i := range n {
				all[k][i] = r.NormFloat64()
			}
			alone[k] = slices.Clone(all[k])
			c.SolveT(alone[k])
		}
		c.SolveAllT(all...)
		for k := range all {
			if !slices.Equal(all[k], alone[k]) {
				t.Fatalf("n = %d: vector %d shows that others were solved for", n, k)
			}
		}
	}
}

// TestCholeskyRefuses: what is not positive definite, or not finite, is refused.
func TestCholeskyRefuses(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 5, 100} {
		for _, bad := range []float64{-1, 0, math.NaN(), math.Inf(1)} {
			h := definite(r, n)
			h[(n-1)*n+n-1] = bad
			if _, ok := NewCholesky(n, h); ok {
				t.Errorf("n = %d: %v on the diagonal is factorized", n, bad)
			}
		}
	}
}

func BenchmarkCholesky(b *testing.B) {
	const n = 800
	h := definite(rand.New(rand.NewPCG(5, 6)), n)
	for b.Loop() {
		NewCholesky(n, slices.Clone(h))
	}
}
