package analysis

import (
	"slices"

	"bilevelc/internal/sparse"
	"bilevelc/ir/data"
	"bilevelc/ir/expr"
)

// Terms lists what the entries of a node are made of.
type Terms struct {
	// Each calls visit for the terms of entry e until it returns false: entry p
	// of the first argument together with entry q of the second, of which one
	// is -1 where it has no part. Terms with a factor that is known to be 0 are
	// left out of products.
	Each func(e int, visit func(p, q int) bool)
	Work float64 // terms of all entries, roughly
}

// Product reports whether the terms of an operation are products that are
// added up.
func Product(op expr.Op) bool { return op == expr.Mul || op.Info().Class == expr.Product }

// Place is the entry of an elementwise operand that belongs to entry e.
func Place(n *expr.Node, e int) int {
	if n.Shape.Rank == 0 {
		return 0
	}
	return e
}

// TermsOf lists the terms of a node of graph.
func TermsOf(graph *expr.Builder, n *expr.Node) Terms {
	if rule, ok := terms[n.Op]; ok {
		return rule(reader{graph}, n)
	}
	if n.Op.Info().Class == expr.Reduction {
		count := n.Args[0].Shape.Len()
		return Terms{Work: float64(count), Each: func(_ int, visit func(p, q int) bool) {
			for k := 0; k < count && visit(k, -1); k++ {
			}
		}}
	}
	return oneEach(n, func(e int) (p, q int) {
		if p, q = Place(n.Args[0], e), -1; len(n.Args) > 1 {
			q = Place(n.Args[1], e)
		}
		return p, q
	})
}

// oneEach are the terms of a node whose entries have one each, or none where p < 0.
func oneEach(n *expr.Node, term func(e int) (p, q int)) Terms {
	return Terms{Work: float64(n.Shape.Len()), Each: func(e int, visit func(p, q int) bool) {
		if p, q := term(e); p >= 0 {
			visit(p, q)
		}
	}}
}

// terms has the operations that are neither entry by entry nor reductions, and the
// product entry by entry, for its zeros.
var terms = map[expr.Op]func(a reader, n *expr.Node) Terms{
	expr.MatVec: reader.matrixVector,
	expr.MatMul: reader.matrixMatrix,
	expr.Mul: func(a reader, n *expr.Node) Terms {
		return oneEach(n, a.unlessZero(n, func(e int) (p, q int) { return Place(n.Args[0], e), Place(n.Args[1], e) }))
	},
	expr.Outer: func(a reader, n *expr.Node) Terms {
		return oneEach(n, a.unlessZero(n, func(e int) (p, q int) { return e / n.Shape.Cols, e % n.Shape.Cols }))
	},
	expr.Dot: func(a reader, n *expr.Node) Terms {
		term := a.unlessZero(n, func(k int) (p, q int) { return k, k })
		count := n.Args[0].Shape.Len()
		return Terms{Work: float64(count), Each: func(_ int, visit func(p, q int) bool) {
			for k := range count {
				if p, q := term(k); p >= 0 && !visit(p, q) {
					return
				}
			}
		}}
	},
	expr.Gather: func(_ reader, n *expr.Node) Terms {
		return oneEach(n, func(e int) (p, q int) { return n.Index[e], -1 })
	},
	expr.ScatterAdd: func(_ reader, n *expr.Node) Terms {
		into := make([][]int, n.Shape.Len())
		for k, e := range n.Index {
			if e >= 0 {
				into[e] = append(into[e], k)
			}
		}
		return Terms{Work: float64(len(n.Index) + n.Shape.Len()), Each: func(e int, visit func(p, q int) bool) {
			for _, k := range into[e] {
				if !visit(k, -1) {
					return
				}
			}
		}}
	},
	expr.Transpose: func(_ reader, n *expr.Node) Terms {
		rows, cols := n.Shape.Rows, n.Shape.Cols
		return oneEach(n, func(e int) (p, q int) { return e%cols*rows + e/cols, -1 })
	},
}

// unlessZero leaves out terms that have a factor known to be 0.
func (a reader) unlessZero(n *expr.Node, term func(e int) (p, q int)) func(e int) (p, q int) {
	left, right := a.nonzero(n.Args[0]), a.nonzero(n.Args[1])
	return func(e int) (p, q int) {
		if p, q = term(e); !left(p) || !right(q) {
			return -1, -1
		}
		return p, q
	}
}

func init() { require() }

// require panics where the terms of an operation would be taken for entries.
func require() {
	expr.Require("analysis: terms", terms, func(p *expr.Primitive) bool {
		return p.Op == expr.Mul || p.Class == expr.Product || p.Class == expr.Structural
	})
}

// reader looks the data of a graph up.
type reader struct{ graph *expr.Builder }

func (a reader) known(n *expr.Node) *data.Array { return Known(a.graph, n) }

// Known is the value of a node that depends on supplied data alone, or nil.
func Known(graph *expr.Builder, n *expr.Node) *data.Array {
	if n.Deps != 0 || n.Opaque {
		return nil
	}
	value, err := graph.Value(n)
	if err != nil {
		return nil // reported where the program is compiled
	}
	return value
}

// nonzero tells which entries of a node are not known to be 0.
func (a reader) nonzero(n *expr.Node) func(k int) bool {
	value := a.known(n)
	if value == nil {
		return func(int) bool { return true }
	}
	return func(k int) bool { return entry(value, k) != 0 }
}

// entry is entry k of an array, row-major.
func entry(a *data.Array, k int) float64 {
	if a.Sparse == nil {
		return a.Dense[k]
	}
	cols, vals := a.Sparse.Row(k / a.Sparse.Cols)
	if i, found := slices.BinarySearch(cols, k%a.Sparse.Cols); found {
		return vals[i]
	}
	return 0
}

// matrixVector: entry i is the sum of M[i, j] v[j].
func (a reader) matrixVector(n *expr.Node) Terms {
	m := n.Args[0]
	right := a.nonzero(n.Args[1])
	row := a.rows(m, n.TransA)
	cols := m.Shape.Cols
	return Terms{Work: a.entries(m), Each: func(i int, visit func(p, q int) bool) {
		row(i, func(j int) bool {
			p := i*cols + j
			if n.TransA {
				p = j*cols + i
			}
			return !right(j) || visit(p, j)
		})
	}}
}

// matrixMatrix: entry (i, j) is the sum of A[i, k] C[k, j].
func (a reader) matrixMatrix(n *expr.Node) Terms {
	left, right := n.Args[0], n.Args[1]
	row := a.rows(left, n.TransA)
	nonzero := a.nonzero(right)
	at := func(m *expr.Node, trans bool, i, j int) int {
		if trans {
			i, j = j, i
		}
		return i*m.Shape.Cols + j
	}
	return Terms{Work: a.entries(left) * float64(n.Shape.Cols), Each: func(e int, visit func(p, q int) bool) {
		i, j := e/n.Shape.Cols, e%n.Shape.Cols
		row(i, func(k int) bool {
			q := at(right, n.TransB, k, j)
			return !nonzero(q) || visit(at(left, n.TransA, i, k), q)
		})
	}}
}

// entries is how many entries of a matrix are stored.
func (a reader) entries(m *expr.Node) float64 {
	if value := a.known(m); value != nil && value.Sparse != nil {
		return float64(value.Sparse.NNZ() + m.Shape.Rows)
	}
	return float64(m.Shape.Len())
}

// rows visits the columns of a row of m, or of its transpose, that are not
// known to be 0, until visit returns false.
func (a reader) rows(m *expr.Node, trans bool) func(i int, visit func(j int) bool) {
	value := a.known(m)
	if value != nil && value.Sparse != nil {
		s := value.Sparse
		if trans {
			s = s.T()
		}
		return func(i int, visit func(j int) bool) { visitSparse(s, i, visit) }
	}
	count, stride, step := m.Shape.Cols, m.Shape.Cols, 1
	if trans {
		count, stride, step = m.Shape.Rows, 1, m.Shape.Cols
	}
	return func(i int, visit func(j int) bool) {
		for j := range count {
			if (value == nil || value.Dense[i*stride+j*step] != 0) && !visit(j) {
				return
			}
		}
	}
}

func visitSparse(s *sparse.CSR, i int, visit func(j int) bool) {
	cols, vals := s.Row(i)
	for k, j := range cols {
		if vals[k] != 0 && !visit(j) {
			return
		}
	}
}
