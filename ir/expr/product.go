package expr

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"bilevelc/internal/gram"
	"bilevelc/internal/sparse"
	"bilevelc/ir/data"
)

func dot(_ *Node, args []*data.Array) *data.Array {
	return data.Scalar(blas64.Dot(vec(args[0].Dense), vec(args[1].Dense)))
}

func outer(n *Node, args []*data.Array) *data.Array {
	out := make([]float64, n.Shape.Len())
	blas64.Ger(1, vec(args[0].Dense), vec(args[1].Dense), general(n.Shape.Rows, n.Shape.Cols, out))
	return NewArray(n.Shape, out)
}

func matMul(n *Node, args []*data.Array) *data.Array {
	u, v := args[0], args[1]
	if u.Sparse != nil || v.Sparse != nil {
		return sparseMatMul(n, u, v)
	}
	out := make([]float64, n.Shape.Len())
	if n.Args[0] == n.Args[1] && n.TransA != n.TransB {
		gram.Of(out, u.Dense, u.Shape[0], u.Shape[1], n.TransA)
	} else {
		blas64.Gemm(trans(n.TransA), trans(n.TransB), 1, denseMatrix(u), denseMatrix(v), 0,
			general(n.Shape.Rows, n.Shape.Cols, out))
	}
	return NewArray(n.Shape, out)
}

func matVec(n *Node, args []*data.Array) *data.Array {
	m, v, out := args[0], args[1].Dense, make([]float64, n.Shape.Rows)
	switch {
	case m.Sparse != nil && n.TransA:
		m.Sparse.AddMulVecT(out, 1, v)
	case m.Sparse != nil:
		m.Sparse.MulVec(out, v)
	default:
		blas64.Gemv(trans(n.TransA), 1, denseMatrix(m), vec(v), 0, vec(out))
	}
	return data.Vector(out)
}

// sparseMatMul multiplies where one factor is sparse; the product of two
// sparse matrices stays sparse.
func sparseMatMul(n *Node, u, v *data.Array) *data.Array {
	if u.Sparse != nil && v.Sparse != nil {
		return data.SparseMatrix(sparse.Mul(turned(u.Sparse, n.TransA), turned(v.Sparse, n.TransB)))
	}
	rows, cols := n.Shape.Rows, n.Shape.Cols
	if u.Sparse != nil { // out[i, :] = sum over k of u[i, k] v[k, :]
		if n.TransB {
			v = v.Transposed()
		}
		return data.Matrix(rows, cols, timesDense(turned(u.Sparse, n.TransA), v.Dense, cols))
	}
	// out' = v' u', with the sparse factor on the left
	left := turned(v.Sparse, !n.TransB)
	if !n.TransA {
		u = u.Transposed()
	}
	return data.Matrix(cols, rows, timesDense(left, u.Dense, rows)).Transposed()
}

// timesDense is m times the row-major dense matrix d of cols columns.
func timesDense(m *sparse.CSR, d []float64, cols int) []float64 {
	out := make([]float64, m.Rows*cols)
	for i := 0; i < m.Rows; i++ {
		row := vec(out[i*cols : (i+1)*cols])
		at, vals := m.Row(i)
		for k, j := range at {
			blas64.Axpy(vals[k], vec(d[j*cols:(j+1)*cols]), row)
		}
	}
	return out
}

func turned(m *sparse.CSR, transpose bool) *sparse.CSR {
	if transpose {
		return m.T()
	}
	return m
}

func trans(t bool) blas.Transpose {
	if t {
		return blas.Trans
	}
	return blas.NoTrans
}

func vec(v []float64) blas64.Vector { return blas64.Vector{N: len(v), Inc: 1, Data: v} }

func general(m, n int, v []float64) blas64.General {
	return blas64.General{Rows: m, Cols: n, Stride: n, Data: v}
}

func denseMatrix(a *data.Array) blas64.General { return general(a.Shape[0], a.Shape[1], a.Dense) }
