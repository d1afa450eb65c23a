package linalg

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/gram"
	"bilevelc/runtime/tolerance"
)

// dense is the first column from which on all columns of L are full, n where the
// block that they make is too small to matter. Elimination in the end fills what is
// left, and where K is dense that is all of it.
func (s *Symbolic) dense() int {
	k := s.n
	for k > 0 && s.lptr[k]-s.lptr[k-1] == s.n-k {
		k--
	}
	if s.n-k < tolerance.LeastSparse {
		return s.n
	}
	return k
}

// eliminate factorizes the dense block from column `from` on, of which f.block holds
// the upper triangle by rows, updated by the columns before it: panels of rows, each of
// which the rest of the matrix feels as one product. It reports false where a pivot is
// not finite.
func (f *LDL) eliminate(from int, admit func(k int, pivot float64) float64) bool {
	m := f.n - from
	a, panel := f.block, panelOf(m)
	whole := make([]float64, min(panel, m)*m) // D L' of the panel
	part := func(data []float64, r0, r1, c0, c1 int) gram.Block {
		return gram.Block{Rows: r1 - r0, Cols: c1 - c0, Stride: m, Data: data[r0*m+c0:]}
	}
	for at := 0; at < m; at += panel {
		end := min(at+panel, m)
		for i := at; i < end; i++ {
			row := a[i*m+i : (i+1)*m]
			for t := at; t < i; t++ {
				Axpy(row, -a[t*m+i], whole[(t-at)*m+i:(t-at+1)*m])
			}
			if math.IsNaN(row[0]) || math.IsInf(row[0], 0) {
				return false
			}
			copy(whole[(i-at)*m+i:], row)
			d := admit(from+i, row[0])
			f.d[from+i] = d
			floats.Scale(1/d, row[1:])
		}
		for top := end; top < m; top += panel {
			bottom := min(top+panel, m)
			gram.Subtract(part(a, top, bottom, top, m), part(whole, 0, end-at, top, bottom), true, part(a, at, end, top, m))
		}
	}
	for i := range m {
		to := f.lptr[from+i]
		for t, l := range a[i*m+i+1 : (i+1)*m] {
			f.lrow[to+t], f.lval[to+t] = int32(from+i+1+t), l
		}
	}
	return true
}
