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
