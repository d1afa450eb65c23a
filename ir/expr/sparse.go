package expr

import (
	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/ir/data"
)

// This file keeps sparse matrices sparse through elementwise operations and
// slices.

// mapSparse applies a function with f(0) = 0 to the stored entries.
func mapSparse(u *data.Array, f func(float64) float64) *data.Array {
	m := *u.Sparse
	m.Val = each.Of(u.Sparse.Val, f)
	return data.SparseMatrix(&m)
}

// sparse2 is an elementwise operation whose result is zero wherever the
// sparse operands are, or nil where that does not hold.
func sparse2(n *Node, info *Primitive, u, v *data.Array) *data.Array {
	switch {
	case u.Sparse != nil && v.Sparse != nil && (n.Op == Add || n.Op == Sub):
		beta := 1.0
		if n.Op == Sub {
			beta = -1
		}
		return data.SparseMatrix(sparse.Add(1, u.Sparse, beta, v.Sparse))
	case u.Sparse != nil && v.Rank() == 0 && (n.Op == Mul || n.Op == Div || n.Op == Pow):
		s := v.Dense[0]
		if info.Eval2(0, s) != 0 {
			return nil
		}
		return mapSparse(u, func(e float64) float64 { return info.Eval2(e, s) })
	case v.Sparse != nil && u.Rank() == 0 && n.Op == Mul:
		s := u.Dense[0]
		return mapSparse(v, func(e float64) float64 { return s * e })
	case n.Op == Mul && u.Sparse != nil:
		return scaleEntries(u.Sparse, v)
	case n.Op == Mul && v.Sparse != nil:
		return scaleEntries(v.Sparse, u)
	}
	return nil
}

// scaleEntries multiplies the stored entries of m by those of a.
func scaleEntries(m *sparse.CSR, a *data.Array) *data.Array {
	out := *m
	out.Val = make([]float64, len(m.Val))
	for i := 0; i < m.Rows; i++ {
		for k := m.Ptr[i]; k < m.Ptr[i+1]; k++ {
			out.Val[k] = m.Val[k] * a.At(i*m.Cols+m.Col[k])
		}
	}
	return data.SparseMatrix(&out)
}

// gather evaluates Gather. A matrix taken from a sparse matrix stays sparse.
func gather(n *Node, args []*data.Array) *data.Array {
	u := args[0]
	if u.Sparse == nil || n.Shape.Rank != 2 {
		out := make([]float64, len(n.Index))
		for k, i := range n.Index {
			if i >= 0 {
				out[k] = u.At(i)
			}
		}
		return NewArray(n.Shape, out)
	}
	var entries []sparse.Entry
	for k, i := range n.Index {
		if i < 0 {
			continue
		}
		if v := u.At(i); v != 0 {
			entries = append(entries, sparse.Entry{Row: k / n.Shape.Cols, Col: k % n.Shape.Cols, Val: v})
		}
	}
	return data.SparseMatrix(sparse.FromEntries(n.Shape.Rows, n.Shape.Cols, entries))
}
