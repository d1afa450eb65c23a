package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
)

func normals(seed uint64, n int) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	return each.Below(n, func(int) float64 { return r.NormFloat64() })
}

// near allows for sums of some hundred products of order 1 in another order.
func near(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= 1e-12*(1+math.Abs(want[i]))) {
			t.Fatalf("%s: entry %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// both runs a test with and without the processor's vector instructions.
func both(t *testing.T, test func(t *testing.T)) {
	have := vector
	defer setVector(have)
	for _, v := range []bool{have, false} {
		setVector(v)
		t.Run(fmt.Sprintf("vector=%v", v), test)
	}
}

// product is base + alpha M v or base + alpha M' v, term by term.
func product(base []float64, alpha float64, M []float64, m, n int, trans bool, v []float64) []float64 {
	out := append([]float64(nil), base...)
	for i := range m {
		for j := range n {
			if trans {
				out[j] += alpha * M[i*n+j] * v[i]
			} else {
				out[i] += alpha * M[i*n+j] * v[j]
			}
		}
	}
	return out
}

func TestGemv(t *testing.T) {
	both(t, func(t *testing.T) {
		for _, s := range [][2]int{{1, 1}, {1, 9}, {3, 2}, {4, 4}, {5, 7}, {8, 3}, {9, 16}, {13, 21}, {40, 33}, {6, 200}} {
			m, n := s[0], s[1]
			M := normals(1, m*n)
			for _, trans := range []bool{false, true} {
				in, out := n, m
				if trans {
					in, out = m, n
				}
				v, base := normals(2, in), normals(3, out)
				want := product(base, 0.7, M, m, n, trans, v)
				got := append([]float64(nil), base...)
				Gemv(got, 0.7, M, m, n, trans, v)
				near(t, fmt.Sprintf("%d x %d, trans %v", m, n, trans), got, want)
				if !trans {
					continue
				}
				copy(got, base)
				for p := range 3 {
					from, to := Share(n, 4, p, 3)
					GemvColumns(got, 0.7, M, m, n, v, from, to)
				}
				near(t, fmt.Sprintf("%d x %d by columns", m, n), got, want)
			}
		}
	})
}

func TestSymv(t *testing.T) {
	both(t, func(t *testing.T) {
		for _, n := range []int{1, 3, 4, 7, 30, symvLeast - 1, symvLeast, symvLeast + 1, symvLeast + 3, 131} {
			Q := normals(4, n*n)
			for i := range n {
				for j := range i {
					Q[j*n+i] = Q[i*n+j]
				}
			}
			v, base := normals(5, n), normals(6, n)
			want := product(base, -1.3, Q, n, n, false, v)
			got := append([]float64(nil), base...)
			Symv(got, -1.3, Q, n, v)
			near(t, fmt.Sprintf("n = %d", n), got, want)
			// Few entries, at the ends and between.
			for _, at := range [][2]int{{0, 1}, {n / 2, n/2 + n/16}, {n - 1, n}, {0, 0}, {n / 3, n}} {
				few := make([]float64, n)
				copy(few[at[0]:at[1]], v[at[0]:at[1]])
				want := product(base, -1.3, Q, n, n, false, few)
				got := append([]float64(nil), base...)
				if done := SymvFew(got, -1.3, Q, n, few); done != (at[1]-at[0] <= n/16) {
					t.Errorf("n = %d: entries %v of v: done %v", n, at, done)
				}
				copy(got, base)
				Symv(got, -1.3, Q, n, few)
				near(t, fmt.Sprintf("n = %d, entries %v of v", n, at), got, want)
			}
			// In pieces; only the lower triangle and the diagonal blocks count.
			for i := range n {
				for j := i/4*4 + 4; j < n; j++ {
					Q[i*n+j] = math.NaN()
				}
			}
			for _, pieces := range []int{1, 3} {
				copy(got, base)
				for p := range pieces {
					from, to := Triangle(n, p, pieces)
					SymvRows(got, -1.3, Q, n, v, from, to)
				}
				near(t, fmt.Sprintf("n = %d in %d pieces", n, pieces), got, want)
			}
		}
	})
}

func TestDotAxpySum(t *testing.T) {
	both(t, func(t *testing.T) {
		for n := range 70 {
			a, b := normals(7, n), normals(8, n)
			dot, sum := 0.0, 0.0
			axpy := make([]float64, n)
			for i := range a {
				dot += a[i] * b[i]
				sum += a[i]
				axpy[i] = b[i] + 0.3*a[i]
			}
			got := append([]float64(nil), b...)
			Axpy(got, 0.3, a)
			near(t, fmt.Sprintf("n = %d", n), append(got, Dot(a, b), Sum(a)), append(axpy, dot, sum))
		}
	})
}

func TestGemm(t *testing.T) {
	const m, k, n = 7, 5, 9
	A, C := normals(9, m*k), normals(10, k*n)
	want := make([]float64, m*n)
	for i := range m {
		for j := range n {
			for q := range k {
				want[i*n+j] += A[i*k+q] * C[q*n+j]
			}
		}
	}
	At, Ct := make([]float64, m*k), make([]float64, k*n)
	Transpose(At, A, m, k)
	Transpose(Ct, C, k, n)
	got := make([]float64, m*n)
	column := make([]float64, k)
	for _, ta := range []bool{false, true} {
		for _, tc := range []bool{false, true} {
			a, am, an := A, m, k
			if ta {
				a, am, an = At, k, m
			}
			c, cm, cn := C, k, n
			if tc {
				c, cm, cn = Ct, n, k
			}
			Gemm(got, a, am, an, ta, c, cm, cn, tc, column)
			near(t, fmt.Sprintf("Gemm %v %v", ta, tc), got, want)
			SparseMatMul(got, sparse.FromDense(am, an, a), ta, c, cm, cn, tc)
			near(t, fmt.Sprintf("SparseMatMul %v %v", ta, tc), got, want)
		}
	}
	v := normals(11, k)
	out := make([]float64, m)
	SparseMulVec(out, 2, sparse.FromDense(m, k, A), false, v)
	near(t, "SparseMulVec", out, product(make([]float64, m), 2, A, m, k, false, v))
	clear(column)
	SparseMulVec(column, 2, sparse.FromDense(m, k, A), true, out)
	near(t, "SparseMulVec transposed", column, product(make([]float64, k), 2, A, m, k, true, out))
}

// TestShares: pieces follow each other and cover everything.
func TestShares(t *testing.T) {
	for n := range 100 {
		for count := 1; count < 9; count++ {
			a, b := 0, 0
			for p := range count {
				from, to := Share(n, 8, p, count)
				if from != a {
					t.Fatalf("Share(%d, 8, %d, %d) starts at %d, not %d", n, p, count, from, a)
				}
				a = to
				from, to = Triangle(n, p, count)
				if from != b || from%4 != 0 {
					t.Fatalf("Triangle(%d, %d, %d) starts at %d, not %d", n, p, count, from, b)
				}
				b = to
			}
			if a != n || b != n {
				t.Fatalf("%d things in %d pieces: %d and %d", n, count, a, b)
			}
		}
	}
}

func TestProdExcept(t *testing.T) {
	got := make([]float64, 4)
	ProdExcept(got, []float64{2, 0, 3, 5})
	near(t, "one zero", got, []float64{0, 30, 0, 0})
	ProdExcept(got, []float64{2, 0, 0, 5})
	near(t, "two zeros", got, []float64{0, 0, 0, 0})
	near(t, "product", []float64{Prod([]float64{2, 3, 5})}, []float64{30})
}

// TestStable: functions that overflow when written naively.
func TestStable(t *testing.T) {
	in := []float64{-800, -40, 0, 40, 800}
	out := make([]float64, len(in))
	Log1pExp(out, in)
	near(t, "log1pexp", out, []float64{0, math.Exp(-40), math.Ln2, 40, 800})
	Sigmoid(out, in)
	near(t, "sigmoid", out, []float64{0, math.Exp(-40), 0.5, 1, 1})
	near(t, "logsumexp", []float64{LogSumExp([]float64{1000, 1000}), LogSumExp([]float64{-1000, -1001})},
		[]float64{1000 + math.Ln2, -1000 + math.Log1p(math.Exp(-1))})
}

// TestLog1pExp compares the short way with the functions of the standard library.
func TestLog1pExp(t *testing.T) {
	for u := -745.0; u < 60; u += 0.0137 {
		want := math.Log1p(math.Exp(u))
		if u > 34 {
			want = u
		}
		if got := Log1pExpOf(u); math.Abs(got-want) > 6*0x1p-53*want+math.SmallestNonzeroFloat64 {
			t.Errorf("log(1+e^%v) = %v, want %v", u, got, want)
		}
	}
	for u, want := range map[float64]float64{math.Inf(1): math.Inf(1), math.Inf(-1): 0, 1000: 1000} {
		if got := Log1pExpOf(u); got != want {
			t.Errorf("log(1+e^%v) = %v", u, got)
		}
	}
	if !math.IsNaN(Log1pExpOf(math.NaN())) {
		t.Error("NaN is lost")
	}
}
