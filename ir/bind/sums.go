package bind

import (
	"bilevelc/internal/sparse"
	"bilevelc/ir/data"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

// This file gives sums over index tuples the form of linear algebra where
// they have it: sum(i, j: P[i, j] * x[i] * y[j]) becomes x' (P y), and
// sum(j: A[i, j] * y[j]) for each i becomes A y.

// sumEntries is the sum of all entries of a node. Sums share their parts: each
// is taken apart once.
func (e *elaborator) sumEntries(n *expr.Node, at diag.Span) *expr.Node {
	return e.termwise(n, at, func(n *expr.Node) *expr.Node { return e.sumTerm(n, at) })
}

// termwise sums the terms of n, each in its own way.
func (e *elaborator) termwise(n *expr.Node, at diag.Span, term func(*expr.Node) *expr.Node) *expr.Node {
	done := map[*expr.Node]*expr.Node{}
	var sum func(n *expr.Node) *expr.Node
	sum = func(n *expr.Node) *expr.Node {
		if !splits(n) {
			return term(n)
		}
		if done[n] == nil {
			u := sum(n.Args[0])
			done[n] = e.b.graph.Binary(n.Op, u, sum(n.Args[1]), at)
		}
		return done[n]
	}
	return sum(n)
}

// splits reports a sum or difference of vectors that vary.
func splits(n *expr.Node) bool {
	return n.Deps != 0 && n.Shape.Rank == 1 && (n.Op == expr.Add || n.Op == expr.Sub) &&
		n.Args[0].Shape == n.Shape && n.Args[1].Shape == n.Shape
}

func (e *elaborator) sumTerm(n *expr.Node, at diag.Span) *expr.Node {
	g := e.b.graph
	if t, ok := e.term(n); ok {
		if s := e.bilinear(t, at); s != nil {
			return e.scaled(t.scale, s, at)
		}
	}
	return g.Reduce(expr.Sum, n, at)
}

// segmentSums is, for each of n segments, the sum of the entries that belong
// to it.
func (e *elaborator) segmentSums(v *expr.Node, seg []int, n int, at diag.Span) *expr.Node {
	return e.termwise(v, at, func(v *expr.Node) *expr.Node { return e.segmentTerm(v, seg, n, at) })
}

func (e *elaborator) segmentTerm(v *expr.Node, seg []int, n int, at diag.Span) *expr.Node {
	g, out := e.b.graph, expr.VectorShape(n)
	if t, ok := e.term(v); ok && len(t.vars) == 1 && t.vars[0].Shape.Rank == 1 && t.vars[0].Op == expr.Gather &&
		t.vars[0].Args[0].Shape.Rank == 1 && len(t.scale) == 0 {
		src := t.vars[0].Args[0]
		if m, trans := e.coefficients(t.data, seg, t.vars[0].Index, n, src.Shape.Rows); m != nil {
			return g.MatVec(m, trans, src, at)
		}
	}
	return g.ScatterAdd(v, seg, out, at)
}

// term is a product of batched scalars, its factors sorted out.
type term struct {
	scale []*expr.Node // unbatched factors
	data  *expr.Node   // product of the factors that depend on data only; nil: 1
	vars  []*expr.Node // the others, each a vector of the tuples
}

// maxFactors bounds the factors of a term that are told apart. Products share
// their parts, and n of them can multiply 2^n factors.
const maxFactors = 64

// term flattens an elementwise product of vectors.
func (e *elaborator) term(n *expr.Node) (term, bool) {
	if n.Deps == 0 || n.Shape.Rank != 1 {
		return term{}, false
	}
	var t term
	sign, factors := false, 0
	var walk func(m *expr.Node)
	walk = func(m *expr.Node) {
		factors++
		switch {
		case m.Shape.Rank == 0:
			t.scale = append(t.scale, m)
		case m.Deps == 0 && t.data == nil:
			t.data = m
		case m.Deps == 0:
			t.data = e.b.graph.Binary(expr.Mul, t.data, m, m.Span)
		case m.Op == expr.Mul && factors < maxFactors:
			walk(m.Args[0])
			walk(m.Args[1])
		case m.Op == expr.Neg && factors < maxFactors:
			sign = !sign
			walk(m.Args[0])
		default:
			t.vars = append(t.vars, m)
		}
	}
	walk(n)
	if sign {
		t.scale = append(t.scale, e.b.graph.Number(-1))
	}
	return t, true
}

func (e *elaborator) scaled(scale []*expr.Node, n *expr.Node, at diag.Span) *expr.Node {
	for _, s := range scale {
		n = e.b.graph.Binary(expr.Mul, s, n, at)
	}
	return n
}

// bilinear sums a term of one or two variable factors as c' v or u' (M v), or
// returns nil where it is neither.
func (e *elaborator) bilinear(t term, at diag.Span) *expr.Node {
	g := e.b.graph
	switch len(t.vars) {
	case 1:
		v, c := t.vars[0], t.data
		if v.Op == expr.Gather && v.Args[0].Shape.Rank == 1 {
			if c == nil {
				c = e.ones(v.Shape.Rows)
			}
			src := v.Args[0]
			c = g.ScatterAdd(c, v.Index, src.Shape, at)
			return g.Dot(c, src, at)
		}
		if c != nil {
			return g.Dot(c, v, at)
		}
	case 2:
		u, rows := source(t.vars[0])
		v, cols := source(t.vars[1])
		tuples := t.vars[0].Shape.Rows
		if u.Shape.Rank != 1 || v.Shape.Rank != 1 || tuples <= u.Shape.Rows+v.Shape.Rows {
			// No double sum: u' (c .* v) costs least.
			right := t.vars[1]
			if t.data != nil {
				right = g.Binary(expr.Mul, t.data, right, at)
			}
			return g.Dot(t.vars[0], right, at)
		}
		if m, trans := e.coefficients(t.data, rows, cols, u.Shape.Rows, v.Shape.Rows); m != nil {
			return g.Dot(u, g.MatVec(m, trans, v, at), at)
		}
	}
	return nil
}

// source is the vector whose entries a node reads, and which.
func source(n *expr.Node) (of *expr.Node, index []int) {
	if n.Op == expr.Gather {
		return n.Args[0], n.Index
	}
	return n, expr.Sequence(0, n.Shape.Rows)
}

// coefficients is the rows x cols matrix M with M[at row[k], col[k]] the sum of
// the entries c[k] (1 where c is nil), zero where they cancel up to rounding: a data matrix of the model where it is
// one, or the transpose of one, else a new constant. nil where the entries are not known.
func (e *elaborator) coefficients(c *expr.Node, row, col []int, rows, cols int) (m *expr.Node, trans bool) {
	if c != nil && c.Op == expr.Gather && c.Args[0].Shape.Rank == 2 && len(row) == rows*cols {
		a := c.Args[0]
		if a.Shape == expr.MatrixShape(rows, cols) && reads(c.Index, row, col, cols) {
			return a, false
		}
		if a.Shape == expr.MatrixShape(cols, rows) && reads(c.Index, col, row, rows) {
			return a, true
		}
	}
	var vals []float64
	if c != nil {
		if c.Opaque {
			return nil, false
		}
		vals = e.b.value(c).Values()
	}
	entries := make([]sparse.Entry, 0, len(row))
	for k := range row {
		if row[k] < 0 || col[k] < 0 {
			continue
		}
		v := 1.0
		if vals != nil {
			v = vals[k]
		}
		entries = append(entries, sparse.Entry{Row: row[k], Col: col[k], Val: v})
	}
	sum := merged(rows, cols, entries)
	// From about a quarter of the entries on, dense rows are faster than
	// indexed ones.
	value := data.SparseMatrix(sum)
	if 4*sum.NNZ() >= rows*cols {
		value = data.Matrix(rows, cols, sum.Dense())
	}
	return e.b.graph.Const("", value, diag.Span{}), false
}

// reads reports whether index lists every entry of a matrix of cols columns
// exactly once, at its own row and column.
func reads(index, row, col []int, cols int) bool {
	seen := make([]bool, len(index))
	for k, i := range index {
		if i < 0 || row[k] < 0 || col[k] < 0 || i != row[k]*cols+col[k] || seen[i] {
			return false
		}
		seen[i] = true
	}
	return true
}
