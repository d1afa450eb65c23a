package facts

import (
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/ir/data"
	"bilevelc/ir/expr"
)

// matrixVector is the product of a part of a matrix that y does not enter and
// a vector.
func (c *cutting) matrixVector(n *node, terms []term) *expr.Node {
	cols := each.Of(terms, func(t term) int { return t.q })
	cols = distinct(cols)
	m, trans := c.submatrix(n.Args[0], n.TransA, c.list[n], cols)
	return c.graph.MatVec(m, trans, c.operand(n, 1, cols), n.Span)
}

// matrixMatrix is the product of matrices of which y enters one, as a product
// of parts of them; nil where the needed entries are too scattered for that.
func (c *cutting) matrixMatrix(n *node, terms []term) *expr.Node {
	list, width := c.list[n], n.Shape.Cols
	left := n.Args[0]
	var rows, cols, inner []int
	for _, e := range list {
		rows, cols = append(rows, e/width), append(cols, e%width)
	}
	used := map[int]bool{} // entries of the factor that y enters
	for _, t := range terms {
		k := t.p % left.Shape.Cols
		if n.TransA {
			k = t.p / left.Shape.Cols
		}
		inner = append(inner, k)
		if left.Deps&expr.DependsY != 0 {
			used[t.p] = true
		} else {
			used[t.q] = true
		}
	}
	rows, cols, inner = distinct(rows), distinct(cols), distinct(inner)
	const waste = 4 // entries made for one that is needed
	if len(rows)*len(cols) > waste*len(list) || len(inner) == 0 {
		return nil
	}
	factor := func(i int, trans bool, rows, cols []int) (*expr.Node, bool) {
		m := n.Args[i]
		if m.Deps&expr.DependsY == 0 {
			return c.submatrix(m, trans, rows, cols)
		}
		index := positions(m, trans, rows, cols)
		for r, k := range index {
			if !used[k] {
				index[r] = -1
			}
		}
		return c.graph.Gather(c.operand(n, i, index), expr.Sequence(0, len(index)), expr.MatrixShape(len(rows), len(cols)), n.Span), false
	}
	u, ta := factor(0, n.TransA, rows, inner)
	v, tb := factor(1, n.TransB, inner, cols)
	made := c.graph.MatMul(u, ta, v, tb, n.Span)
	index := each.Of(list, func(e int) int {
		i, _ := slices.BinarySearch(rows, e/width)
		j, _ := slices.BinarySearch(cols, e%width)
		return i*len(cols) + j
	})
	return c.graph.Gather(made, index, expr.VectorShape(len(list)), n.Span)
}

// submatrix is a part of a matrix, or of its transpose, that y does not enter:
// the matrix itself, to be transposed or not, where the part is all of it.
func (c *cutting) submatrix(m *expr.Node, trans bool, rows, cols []int) (*expr.Node, bool) {
	height, width := m.Shape.Rows, m.Shape.Cols
	if trans {
		height, width = width, height
	}
	if slices.Equal(rows, expr.Sequence(0, height)) && slices.Equal(cols, expr.Sequence(0, width)) {
		return m, trans
	}
	value := c.graph.Known(m)
	switch {
	case value == nil:
		return c.graph.Gather(m, positions(m, trans, rows, cols), expr.MatrixShape(len(rows), len(cols)), m.Span), false
	case value.Sparse != nil:
		s := value.Sparse
		if trans {
			s = s.T()
		}
		var entries []sparse.Entry
		for r, i := range rows {
			for j, v := range s.Entries(i) {
				if k, found := slices.BinarySearch(cols, j); found {
					entries = append(entries, sparse.Entry{Row: r, Col: k, Val: v})
				}
			}
		}
		return c.graph.Const("", data.SparseMatrix(sparse.FromEntries(len(rows), len(cols), entries)), m.Span), false
	}
	vals := each.Of(positions(m, trans, rows, cols), func(k int) float64 { return value.Dense[k] })
	return c.graph.Const("", data.Matrix(len(rows), len(cols), vals), m.Span), false
}

// positions are the places of the entries of a part of m, or of its transpose,
// row-major.
func positions(m *expr.Node, trans bool, rows, cols []int) []int {
	out := make([]int, 0, len(rows)*len(cols))
	for _, i := range rows {
		for _, j := range cols {
			if trans {
				out = append(out, j*m.Shape.Cols+i)
			} else {
				out = append(out, i*m.Shape.Cols+j)
			}
		}
	}
	return out
}

// distinct sorts the numbers and drops repetitions.
func distinct(v []int) []int {
	slices.Sort(v)
	return slices.Compact(v)
}
