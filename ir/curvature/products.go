package curvature

import (
	"math"
	"slices"

	"bilevelc/internal/directed"
	"bilevelc/internal/each"
	"bilevelc/ir/expr"
)

// This file holds the backward rules of products, of quadratic forms, and of
// the convex functions of several variables.

// visitDot treats u'v as the sum of an elementwise product, so that sum(u .*
// log(u)) is one function of one variable, and u' M u as a quadratic form.
func (b *backward) visitDot(n *expr.Node, w Interval) {
	u, v := n.Args[0], n.Args[1]
	if b.varies(u) && b.varies(v) {
		for _, pair := range [][2]*expr.Node{{u, v}, {v, u}} {
			if arg, m := pair[0], pair[1]; m.Op == expr.MatVec && m.Args[1] == arg && !b.varies(m.Args[0]) {
				b.quadratic(n, arg, factor{m.Args[0], m.TransA}, w)
				b.pushBack(n, []Interval{w})
				return
			}
		}
	}
	ws := fill(make([]Interval, u.Shape.Len()), w)
	first := len(b.out.terms)
	b.visit(b.made(expr.Node{Op: expr.Mul, Args: n.Args, Shape: u.Shape, Deps: n.Deps, Span: n.Span, Opaque: n.Opaque}), ws)
	for i := range b.out.terms[first:] {
		t := &b.out.terms[first+i]
		t.shared = !t.square() // u_k v_k all have the one weight of u'v
	}
}

// product says of what a product of two nodes is.
type product struct {
	op          expr.Op
	left, right *expr.Node
	trans       bool
}

// made is a product as a node of this study only, each once.
func (s *study) made(n expr.Node) *expr.Node {
	key := product{n.Op, n.Args[0], n.Args[1], n.TransA}
	if s.products[key] == nil {
		s.products[key] = &n
	}
	return s.products[key]
}

// quadratic records the terms of w u' M u. A known M of moderate size is kept
// as it is, so that it adds up exactly with the rest; otherwise M is taken
// apart into what its structure shows.
func (b *backward) quadratic(n, u *expr.Node, m factor, w Interval) {
	size := u.Shape.Rows
	if v := b.known(m.node); v != nil && !b.coarse && (size <= maxDense || v.Sparse != nil) {
		rule := "quadratic form"
		if gram(m.node) {
			rule = "sum of squares: a matrix times its transpose"
		}
		times := b.made(expr.Node{Op: expr.MatVec, Args: []*expr.Node{m.node, u}, TransA: m.trans, Shape: u.Shape, Deps: u.Deps, Span: n.Span})
		b.out.terms = append(b.out.terms, term{node: n, rule: rule, arg: u, other: times, w: fill(make([]Interval, size), w), shared: true, matrix: true})
		return
	}
	switch op := m.node; op.Op {
	case expr.Add, expr.Sub:
		if op.Args[0].Shape == op.Shape && op.Args[1].Shape == op.Shape {
			second := w
			if op.Op == expr.Sub {
				second = w.neg()
			}
			b.quadratic(n, u, factor{op.Args[0], m.trans}, w)
			b.quadratic(n, u, factor{op.Args[1], m.trans}, second)
			return
		}
	case expr.Neg:
		b.quadratic(n, u, factor{op.Args[0], m.trans}, w.neg())
		return
	case expr.Transpose:
		b.quadratic(n, u, factor{op.Args[0], !m.trans}, w)
		return
	case expr.Mul:
		for i, scalar := range op.Args {
			if scalar.Shape.Rank == 0 {
				b.quadratic(n, u, factor{op.Args[1-i], m.trans}, w.mul(b.rangeOf(scalar)[0]))
				return
			}
		}
	case expr.Div:
		if op.Args[1].Shape.Rank == 0 {
			b.quadratic(n, u, factor{op.Args[0], m.trans}, w.div(b.rangeOf(op.Args[1])[0]))
			return
		}
	case expr.MatMul:
		if gram(op) {
			var frobenius Interval // squared: no eigenvalue of A'A is larger
			for _, e := range b.rangeOf(op.Args[0]) {
				frobenius = frobenius.add(e.sqr())
			}
			b.addSquare(op, "sum of squares: a matrix times its transpose", u, []Interval{w.mul(Interval{0, directed.MulUp(2, frobenius.Hi)})})
			return
		}
	case expr.ScatterAdd:
		if diag := b.rangeOf(op.Args[0]); diagonal(op) {
			d := make([]Interval, size)
			for k, i := range op.Index {
				d[i/size] = d[i/size].add(w.mul(diag[k]).mul(point(2)))
			}
			b.addSquare(op, "diagonal matrix", u, d)
			return
		}
	}
	b.addSquare(m.node, "matrix bounded entry by entry", u, b.gershgorin(m.node, w))
}

// gram reports A' A or A A'.
func gram(n *expr.Node) bool {
	return n.Op == expr.MatMul && n.Args[0] == n.Args[1] && n.TransA != n.TransB
}

// diagonal reports that a scatter puts entries on the diagonal of a square
// matrix only.
func diagonal(n *expr.Node) bool {
	if n.Shape.Rank != 2 || n.Shape.Rows != n.Shape.Cols {
		return false
	}
	return !slices.ContainsFunc(n.Index, func(i int) bool { return i < 0 || i%(n.Shape.Rows+1) != 0 })
}

// gershgorin encloses w (M + M') between diagonal matrices, diagonal plus and
// minus the sum of the others: from the stored entries of a data matrix, and
// otherwise from the ranges of all entries.
func (b *backward) gershgorin(m *expr.Node, w Interval) []Interval {
	n := m.Shape.Rows
	diagonal, off := make([]Interval, n), make([]float64, n)
	add := func(i, j int, e Interval) {
		if i == j {
			diagonal[i] = e.add(e)
			return
		}
		size := e.mag()
		off[i], off[j] = directed.AddUp(off[i], size), directed.AddUp(off[j], size)
	}
	if v := b.known(m); v != nil && v.Sparse != nil {
		eachEntry(v, false, func(i, j int, a float64) { add(i, j, point(a)) })
	} else {
		r := b.rangeOf(m)
		for i := range n {
			for j := range i {
				add(i, j, r[i*n+j].add(r[j*n+i]))
			}
			add(i, i, r[i*n+i])
		}
	}
	return each.Below(n, func(i int) Interval {
		return w.mul(Interval{directed.AddDown(diagonal[i].Lo, -off[i]), directed.AddUp(diagonal[i].Hi, off[i])})
	})
}

// curveLogSumExp: with p = softmax(u), the second derivative diag(p) - p p' is
// the variance under p, between 0 and (max v - min v)^2/4 <= |v|^2/2.
func (b *backward) curveLogSumExp(n *expr.Node, w Interval) {
	b.addSquare(n, "log-sum-exp", n.Args[0], []Interval{w.mul(Interval{0, 0.5})})
}

// softmaxRange: p_k = 1/(1 + sum of exp(u_j - u_k), j != k) is least where u_k
// is least and the others greatest.
func softmaxRange(u []Interval) []Interval {
	lo := func(e Interval) float64 { return e.Lo }
	hi := func(e Interval) float64 { return e.Hi }
	least, most := softmaxAt(u, lo, hi), softmaxAt(u, hi, lo)
	size := 0.0
	for _, e := range u {
		for _, v := range [2]float64{e.Lo, e.Hi} {
			if !math.IsInf(v, 0) {
				size = max(size, math.Abs(v))
			}
		}
	}
	// The logarithm of each sum is made in as many steps as there are entries, of a few
	// roundings of its size each.
	slack := float64(len(u)+ulps) * 0x1p-50 * (1 + size)
	out := fill(make([]Interval, len(u)), Interval{0, 1})
	for k := range out {
		if slack < 0.5 && !math.IsNaN(least[k]) && !math.IsNaN(most[k]) {
			out[k] = Interval{least[k] * (1 - slack), most[k] * (1 + slack)}.meet(out[k])
		}
	}
	return out
}

// softmaxAt are 1/(1 + sum of exp(others(u_j) - own(u_k)), j != k), by logarithms of the sums
// on both sides of each k.
func softmaxAt(u []Interval, own, others func(Interval) float64) []float64 {
	add := func(a, b float64) float64 { // log(exp a + exp b)
		top := max(a, b)
		if math.IsInf(top, 0) {
			return top
		}
		return top + math.Log1p(math.Exp(min(a, b)-top))
	}
	out, before, after := make([]float64, len(u)), math.Inf(-1), math.Inf(-1)
	for k, e := range u {
		out[k] = before
		before = add(before, others(e))
	}
	for k := len(u) - 1; k >= 0; k-- {
		total := add(out[k], after)
		if out[k] = 1; !math.IsInf(total, -1) { // there are others
			out[k] = 1 / (1 + math.Exp(total-own(u[k])))
		}
		after = add(after, others(u[k]))
	}
	return out
}

// prodFactors bounds the length of a product that is differentiated entry by
// entry: the cost is its cube.
const prodFactors = 64

func prodRange(u []Interval) Interval {
	out := point(1)
	for _, e := range u {
		out = out.mul(e)
	}
	return out
}

// productOfOthers is that of all entries but i and j, times w.
func productOfOthers(w Interval, u []Interval, i, j int) Interval {
	for k, e := range u {
		if k != i && k != j {
			w = w.mul(e)
		}
	}
	return w
}

func prodSlopes(u []Interval) []Interval {
	return each.Below(len(u), func(i int) Interval {
		if len(u) > prodFactors {
			return wholeLine()
		}
		return productOfOthers(point(1), u, i, i)
	})
}

func (b *backward) curveProd(n *expr.Node, w Interval) {
	u := n.Args[0]
	m := u.Shape.Len()
	if m > prodFactors {
		b.addSquare(n, "a product of many entries", u, []Interval{wholeLine()})
		return
	}
	if m == 1 {
		return
	}
	r := b.rangeOf(u)
	mixed := make([]Interval, 0, m*m/2)
	for i := range m {
		for j := range i {
			mixed = append(mixed, productOfOthers(w, r, i, j))
		}
	}
	b.out.terms = append(b.out.terms, term{node: n, rule: "a product of entries that all vary", arg: u, other: u, w: mixed,
		pairs: func(visit func(i, j, k int)) {
			k := 0
			for i := range m {
				for j := range i {
					visit(i, j, k)
					k++
				}
			}
		}})
}

// curveUnknown is for powers of two different expressions that both vary, and for what is not smooth.
func (b *backward) curveUnknown(n *expr.Node, _ Interval) {
	for _, a := range n.Args {
		b.addSquare(n, "this operation on two expressions that both vary has no rule", a, []Interval{wholeLine()})
	}
}

// visitNorm takes r = sqrt(c + |u|^2) of all u as one function, whose second derivative I/r - u u'/r^3 is between c/r^3 and 1/r, and
// reports whether n is one.
func (b *backward) visitNorm(n *expr.Node, w []Interval) bool {
	if !b.norm(n) {
		return false
	}
	c, parts := b.splitNorm(n.Args[0])
	r2 := b.rangeOf(n.Args[0])[0].meet(Interval{0, math.Inf(1)})
	r := Interval{directed.SqrtDown(max(r2.Lo, 0)), directed.SqrtUp(r2.Hi)}
	least := c.mul(r.mul(r2).recip()).Lo
	for _, u := range parts {
		b.addSquare(n, "Euclidean norm", u, []Interval{w[0].mul(Interval{max(least, 0), r.recip().Hi})})
		if b.wants(u) {
			ur := b.rangeOf(u)
			b.push(u, func(k int) Interval {
				return w[0].mul(ur[k].mul(r.recip()).meet(Interval{-1, 1}))
			})
		}
	}
	return true
}

// norm matches sqrt(c + |u|^2) of a u that is no function of one variable: what is one is fused.
func (s *study) norm(n *expr.Node) bool {
	if n.Op != expr.Sqrt || n.Shape != expr.ScalarShape() {
		return false
	}
	_, parts := s.splitNorm(n.Args[0])
	return slices.ContainsFunc(parts, func(u *expr.Node) bool { return u.Shape != n.Shape || s.leafOf(u) != s.leafOf(parts[0]) })
}

// splitNorm matches c + |u|^2 with c >= 0 free of the variables (0 where there
// is none), where u is all parts together; there are none of another function.
func (s *study) splitNorm(n *expr.Node) (c Interval, parts []*expr.Node) {
	if u, ok := s.squared(n); ok && s.varies(n) {
		return Interval{}, []*expr.Node{u}
	}
	if k, q := s.shifted(n); q != nil {
		if r := s.rangeOf(k)[0]; r.Lo >= 0 {
			c, parts = s.splitNorm(q)
			return c.add(r), parts
		}
	}
	switch {
	case !s.varies(n):
	case n.Op == expr.Dot && n.Args[0] == n.Args[1]:
		return Interval{}, n.Args[:1]
	case n.Op == expr.Sum:
		if u, ok := s.squared(n.Args[0]); ok && u.Shape == n.Args[0].Shape {
			return Interval{}, []*expr.Node{u}
		}
	case n.Op == expr.Add:
		first, of := s.splitNorm(n.Args[0])
		second, more := s.splitNorm(n.Args[1])
		if of != nil && more != nil {
			return first.add(second), slices.Concat(of, more)
		}
	}
	return Interval{}, nil
}

// ruleOf words what the second derivative of a fused region shows.
func (b *backward) ruleOf(n *expr.Node, slopes []jet) string {
	d2 := hullOf(each.Of(slopes, func(j jet) Interval { return j.d2 }))
	name := n.Op.Info().Name
	if _, ok := b.squared(n); ok {
		name = "square"
	} else if name == "" {
		name = "function of one variable"
	}
	switch {
	case d2.Lo >= 0:
		return name + ", convex"
	case d2.Hi <= 0:
		return name + ", concave"
	}
	return name + ", neither convex nor concave over its range"
}
