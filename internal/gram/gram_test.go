package gram

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

func matrix(rows, cols int) []float64 {
	r := rand.New(rand.NewPCG(uint64(rows), uint64(cols)))
	m := make([]float64, rows*cols)
	for i := range m {
		m[i] = r.NormFloat64()
	}
	return m
}

// TestOf compares with gonum's matrix product over sizes around those of
// panels, tiles and rounds, and asks for exact symmetry and for the same bits
// on one thread.
func TestOf(t *testing.T) {
	for _, s := range [][2]int{{1, 1}, {3, 5}, {8, 8}, {9, 7}, {17, 300}, {257, 31}, {200, 140}, {520, 260}} {
		rows, cols := s[0], s[1]
		m := matrix(rows, cols)
		for _, trans := range []bool{false, true} {
			n, ta, tb := rows, blas.NoTrans, blas.Trans
			if trans {
				n, ta, tb = cols, blas.Trans, blas.NoTrans
			}
			want := make([]float64, n*n)
			gonum.Implementation{}.Dgemm(ta, tb, n, n, rows+cols-n, 1, m, cols, m, cols, 0, want, n)
			got := make([]float64, n*n)
			got[0] = 7 // is overwritten
			Of(got, m, rows, cols, trans)
			for i := range got {
				// Sums of at most 520 products of order 1.
				if math.Abs(got[i]-want[i]) > 1e-11 {
					t.Fatalf("%v trans %v: entry %d is %v, want %v", s, trans, i, got[i], want[i])
				}
				if got[i] != got[i%n*n+i/n] {
					t.Fatalf("%v trans %v: not symmetric", s, trans)
				}
			}
			before := runtime.GOMAXPROCS(1)
			one := make([]float64, n*n)
			Of(one, m, rows, cols, trans)
			runtime.GOMAXPROCS(before)
			if !slices.Equal(one, got) {
				t.Fatalf("%v trans %v: depends on the number of threads", s, trans)
			}
		}
	}
}

// TestTile compares the two forms of the inner loop.
func TestTile(t *testing.T) {
	for _, k := range []int{1, 2, 17, 256} {
		a, b := matrix(k, width), matrix(width, k)
		var got, want [4 * width]float64
		multiply(&got, a[4:], b, k)
		multiplyGo(&want, a[4:], b, k)
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-12 {
				t.Fatalf("k %d: entry %d is %v, want %v", k, i, got[i], want[i])
			}
		}
	}
}

func BenchmarkOf(b *testing.B) {
	for _, n := range []int{200, 1000} {
		m, out := matrix(n, n), make([]float64, n*n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				Of(out, m, n, n, true)
			}
		})
	}
}

// TestSubtract compares with gonum's matrix product, on blocks of larger matrices,
// and asks that a column has the same bits whichever others are computed with it.
func TestSubtract(t *testing.T) {
	for _, s := range [][3]int{{1, 1, 1}, {3, 5, 2}, {8, 8, 8}, {9, 7, 300}, {130, 31, 260}, {40, 140, 17}} {
		n, m, k := s[0], s[1], s[2]
		for _, trans := range []bool{false, true} {
			rows, cols, ta := n, k, blas.NoTrans
			if trans {
				rows, cols, ta = k, n, blas.Trans
			}
			a, b, c := matrix(rows, cols+3), matrix(k, m+5), matrix(n, m+1)
			want, got, one := slices.Clone(c), slices.Clone(c), slices.Clone(c)
			gonum.Implementation{}.Dgemm(ta, blas.NoTrans, n, m, k, -1, a, cols+3, b, m+5, 1, want, m+1)
			A := Block{a, rows, cols, cols + 3}
			Subtract(Block{got, n, m, m + 1}, A, trans, Block{b, k, m, m + 5})
			for j := range m {
				Subtract(Block{one[j:], n, 1, m + 1}, A, trans, Block{b[j:], k, 1, m + 5})
			}
			for i := range got {
				if math.Abs(got[i]-want[i]) > 1e-11 { // sums of at most 300 products of order 1
					t.Fatalf("%v trans %v: entry %d is %v, want %v", s, trans, i, got[i], want[i])
				}
			}
			if !slices.Equal(one, got) {
				t.Fatalf("%v trans %v: depends on the other columns", s, trans)
			}
		}
	}
}

// TestRows compares with gonum's matrix product, and asks that an entry has the same bits whichever others are computed with it.
func TestRows(t *testing.T) {
	for _, s := range [][3]int{{1, 1, 1}, {3, 5, 2}, {9, 7, 300}, {130, 31, 260}} {
		n, m, k := s[0], s[1], s[2]
		a, b := matrix(n, k+3), matrix(m, k+5)
		want, got, one := make([]float64, n*(m+1)), matrix(n, m+1), make([]float64, 1)
		gonum.Implementation{}.Dgemm(blas.NoTrans, blas.Trans, n, m, k, 1, a, k+3, b, k+5, 0, want, m+1)
		Rows(Block{got, n, m, m + 1}, Block{a, n, k, k + 3}, Block{b, m, k, k + 5})
		for i := range n {
			for j := range m {
				Rows(Block{one, 1, 1, 1}, Block{b[j*(k+5):], 1, k, k + 5}, Block{a[i*(k+3):], 1, k, k + 3})
				at := i*(m+1) + j
				if math.Abs(got[at]-want[at]) > 1e-11 {
					t.Fatalf("%v: entry (%d, %d) is %v, want %v", s, i, j, got[at], want[at])
				}
				if one[0] != got[at] {
					t.Fatalf("%v: entry (%d, %d) is %v alone and %v among others", s, i, j, one[0], got[at])
				}
			}
		}
	}
}

// TestSubtractGram compares with gonum's product on and above the diagonal.
func TestSubtractGram(t *testing.T) {
	for _, s := range [][2]int{{1, 1}, {5, 30}, {64, 257}, {300, 9}} {
		k, n := s[0], s[1]
		a, c := matrix(k, n+2), matrix(n, n+4)
		want, got := slices.Clone(c), slices.Clone(c)
		gonum.Implementation{}.Dgemm(blas.Trans, blas.NoTrans, n, n, k, -1, a, n+2, a, n+2, 1, want, n+4)
		SubtractGram(Block{got, n, n, n + 4}, Block{a, k, n, n + 2})
		sum := slices.Clone(got)
		AddGram(Block{sum, n, n, n + 4}, Block{a, k, n, n + 2})
		for i := range n {
			for j := i; j < n; j++ {
				if at := i*(n+4) + j; math.Abs(sum[at]-c[at]) > 1e-11 {
					t.Fatalf("%v: entry (%d, %d) is %v with the product taken and added, %v before", s, i, j, sum[at], c[at])
				}
			}
		}
		for i := range n {
			for j := range n + 4 {
				at := i*(n+4) + j
				switch {
				case j >= i && j < n && math.Abs(got[at]-want[at]) > 1e-11:
					t.Fatalf("%v: entry (%d, %d) is %v, want %v", s, i, j, got[at], want[at])
				case (j >= n || j < i) && got[at] != c[at] && i*(n+4)+j < len(c):
					t.Fatalf("%v: entry (%d, %d), not of the upper triangle, has changed", s, i, j)
				}
			}
		}
	}
}
