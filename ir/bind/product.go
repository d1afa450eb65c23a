package bind

import (
	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// This file holds the linear-algebra product `*`, of pairs and of chains.

// products are the products of a chain a * b * c as written, without looking into
// brackets, the innermost first: each has one factor more on its right.
func products(x *lang.Binary) []*lang.Binary {
	if left, ok := x.X.(*lang.Binary); ok && left.Op == lang.Mul {
		return append(products(left), x)
	}
	return []*lang.Binary{x}
}

// chain is the product of a chain. It reads from the left, as the language
// does, to find where the product becomes a scalar (x' * y * z is (x' * y) *
// z); each stretch between is a chain of matrices, which associates as it is
// cheapest; scalars are multiplied first.
func (e *elaborator) chain(x *lang.Binary) value {
	var scale value // product of the scalar stretches
	var run []value // the open stretch
	var acc ir.Type // of its product
	scaleBy := func(v value) {
		if scale.bad() {
			scale = v
		} else {
			scale = e.map2(expr.Mul, scale, v, e.at(x))
		}
	}
	list := products(x)
	for k := range len(list) + 1 {
		v := e.expr(factorOf(list, k))
		switch {
		case v.bad():
			for j := k + 1; j <= len(list); j++ {
				e.expr(factorOf(list, j)) // report what is wrong there too
			}
			return value{}
		case v.isScalar():
			scaleBy(v)
			continue
		case len(run) == 0:
			run, acc = []value{v}, v.typ
			continue
		}
		t, f := elab.Arithmetic(list[k-1], acc, v.typ, false)
		if f != nil {
			return e.fault(f)
		}
		if run, acc = append(run, v), t; elab.IsScalar(t) {
			scaleBy(e.cheapest(run, e.at(x)))
			run = nil
		}
	}
	if len(run) == 0 {
		return scale
	}
	v := e.cheapest(run, e.at(x))
	if !scale.bad() {
		v = e.map2(expr.Mul, scale, v, e.at(x))
	}
	return v
}

// factorOf is the k-th factor of a chain.
func factorOf(list []*lang.Binary, k int) lang.Expr {
	if k == 0 {
		return list[0].X
	}
	return list[k-1].Y
}

func isColumn(v value) bool { return v.typ.Kind == ir.VectorType }

// extent is the number of rows and columns of a vector, row or matrix.
func extent(v value) (rows, cols int) {
	if v.isRow() {
		return 1, v.item().Rows
	}
	return v.item().Rows, v.item().Cols
}

// weight is the relative cost of an operation by how often it runs: once, for
// each x, for each y. It only orders ways to compute the same thing.
func weight(d expr.Deps) float64 {
	switch {
	case d&expr.DependsY != 0:
		return 1
	case d&expr.DependsX != 0:
		return 1.0 / 16
	}
	return 1.0 / 64
}

// cheapest multiplies a chain of conforming factors in the order of least
// cost (the matrix-chain recursion), from the right where costs are equal.
func (e *elaborator) cheapest(run []value, at diag.Span) value {
	n := len(run)
	type plan struct {
		cost  float64
		split int
		deps  expr.Deps
	}
	best := make([][]plan, n)
	for i := range best {
		best[i] = make([]plan, n)
		best[i][i].deps = run[i].node.Deps
	}
	for length := 2; length <= n; length++ {
		for i := 0; i+length <= n; i++ {
			j := i + length - 1
			rows, _ := extent(run[i])
			_, cols := extent(run[j])
			deps := best[i][j-1].deps | run[j].node.Deps
			best[i][j] = plan{cost: -1, deps: deps}
			for k := i; k < j; k++ {
				_, inner := extent(run[k])
				cost := best[i][k].cost + best[k+1][j].cost +
					weight(deps)*float64(rows)*float64(inner)*float64(cols)
				if best[i][j].cost < 0 || cost < best[i][j].cost {
					best[i][j].cost, best[i][j].split = cost, k
				}
			}
		}
	}
	var multiply func(i, j int) value
	multiply = func(i, j int) value {
		if i == j {
			return run[i]
		}
		k := best[i][j].split
		return e.product(multiply(i, k), multiply(k+1, j), at)
	}
	return multiply(0, n-1)
}

// product is u * v.
func (e *elaborator) product(u, v value, at diag.Span) value {
	u, v = e.num(u), e.num(v)
	if u.isScalar() || v.isScalar() {
		return e.map2(expr.Mul, u, v, at)
	}
	t, _ := elab.Multiply(u.typ, v.typ) // has been checked
	out := shaped(t, join(u.space, v.space))
	e.roomFor(out.item(), out.space, u, v, at)
	if out.space != nil {
		return e.batchedProduct(out, u, v, at)
	}
	g := e.b.graph
	switch {
	case u.isRow() && isColumn(v):
		out.node = g.Dot(u.node, v.node, at)
	case isColumn(u):
		out.node = g.Outer(u.node, v.node, at)
	case isColumn(v):
		out.node = g.MatVec(u.node, false, v.node, at)
	case u.isRow():
		out.node = g.MatVec(v.node, true, u.node, at)
	default:
		out.node = g.MatMul(u.node, false, v.node, false, at)
	}
	return out
}

// roomFor counts the entries of a product that is a matrix, unless it stays
// sparse.
func (e *elaborator) roomFor(item expr.Shape, s *space, u, v value, at diag.Span) {
	if (item.Rank == 2 || s != nil) && !(staysSparse(u.node) && staysSparse(v.node)) {
		e.b.fits(at, "the product", s.size(), item.Rows, item.Cols)
	}
}

// staysSparse reports whether the value of a node will be a sparse matrix.
func staysSparse(n *expr.Node) bool {
	switch n.Op {
	case expr.Const:
		return n.Value != nil && n.Value.Sparse != nil
	case expr.Neg, expr.Transpose:
		return staysSparse(n.Args[0])
	case expr.Add, expr.Sub, expr.MatMul:
		return staysSparse(n.Args[0]) && staysSparse(n.Args[1])
	case expr.Mul:
		return staysSparse(n.Args[0]) || staysSparse(n.Args[1])
	case expr.Div:
		return staysSparse(n.Args[0])
	}
	return false
}

// batchedProduct multiplies where a factor differs from tuple to tuple.
func (e *elaborator) batchedProduct(out, u, v value, at diag.Span) value {
	g, s := e.b.graph, out.space
	switch {
	case isColumn(v) && v.space == nil:
		flat := g.MatVec(e.lift(u, s, at).node, false, v.node, at)
		out.node = e.reshape(flat, s.shape(out.item()), at)
	case u.isRow() && isColumn(v) && u.space == nil:
		out.node = g.MatVec(e.lift(v, s, at).node, false, u.node, at)
	case u.isRow() && isColumn(v):
		v.typ = elab.Transposed(v.typ)
		return e.itemSum(e.map2(expr.Mul, u, v, at), at)
	case u.space == nil && u.item().Rank == 2 && isColumn(v):
		out.node = g.MatMul(e.lift(v, s, at).node, false, u.node, true, at)
	case !isColumn(u) && v.space == nil:
		out.node = g.MatMul(e.lift(u, s, at).node, false, v.node, false, at)
	default:
		return e.contract(out, u, v, at)
	}
	return out
}

// contract is the general batched product: both factors gathered to one entry
// for each (tuple, row, column, inner index), multiplied, and summed over the
// inner index.
func (e *elaborator) contract(out, u, v value, at diag.Span) value {
	s := out.space
	u, v = e.lift(u, s, at), e.lift(v, s, at)
	rows, inner := extent(u)
	_, cols := extent(v)
	e.b.fits(at, "the expanded product", s.n, rows, cols, inner)
	size := s.n * rows * cols * inner
	left, right := make([]int, 0, size), make([]int, 0, size)
	for k := range s.n {
		for i := range rows {
			for j := range cols {
				for l := range inner {
					left = append(left, (k*rows+i)*inner+l)
					right = append(right, (k*inner+l)*cols+j)
				}
			}
		}
	}
	shape := expr.MatrixShape(s.n*rows*cols, inner)
	prod := e.b.graph.Binary(expr.Mul, e.b.graph.Gather(u.node, left, shape, at), e.b.graph.Gather(v.node, right, shape, at), at)
	flat := e.b.graph.MatVec(prod, false, e.ones(inner), at)
	out.node = e.reshape(flat, s.shape(out.item()), at)
	return out
}

// ones is an unnamed vector of ones.
func (e *elaborator) ones(n int) *expr.Node {
	return e.b.graph.Fill(1, expr.VectorShape(n), diag.Span{})
}
