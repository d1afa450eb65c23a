package expr

import (
	"slices"

	"bilevelc/ir/data"
)

// Summand is what an entry of a node is made of, or a part of that: entry P of the first
// argument together with entry Q of the second, of which one is -1 where it has no part.
// Of operations that are Linear or Bilinear an entry is the sum of its terms: A times what
// P and Q stand for. Entries of arguments that are known data are in A.
type Summand struct {
	P, Q int
	A    float64
}

// Terms lists the terms of the entries of a node. It is the one place that says how the
// entries of operations on arrays are made of those of their arguments: what is known of
// sums of products follows from it, whatever is to be known.
type Terms struct {
	// Each calls visit for the terms of entry e until it returns false. Terms with
	// a factor that is known to be 0 are left out of products.
	Each func(e int, visit func(t Summand) bool)
	Work float64 // terms of all entries, roughly
	Data [2]bool // the argument is known data, and so in A
}

// Place is the entry of an elementwise operand that belongs to entry e.
func Place(n *Node, e int) int {
	if n.Shape.Rank == 0 {
		return 0
	}
	return e
}

// Terms lists the terms of a node of the graph.
func (b *Builder) Terms(n *Node) Terms { return termsOf(n, b.Known) }

// Terms lists the terms of a node where the numbers of data do not matter.
func (n *Node) Terms() Terms { return termsOf(n, func(*Node) *data.Array { return nil }) }

// termsOf lists the terms of a node, with the data that known tells of.
func termsOf(n *Node, known func(n *Node) *data.Array) Terms {
	if rule, ok := terms[n.Op]; ok {
		return rule(reader{known}, n)
	}
	if n.Op.Info().Class == Reduction {
		count := n.Args[0].Shape.Len()
		return Terms{Work: float64(count), Each: func(_ int, visit func(t Summand) bool) {
			for k := 0; k < count && visit(Summand{k, -1, 1}); k++ {
			}
		}}
	}
	return oneEach(n, func(e int) Summand {
		if len(n.Args) > 1 {
			return Summand{Place(n.Args[0], e), Place(n.Args[1], e), 1}
		}
		return Summand{Place(n.Args[0], e), -1, 1}
	})
}

// none is the term of an entry that has none.
var none = Summand{-1, -1, 0}

// oneEach are the terms of a node whose entries have one each, or none.
func oneEach(n *Node, term func(e int) Summand) Terms {
	return Terms{Work: float64(n.Shape.Len()), Each: func(e int, visit func(t Summand) bool) {
		if t := term(e); t != none {
			visit(t)
		}
	}}
}

// moved is entry p of the only argument, where p is not negative.
func moved(p int) Summand {
	if p < 0 {
		return none
	}
	return Summand{p, -1, 1}
}

// plus is the sum of two arguments, of which the second has a factor.
func plus(factor float64) func(_ reader, n *Node) Terms {
	return func(_ reader, n *Node) Terms {
		u, v := n.Args[0], n.Args[1]
		return Terms{Work: 2 * float64(n.Shape.Len()), Each: func(e int, visit func(t Summand) bool) {
			_ = visit(Summand{Place(u, e), -1, 1}) && visit(Summand{-1, Place(v, e), factor})
		}}
	}
}

// terms has the operations that are linear or bilinear, but for the sum of all entries.
var terms = map[Op]func(a reader, n *Node) Terms{
	Neg: func(_ reader, n *Node) Terms { return oneEach(n, func(e int) Summand { return Summand{e, -1, -1} }) },
	Add: plus(1),
	Sub: plus(-1),
	Mul: func(a reader, n *Node) Terms {
		u, v := n.Args[0], n.Args[1]
		return a.products(n, 1, func(_, e int) (p, q int) { return Place(u, e), Place(v, e) })
	},
	Outer: func(a reader, n *Node) Terms {
		return a.products(n, 1, func(_, e int) (p, q int) { return e / n.Shape.Cols, e % n.Shape.Cols })
	},
	Dot: func(a reader, n *Node) Terms {
		return a.products(n, n.Args[0].Shape.Len(), func(k, _ int) (p, q int) { return k, k })
	},
	MatVec: reader.matrixProduct,
	MatMul: reader.matrixProduct,
	Gather: func(_ reader, n *Node) Terms { return oneEach(n, func(e int) Summand { return moved(n.Index[e]) }) },
	ScatterAdd: func(_ reader, n *Node) Terms {
		into := inverse(n.Index, n.Shape.Len())
		return Terms{Work: float64(len(n.Index) + n.Shape.Len()), Each: func(e int, visit func(t Summand) bool) {
			for _, k := range into(e) {
				if !visit(moved(k)) {
					return
				}
			}
		}}
	},
	Transpose: func(_ reader, n *Node) Terms {
		rows, cols := n.Shape.Rows, n.Shape.Cols
		return oneEach(n, func(e int) Summand { return moved(e%cols*rows + e/cols) })
	},
}

// inverse lists, ascending, the places at which an index is e, for e in 0..n-1.
func inverse(index []int, n int) func(e int) []int {
	ptr, at := make([]int, n+1), make([]int, len(index))
	for _, e := range index {
		if e >= 0 {
			ptr[e+1]++
		}
	}
	for e := range n {
		ptr[e+1] += ptr[e]
	}
	next := slices.Clone(ptr)
	for k, e := range index {
		if e >= 0 {
			at[next[e]] = k
			next[e]++
		}
	}
	return func(e int) []int { return at[ptr[e]:ptr[e+1]] }
}

func init() { requireTerms() }

// requireTerms panics where the terms of an operation would be taken for entries.
func requireTerms() {
	Require("expr: terms", terms, func(p *Primitive) bool { return p.Bilinear || p.Linear && p.Op != Sum })
}

// reader looks data up.
type reader struct {
	known func(n *Node) *data.Array
}

// Known is the value of a node that depends on supplied data alone, or nil.
func (b *Builder) Known(n *Node) *data.Array {
	if n.Deps != 0 || n.Opaque {
		return nil
	}
	value, err := b.Value(n)
	if err != nil {
		return nil // reported where the program is compiled
	}
	return value
}

// factor tells the entries of an argument that is known data; those of others count as 1.
func (a reader) factor(n *Node) (entry func(k int) float64, is bool) {
	value := a.known(n)
	if value == nil {
		return func(int) float64 { return 1 }, false
	}
	return value.At, true
}

// products are terms of one entry of each argument: count of them for each entry.
func (a reader) products(n *Node, count int, place func(k, e int) (p, q int)) Terms {
	left, u := a.factor(n.Args[0])
	right, v := a.factor(n.Args[1])
	return Terms{Work: float64(count) * float64(n.Shape.Len()), Data: [2]bool{u, v}, Each: func(e int, visit func(t Summand) bool) {
		for k := range count {
			p, q := place(k, e)
			if factor := left(p) * right(q); factor != 0 && !visit(Summand{p, q, factor}) {
				return
			}
		}
	}}
}

// matrixProduct: entry (i, j) is the sum of A[i, k] C[k, j], and C may be a vector.
func (a reader) matrixProduct(n *Node) Terms {
	left, right := n.Args[0], n.Args[1]
	row, known := a.rows(left, n.TransA), a.known(left) != nil
	down, along := strides(left, n.TransA)
	downRight, alongRight := strides(right, n.TransB)
	entry, is := a.factor(right)
	cols := n.Shape.Cols
	return Terms{Work: a.entries(left) * float64(cols), Data: [2]bool{known, is}, Each: func(e int, visit func(t Summand) bool) {
		i, j := e/cols, e%cols
		row(i, func(k int, factor float64) bool {
			q := k*downRight + j*alongRight
			if is {
				if factor *= entry(q); factor == 0 {
					return true
				}
			}
			return visit(Summand{i*down + k*along, q, factor})
		})
	}}
}

// strides are the steps from an entry of a matrix, or of its transpose, to those below
// and beside it.
func strides(m *Node, trans bool) (down, along int) {
	if trans {
		return 1, m.Shape.Cols
	}
	return m.Shape.Cols, 1
}

// entries is how many entries of a matrix are stored.
func (a reader) entries(m *Node) float64 {
	if value := a.known(m); value != nil && value.Sparse != nil {
		return float64(value.Sparse.NNZ() + m.Shape.Rows)
	}
	return float64(m.Shape.Len())
}

// rows visits the columns of a row of m, or of its transpose, with the entries of known
// data there that are not 0, until visit returns false.
func (a reader) rows(m *Node, trans bool) func(i int, visit func(j int, factor float64) bool) {
	if value := a.known(m); value != nil {
		return value.Rows(trans)
	}
	_, count := transposed(m.Shape, trans)
	return func(_ int, visit func(j int, factor float64) bool) {
		for j := 0; j < count && visit(j, 1); j++ {
		}
	}
}
