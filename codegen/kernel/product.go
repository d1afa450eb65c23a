package kernel

import (
	"bilevelc/internal/sparse"
)

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

// Gemm sets dst to A C, with A transposed where ta and C where tc; A is
// am x an, C is cm x cn as stored, row-major. column is room for a column of A
// (am entries) where ta. Every row of the result is a matrix-vector product.
func Gemm(dst []float64, A []float64, am, an int, ta bool, C []float64, cm, cn int, tc bool, column []float64) {
	rows, inner := am, an
	if ta {
		rows, inner = an, am
	}
	cols := cn
	if tc {
		cols = cm
	}
	Fill(dst, 0)
	for i := range rows {
		row := column
		if ta {
			for k := range inner {
				column[k] = A[k*an+i]
			}
		} else {
			row = A[i*an:]
		}
		Gemv(dst[i*cols:(i+1)*cols], 1, C, cm, cn, !tc, row[:inner])
	}
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
	SparseMulRows(dst, alpha, M, v, 0, M.Rows)
}

// SparseMulRows adds rows from to to of alpha M v to dst.
func SparseMulRows(dst []float64, alpha float64, M *sparse.CSR, v []float64, from, to int) {
	for i := from; i < to; i++ {
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
