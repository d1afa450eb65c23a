package kernel

import (
	"bilevelc/internal/sparse"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"
)

var impl gonum.Implementation

// Sum is the sum of all entries, in four interleaved parts.
func Sum(a []float64) float64 {
	var s0, s1, s2, s3 float64
	for len(a) >= 4 {
		s0 += a[0]
		s1 += a[1]
		s2 += a[2]
		s3 += a[3]
		a = a[4:]
	}
	for _, v := range a {
		s0 += v
	}
	return (s0 + s1) + (s2 + s3)
}

// Dot is the sum of a[i] b[i].
func Dot(a, b []float64) float64 {
	return impl.Ddot(len(a), a, 1, b[:len(a)], 1)
}

// Axpy adds c a to dst.
func Axpy(dst []float64, c float64, a []float64) {
	impl.Daxpy(len(dst), c, a[:len(dst)], 1, dst, 1)
}

// Gemv adds alpha M v to dst, or alpha M' v with trans; M is m x n, row-major.
func Gemv(dst []float64, alpha float64, M []float64, m, n int, trans bool, v []float64) {
	t := blas.NoTrans
	if trans {
		t = blas.Trans
	}
	impl.Dgemv(t, m, n, alpha, M, n, v, 1, 1, dst, 1)
}

// Gemm sets dst to A C, with A transposed where ta and C where tc; A is
// am x an, C is cm x cn as stored, row-major.
func Gemm(dst []float64, A []float64, am, an int, ta bool, C []float64, cm, cn int, tc bool) {
	rows := am
	at, ct := blas.NoTrans, blas.NoTrans
	if ta {
		rows, at = an, blas.Trans
	}
	cols := cn
	if tc {
		cols, ct = cm, blas.Trans
	}
	Fill(dst, 0)
	blas64.Gemm(at, ct, 1, blas64.General{Rows: am, Cols: an, Stride: an, Data: A},
		blas64.General{Rows: cm, Cols: cn, Stride: cn, Data: C}, 0,
		blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: dst})
}

// Outer sets dst to u v'.
func Outer(dst, u, v []float64) {
	n := len(v)
	for i, c := range u {
		Lin1(dst[i*n:(i+1)*n], v, c, 0)
	}
}

// SparseMulVec adds alpha M v to dst, or alpha M' v with trans.
func SparseMulVec(dst []float64, alpha float64, M *sparse.CSR, trans bool, v []float64) {
	if trans {
		M.AddMulVecT(dst, alpha, v)
		return
	}
	for i := range dst {
		dst[i] += alpha * M.RowDot(i, v)
	}
}

// SparseMatMul sets dst to A C, with A transposed where ta and C where tc; C
// is dense, cm x cn as stored, row-major.
func SparseMatMul(dst []float64, A *sparse.CSR, ta bool, C []float64, cm, cn int, tc bool) {
	Fill(dst, 0)
	cols := cn
	if tc {
		cols = cm
	}
	for i := 0; i < A.Rows; i++ {
		js, vals := A.Row(i)
		for k, j := range js {
			to, from := i, j
			if ta {
				to, from = j, i
			}
			row := dst[to*cols : (to+1)*cols]
			if tc {
				for q := range row {
					row[q] += vals[k] * C[q*cn+from]
				}
				continue
			}
			Axpy(row, vals[k], C[from*cn:(from+1)*cn])
		}
	}
}
