package curvature

import (
	"math"
	"math/rand/v2"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/ir"
	"bilevelc/ir/data"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

// model is a random bilevel problem over the graph builder.
type model struct {
	p                    *ir.Problem
	b                    *expr.Builder
	everywhere, feasible domain
}

// randomModel makes x in a random box, y with random bounds, sometimes general
// rows, and objectives of random compositions and products.
func randomModel(r *rand.Rand) *model {
	b := expr.NewBuilder()
	dx, dy := 1+r.IntN(3), 1+r.IntN(4)
	p := &ir.Problem{Graph: b, Name: "random"}
	m := &model{p: p, b: b}
	var nodes []*expr.Node
	level := func(name string, lower bool, d int) ir.Level {
		l := ir.Level{Dim: d}
		shape := expr.VectorShape(d)
		if d == 1 && r.IntN(2) == 0 {
			shape = expr.ScalarShape()
		}
		l.Vars = []ir.Variable{{Name: name, Shape: shape}}
		n := b.Var(name, lower, 0, shape, diag.Span{})
		nodes = append(nodes, n)
		if shape.Rank == 1 && r.IntN(2) == 0 { // entries as scalars
			for k := range d {
				e := b.Gather(n, []int{k}, expr.ScalarShape(), diag.Span{})
				nodes = append(nodes, e)
			}
		}
		return l
	}
	p.Upper, p.Lower = level("x", false, dx), level("y", true, dy)
	p.X = ir.UpperSet{Lo: make([]float64, dx), Hi: make([]float64, dx), E: &sparse.CSR{Cols: dx, Ptr: []int{0}}}
	for i := range dx {
		p.X.Lo[i], p.X.Hi[i] = randomBounds(r)
	}
	if r.IntN(4) == 0 { // X is a simplex
		var row []sparse.Entry
		for i := range dx {
			p.X.Lo[i], p.X.Hi[i] = 0, math.Inf(1)
			row = append(row, sparse.Entry{Col: i, Val: 1})
		}
		p.X.Rows, p.X.Rhs, p.X.E = []ir.Row{{Equal: true, Name: "simplex"}}, []float64{1}, sparse.FromEntries(1, dx, row)
	}
	var a, bm []sparse.Entry
	row := func(equal bool, rhs float64) int {
		p.Rows = append(p.Rows, ir.Row{Equal: equal, Name: "row"})
		p.Rhs = append(p.Rhs, rhs)
		return len(p.Rows) - 1
	}
	if r.IntN(3) > 0 { // bounds: y >= lo is -y <= -lo, so B = 1
		for j := range dy {
			lo, hi := randomBounds(r)
			if !math.IsInf(lo, 0) {
				bm = append(bm, sparse.Entry{Row: row(false, -lo), Col: j, Val: 1})
			}
			if !math.IsInf(hi, 0) {
				bm = append(bm, sparse.Entry{Row: row(false, hi), Col: j, Val: -1})
			}
		}
	}
	var fixed []float64 // coefficients of an equality
	if r.IntN(2) == 0 {
		i := row(r.IntN(3) > 0, r.NormFloat64())
		coefs := make([]float64, dy)
		for j := range dy {
			coefs[j] = math.Round(2 * r.NormFloat64())
			bm = append(bm, sparse.Entry{Row: i, Col: j, Val: coefs[j]})
		}
		if p.Rows[i].Equal && dy > 1 && r.IntN(3) == 0 {
			fixed = coefs
		}
		if r.IntN(2) == 0 {
			a = append(a, sparse.Entry{Row: i, Col: r.IntN(dx), Val: r.NormFloat64()})
		}
	}
	p.A, p.B = sparse.FromEntries(len(p.Rows), dx, a), sparse.FromEntries(len(p.Rows), dy, bm)
	p.Lower.Objective = m.objective(r, nodes)
	if fixed != nil { // concave across the equality alone
		at := slices.IndexFunc(nodes, func(n *expr.Node) bool { return n.Op == expr.Var && n.Lower })
		side := b.Reduce(expr.Sum, m.op(expr.Mul, b.Const("", data.Vector(fixed), diag.Span{}), nodes[at]), diag.Span{})
		p.Lower.Objective = m.op(expr.Sub, p.Lower.Objective, m.square(side))
	}
	p.Upper.Objective = m.objective(r, nodes)
	m.everywhere, m.feasible, _ = domains(p)
	return m
}

func randomBounds(r *rand.Rand) (lo, hi float64) {
	lo = math.Round(4*r.NormFloat64()) / 2
	hi = lo + math.Round(8*r.Float64())/4 + 0.25
	switch r.IntN(6) {
	case 0:
		lo = math.Inf(-1)
	case 1:
		hi = math.Inf(1)
	case 2:
		return math.Inf(-1), math.Inf(1)
	}
	return lo, hi
}

// objective sums a few random terms, mostly of a shape that users write.
func (m *model) objective(r *rand.Rand, base []*expr.Node) *expr.Node {
	pool := append([]*expr.Node(nil), base...)
	for range r.IntN(7) {
		if n := m.grow(r, pool); n != nil {
			pool = append(pool, n)
		}
	}
	total := m.b.Number(0)
	for range 1 + r.IntN(4) {
		total = m.op(expr.Add, total, m.scalar(r, pool[r.IntN(len(pool))]))
	}
	for _, n := range base { // often a strongly convex term
		if n.Op == expr.Var && n.Lower && r.IntN(3) > 0 {
			c := m.b.Number(math.Round(20*r.Float64()) / 4)
			total = m.op(expr.Add, total, m.op(expr.Mul, c, m.square(n)))
		}
	}
	return total
}

func (m *model) op(op expr.Op, u, v *expr.Node) *expr.Node {
	if u.Shape != v.Shape && u.Shape.Rank > 0 && v.Shape.Rank > 0 {
		return nil
	}
	return m.b.Binary(op, u, v, diag.Span{})
}

func (m *model) square(n *expr.Node) *expr.Node {
	return m.b.Reduce(expr.Sum, m.op(expr.Pow, n, m.b.Number(2)), diag.Span{})
}

func (m *model) scalar(r *rand.Rand, n *expr.Node) *expr.Node {
	if n.Shape.Rank == 0 {
		return n
	}
	op := expr.Sum
	switch r.IntN(8) {
	case 0:
		op = expr.LogSumExp
	case 1:
		op = expr.Prod
	case 2:
		return m.square(n)
	}
	return m.b.Reduce(op, n, diag.Span{})
}

// grow applies one random operation to nodes of the pool.
func (m *model) grow(r *rand.Rand, pool []*expr.Node) *expr.Node {
	b := m.b
	u, v := pool[r.IntN(len(pool))], pool[r.IntN(len(pool))]
	constant := func(s expr.Shape) *expr.Node {
		vals := gauss(r, s.Len())
		for i := range vals {
			if vals[i] *= 2; r.IntN(2) == 0 {
				vals[i] = math.Round(vals[i])
			}
		}
		a := &data.Array{Dense: vals}
		if s.Rank == 1 {
			a = data.Vector(vals)
		} else if s.Rank == 2 {
			a = data.Matrix(s.Rows, s.Cols, vals)
		}
		return b.Const("", a, diag.Span{})
	}
	var n *expr.Node
	switch r.IntN(16) {
	case 0, 1:
		var ops []expr.Op
		for op := range expr.Op(len(expr.Primitives)) {
			if p := op.Info(); p.Class == expr.Elementwise1 && p.Smooth && p.Inside == nil {
				ops = append(ops, op)
			}
		}
		n = b.Unary(ops[r.IntN(len(ops))], u, diag.Span{})
	case 2:
		switch r.IntN(6) {
		case 0: // powers of functions with a kink that have none
			n = b.Unary(expr.Abs, u, diag.Span{})
			n = m.op(expr.Pow, n, b.Number([]float64{1.25, 1.5, 2.5, 3}[r.IntN(4)]))
		case 1:
			n = m.op(expr.Pow, m.op(expr.Max, u, b.Fill(0, u.Shape, diag.Span{})), b.Number([]float64{1.25, 1.5, 2.5, 3}[r.IntN(4)]))
		default:
			n = m.op(expr.Pow, u, b.Number([]float64{2, 2, 2, 3, 4}[r.IntN(5)]))
		}
	case 3: // sqrt, log of something that is positive
		pos := m.op(expr.Add, m.op(expr.Pow, u, b.Number(2)), b.Number(math.Round(4*r.Float64()+1)/4))
		n = b.Unary([]expr.Op{expr.Sqrt, expr.Log}[r.IntN(2)], pos, diag.Span{})
	case 4: // log, powers, entropy where bounds may make it legal
		switch r.IntN(3) {
		case 0:
			n = b.Unary(expr.Log, u, diag.Span{})
		case 1:
			by := func() *expr.Node { return b.Number([]float64{1, 0.5, 3}[r.IntN(3)]) }
			n = b.Unary(expr.Log, m.op(expr.Mul, by(), u), diag.Span{})
			n = m.op(expr.Mul, m.op(expr.Mul, by(), u), n)
		default:
			n = m.op(expr.Pow, u, b.Number([]float64{0.5, 1.5, -1, -2}[r.IntN(4)]))
		}
	case 5, 6:
		n = m.op(expr.Add, u, v)
	case 7:
		n = m.op(expr.Sub, u, v)
	case 8, 9:
		n = m.op(expr.Mul, u, v)
	case 10:
		if x := pool[0]; r.IntN(2) == 0 && x.Shape.Rank == 1 { // weights from x on a convex function of y
			h := m.op(expr.Sub, u, constant(u.Shape))
			if u.Shape != x.Shape {
				return nil
			}
			n = b.Dot(x, b.Unary([]expr.Op{expr.Exp, expr.Log1pExp, expr.Tanh}[r.IntN(3)], h, diag.Span{}), diag.Span{})
			break
		}
		n = m.op(expr.Mul, u, constant([]expr.Shape{expr.ScalarShape(), u.Shape}[r.IntN(2)]))
	case 11:
		n = m.op(expr.Div, u, m.op(expr.Add, m.op(expr.Pow, v, b.Number(2)), b.Number(1)))
	case 12:
		n = m.op(expr.Sub, u, constant(u.Shape))
	case 13: // M u, or a quadratic form
		if u.Shape.Rank != 1 {
			return nil
		}
		d := u.Shape.Rows
		mat := constant(expr.MatrixShape(d, d))
		if r.IntN(2) == 0 {
			mat = b.MatMul(mat, true, mat, false, diag.Span{})
		}
		if n = b.MatVec(mat, r.IntN(2) == 0, u, diag.Span{}); r.IntN(2) == 0 {
			n = b.Dot(u, n, diag.Span{})
		}
	case 14:
		if u.Shape.Rank != 1 || v.Shape != u.Shape {
			return nil
		}
		n = b.Dot(u, v, diag.Span{})
	default: // a quadratic form with a matrix of x or y on its diagonal, or u v'
		if u.Shape.Rank != 1 || v.Shape != u.Shape {
			return nil
		}
		d := u.Shape.Rows
		var mat *expr.Node
		if r.IntN(2) == 0 {
			index := each.Below(d, func(k int) int { return k * (d + 1) })
			mat = b.ScatterAdd(v, index, expr.MatrixShape(d, d), diag.Span{})
			if r.IntN(2) == 0 {
				mat = m.op(expr.Add, mat, constant(expr.MatrixShape(d, d)))
			}
		} else {
			mat = b.Outer(v, u, diag.Span{})
		}
		n = b.Dot(u, b.MatVec(mat, r.IntN(2) == 0, u, diag.Span{}), diag.Span{})
	}
	return n
}

// sample is a point of X and of the set of y that a scope speaks of.
func (m *model) sample(r *rand.Rand, scope Scope) (x, y []float64) {
	draw := func(box []Interval) []float64 {
		z := make([]float64, len(box))
		for i, e := range box {
			e = e.meet(Interval{-3, 3}.add(point(e.middle())))
			switch r.IntN(4) {
			case 0:
				z[i] = e.Lo
			case 1:
				z[i] = e.Hi
			default:
				z[i] = e.Lo + r.Float64()*(e.Hi-e.Lo)
			}
		}
		return z
	}
	from := m.everywhere.y
	if scope != everywhere {
		from = m.feasible.y
	}
	x = draw(m.everywhere.x)
	if len(m.p.X.Rows) > 0 {
		total := 0.0
		for i := range x {
			x[i] += 1e-3 * r.Float64()
			total += x[i]
		}
		for i := range x {
			x[i] /= total
		}
	}
	return x, draw(from)
}
