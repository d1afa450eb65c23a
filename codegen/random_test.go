package codegen

import (
	"fmt"
	"math/rand/v2"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/ir/data"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

// generator makes random smooth scalar expressions over x and y: shared
// subexpressions, scalars, one-element vectors, broadcasts, slices,
// reductions, products with dense, symmetric and sparse data, data-only and
// x-only parts. Values stay bounded (arguments of exp, powers and products
// pass through tanh), so that differences of them mean something.
type generator struct {
	b      *expr.Builder
	r      *rand.Rand
	pool   []*expr.Node
	dx, dy int
	sizes  []int
}

func newGenerator(seed uint64) *generator {
	g := &generator{b: expr.NewBuilder(), r: rand.New(rand.NewPCG(seed, 7)), sizes: []int{1, 2, 3, 5, 17}}
	add := func(name string, lower bool, s expr.Shape) {
		at := &g.dx
		if lower {
			at = &g.dy
		}
		g.pool = append(g.pool, g.b.Var(name, lower, *at, s, diag.Span{}))
		*at += s.Len()
	}
	for i := range 1 + g.r.IntN(3) {
		add(fmt.Sprintf("x%d", i), false, g.shape())
	}
	for i := range 1 + g.r.IntN(3) {
		add(fmt.Sprintf("y%d", i), true, g.shape())
	}
	return g
}

func (g *generator) size() int { return g.sizes[g.r.IntN(len(g.sizes))] }

func (g *generator) shape() expr.Shape {
	switch g.r.IntN(5) {
	case 0:
		return expr.ScalarShape()
	case 1:
		return expr.MatrixShape(g.size(), g.size())
	}
	return expr.VectorShape(g.size())
}

func (g *generator) data(s expr.Shape) *expr.Node {
	if s.Rank == 2 && s.Rows == s.Cols && g.r.IntN(2) == 0 {
		return g.symmetric(s.Rows)
	}
	if s.Rank == 2 && g.r.IntN(2) == 0 {
		return g.sparse(s.Rows, s.Cols)
	}
	v := each.Below(s.Len(), func(int) float64 { return g.r.NormFloat64() })
	a := &data.Array{Dense: v}
	switch s.Rank {
	case 1:
		a.Shape = []int{s.Rows}
	case 2:
		a.Shape = []int{s.Rows, s.Cols}
	}
	return g.b.Const(fmt.Sprintf("d%d", g.r.IntN(1e9)), a, diag.Span{})
}

func (g *generator) symmetric(n int) *expr.Node {
	v := make([]float64, n*n)
	for i := range n {
		for j := range i + 1 {
			v[i*n+j] = g.r.NormFloat64()
			v[j*n+i] = v[i*n+j]
		}
	}
	return g.b.Const(fmt.Sprintf("Q%d", g.r.IntN(1e9)), data.Matrix(n, n, v), diag.Span{})
}

func (g *generator) sparse(m, n int) *expr.Node {
	var es []sparse.Entry
	for i := range m {
		for j := range n {
			if g.r.IntN(3) == 0 {
				es = append(es, sparse.Entry{Row: i, Col: j, Val: g.r.NormFloat64()})
			}
		}
	}
	return g.b.Const(fmt.Sprintf("S%d", g.r.IntN(1e9)), data.SparseMatrix(sparse.FromEntries(m, n, es)), diag.Span{})
}

// any is an existing node, sometimes data.
func (g *generator) any() *expr.Node {
	if g.r.IntN(8) == 0 {
		return g.data(g.shape())
	}
	return g.pool[g.r.IntN(len(g.pool))]
}

// like is a node of shape s or a scalar: an existing one, or data.
func (g *generator) like(s expr.Shape) *expr.Node {
	var found []*expr.Node
	for _, n := range g.pool {
		if n.Shape == s || n.Shape.Rank == 0 {
			found = append(found, n)
		}
	}
	if len(found) == 0 || g.r.IntN(4) == 0 {
		return g.data(s)
	}
	return found[g.r.IntN(len(found))]
}

func (g *generator) vector(n int) *expr.Node {
	u := g.like(expr.VectorShape(n))
	if u.Shape.Rank == 0 {
		return g.b.Binary(expr.Mul, u, g.data(expr.VectorShape(n)), diag.Span{})
	}
	return u
}

func (g *generator) bounded(u *expr.Node) *expr.Node {
	return g.b.Unary(expr.Tanh, u, diag.Span{})
}

// positive is 1.5 + tanh(u), between 0.5 and 2.5.
func (g *generator) positive(u *expr.Node) *expr.Node {
	return g.b.Binary(expr.Add, g.bounded(u), g.b.Number(1.5), diag.Span{})
}

// functions are the smooth functions of one argument in the table.
func functions() []expr.Op {
	var out []expr.Op
	for op := range expr.Op(len(expr.Primitives)) {
		if p := op.Info(); p.Class == expr.Elementwise1 && p.Smooth {
			out = append(out, op)
		}
	}
	return out
}

// everyFunction applies each of them to a vector that any of them takes, and to
// a scalar.
func everyFunction() (*generator, *expr.Node) {
	g := newGenerator(5)
	at := diag.Span{}
	bin := func(op expr.Op, u, v *expr.Node) *expr.Node { return g.b.Binary(op, u, v, at) }
	y := g.positive(g.b.Var("y", true, 0, expr.VectorShape(g.dy), at))
	s := g.b.Gather(y, []int{0}, expr.ScalarShape(), at)
	total := g.b.Number(0)
	for _, op := range functions() {
		f := g.b.Unary(op, y, at)
		total = bin(expr.Add, total, bin(expr.Mul, g.b.Unary(op, s, at), g.b.Dot(f, y, at)))
	}
	return g, total
}

// step adds one random node.
func (g *generator) step() {
	at := diag.Span{}
	un := func(op expr.Op, u *expr.Node) *expr.Node { return g.b.Unary(op, u, at) }
	bin := func(op expr.Op, u, v *expr.Node) *expr.Node { return g.b.Binary(op, u, v, at) }
	u := g.any()
	var n *expr.Node
	switch g.r.IntN(22) {
	case 0:
		ops := functions()
		if op := ops[g.r.IntN(len(ops))]; op != expr.Exp && op.Info().Inside == nil {
			n = un(op, u)
			break
		}
		n = un(expr.Neg, u)
	case 1:
		n = un(expr.Exp, g.bounded(u))
	case 2:
		n = un([]expr.Op{expr.Log, expr.Sqrt}[g.r.IntN(2)], g.positive(u))
	case 3, 4:
		n = bin([]expr.Op{expr.Add, expr.Sub}[g.r.IntN(2)], u, g.like(u.Shape))
	case 5, 6:
		n = bin(expr.Mul, g.bounded(u), g.bounded(g.like(u.Shape)))
	case 7:
		n = bin(expr.Div, u, g.positive(g.like(u.Shape)))
	case 8:
		n = bin(expr.Pow, g.bounded(u), g.b.Number(float64(1+g.r.IntN(4))))
	case 9:
		if g.r.IntN(2) == 0 { // powers of functions with a kink that have none
			u = un(expr.Abs, g.bounded(u))
			n = bin(expr.Pow, u, g.b.Number([]float64{1.25, 1.5, 2.5, 3}[g.r.IntN(4)]))
			break
		}
		n = bin(expr.Pow, g.positive(u), g.bounded(g.like(u.Shape)))
	case 10:
		n = g.b.Reduce(expr.Sum, u, at)
	case 11:
		n = g.b.Reduce(expr.LogSumExp, u, at)
	case 12:
		n = g.b.Reduce(expr.Prod, g.bounded(u), at)
	case 13:
		v := g.vector(g.size())
		n = g.b.Dot(v, g.vector(v.Shape.Rows), at)
	case 14, 15, 16:
		m := g.data(expr.MatrixShape(g.size(), g.size()))
		if u.Shape.Rank == 2 {
			m = u
		}
		if g.r.IntN(3) == 0 {
			m = g.symmetric(g.size())
		}
		trans := g.r.IntN(2) == 0
		k := m.Shape.Cols
		if trans {
			k = m.Shape.Rows
		}
		n = g.b.MatVec(m, trans, g.vector(k), at)
	case 17:
		m := g.data(expr.MatrixShape(g.size(), g.size()))
		if u.Shape.Rank == 2 {
			m = u
		}
		ta, tb := g.r.IntN(2) == 0, g.r.IntN(2) == 0
		k, cols := m.Shape.Cols, g.size()
		if ta {
			k = m.Shape.Rows
		}
		s := expr.MatrixShape(k, cols)
		if tb {
			s = expr.MatrixShape(cols, k)
		}
		c := g.like(s)
		if c.Shape.Rank == 0 {
			c = g.data(s)
		}
		n = g.bounded(g.b.MatMul(m, ta, c, tb, at))
	case 18:
		n = g.b.Outer(g.vector(g.size()), g.vector(g.size()), at)
	case 19:
		if u.Shape.Rank != 2 {
			return
		}
		n = g.b.Transpose(u, at)
	case 20:
		s := g.shape()
		index := each.Below(s.Len(), func(int) int { return g.r.IntN(u.Shape.Len()+1) - 1 })
		n = g.b.Gather(u, index, s, at)
	case 21:
		s := g.shape()
		index := each.Below(u.Shape.Len(), func(int) int { return g.r.IntN(s.Len()+1) - 1 })
		n = g.b.ScatterAdd(u, index, s, at)
	}
	g.pool = append(g.pool, n)
}

// scalar makes a whole expression of about n operations: the sum of a few
// bounded quantities, so that much of what was made takes part.
func (g *generator) scalar(n int) *expr.Node {
	for range n {
		g.step()
	}
	total := g.b.Number(0.25)
	for k := len(g.pool) - 1; k >= 0 && k >= len(g.pool)-4; k-- {
		s := g.b.Reduce(expr.Sum, g.bounded(g.pool[k]), diag.Span{})
		total = g.b.Binary(expr.Add, total, s, diag.Span{})
	}
	return total
}

func (g *generator) point() (x, y []float64) {
	x, y = make([]float64, g.dx), make([]float64, g.dy)
	for i := range x {
		x[i] = g.r.NormFloat64()
	}
	for i := range y {
		y[i] = g.r.NormFloat64()
	}
	return x, y
}

// nativeExpression is the k-th expression of TestNative.
func nativeExpression(k int) (*generator, *expr.Node) {
	if k == 0 {
		return large(3)
	}
	if k == 1 {
		return everyFunction()
	}
	g := newGenerator(uint64(6000 + k))
	return g, g.scalar(25)
}

// large is an expression whose products (symmetric, plain, transposed, sparse)
// and loops are cut into pieces.
func large(seed uint64) (*generator, *expr.Node) {
	g := &generator{b: expr.NewBuilder(), r: rand.New(rand.NewPCG(seed, 7)), dx: 1, dy: 1800}
	at := diag.Span{}
	bin := func(op expr.Op, u, v *expr.Node) *expr.Node { return g.b.Binary(op, u, v, at) }
	y := g.b.Var("y", true, 0, expr.VectorShape(g.dy), at)
	x := g.b.Var("x", false, 0, expr.ScalarShape(), at)
	v := each.Below(1500*g.dy, func(int) float64 { return g.r.NormFloat64() / 40 })
	A := g.b.Const("A", data.Matrix(1500, g.dy, v), at)
	B := g.b.Const("B", data.Matrix(g.dy, 1500, v), at)
	Q, S := g.symmetric(g.dy), g.sparse(g.dy, g.dy)
	quad := g.b.Dot(g.b.MatVec(Q, false, y, at), y, at)
	squeezed := bin(expr.Add, g.b.Reduce(expr.LogSumExp, g.bounded(g.b.MatVec(A, false, y, at)), at),
		g.b.Reduce(expr.LogSumExp, g.b.MatVec(B, true, y, at), at))
	thin := g.b.Reduce(expr.LogSumExp, g.b.MatVec(S, false, y, at), at)
	wide := each.Below(400*g.dy, func(k int) int { return k % g.dy })
	long := g.b.Gather(y, wide, expr.VectorShape(len(wide)), at)
	sum := g.b.Reduce(expr.Sum, g.b.Unary(expr.Sin, bin(expr.Mul, x, long), at), at)
	return g, bin(expr.Add, bin(expr.Add, quad, squeezed), bin(expr.Add, thin, sum))
}
