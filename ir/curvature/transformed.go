package curvature

import (
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/ir"
	"bilevelc/ir/expr"
	"bilevelc/ir/facts"
	"bilevelc/lang/diag"
)

// Untransformed is p with an h in the place of the follower's objective g where g = phi(x, h)
// is strictly increasing in h, and h is simpler: quadratic in place of a power, an
// exponential, a logarithm, or a root of it. Both have the same best answers to each x,
// and h may curve where g does not: (y - x)^4 has no second derivative at its minimum.
// Followers that are independent are taken apart (ir.Transformed).
//
// Where phi increases is read off the ranges that x has in X, and y within its
// rows. What g is undefined for stays so: an operation goes only where it
// is defined on the whole range of its argument.
//
// It is p itself where nothing was found, or where h is not proved to be better
// for solvers than g: strongly convex, or, with ties, which say what happens where h is not, convex.
// Multipliers that the upper level reads are those of g, which h does not have: such a p stays as it is.
func Untransformed(p *ir.Problem, ties bool, opts Options) *ir.Problem {
	q := simplest(p, ties, opts)
	if q == p {
		return p
	}
	plain := *q
	if known := Prove(&plain, opts).Facts(); !(known.StrongConvexity > 0 || ties && known.Convex) {
		return p
	}
	return q
}

// simplest is Untransformed whatever is proved of h.
func simplest(p *ir.Problem, ties bool, opts Options) *ir.Problem {
	if p.Restated != nil || len(p.Duals) > 0 || len(p.Unbound) > 0 || p.Transformed != nil {
		return p
	}
	for q := p; ; {
		u := &untransformer{prover: newProver(q, opts), ties: ties, both: facts.NewDegrees(p.Graph, expr.DependsX|expr.DependsY), inY: facts.NewDegrees(p.Graph, expr.DependsY)}
		next := u.step()
		if next == nil || u.budget().ended() {
			return q
		}
		q = next
	}
}

// untransformer takes one layer of operations off the objective of a problem.
type untransformer struct {
	*prover
	ties      bool
	both, inY *facts.Degrees
	parts     []*part
}

// part is a term of the objective: slope times the sum of the entries of n. What enters y alone is left out.
type part struct {
	n     *expr.Node
	slope *expr.Node // a number that y does not enter
	sign  float64    // of slope, for each x in X: 1, -1, or 0 where it is not known
}

// step is the problem with the next simpler objective; nil where there is none.
func (u *untransformer) step() *ir.Problem {
	g, p := u.Graph, u.Problem
	whole := &part{p.Lower.Objective, g.Number(1), 1}
	if h, steep, found := u.strip(whole.n, whole); found {
		return u.with(h, g.Gather(steep, make([]int, len(p.Rows)), expr.VectorShape(len(p.Rows)), whole.n.Span))
	}
	u.split(whole.n, whole.slope, whole.sign)
	if !slices.ContainsFunc(u.parts, func(t *part) bool { _, _, found := u.strip(t.n, t); return found && t.sign != 0 }) {
		return nil
	}
	class, of, ok := u.classes()
	if !ok {
		return nil
	}
	count := map[int]int{} // terms of each follower
	for _, entries := range of {
		for _, c := range entries {
			count[c]++
		}
	}
	objective := g.Number(0)
	add := func(slope, n *expr.Node) {
		objective = g.Binary(expr.Add, objective, u.times(slope, g.Reduce(expr.Sum, n, n.Span)), n.Span)
	}
	row := slices.Repeat([]int{-1}, len(p.Rows)) // the follower of each
	for i := range row {
		if cols, _ := p.B.Row(i); len(cols) > 0 {
			row[i] = class.Of(cols[0])
		}
	}
	one, slope, changed := slices.Repeat([]float64{1}, len(row)), g.Number(0), false
	for k, t := range u.parts {
		var alone, rest []int
		for e, c := range of[k] {
			switch {
			case c >= 0 && count[c] == 1 && t.sign != 0:
				alone = append(alone, e)
			default: // with y, or without: a domain that it has stays
				rest = append(rest, e)
			}
		}
		own := t.n
		if len(rest) > 0 {
			own = u.pick(t.n, alone)
		}
		h, steep, found := own, t.slope, false
		if len(alone) > 0 {
			h, steep, found = u.strip(own, t)
		}
		if !found {
			add(t.slope, t.n)
			continue
		}
		changed = true
		add(g.Number(1), h)
		if len(rest) > 0 {
			add(t.slope, u.pick(t.n, rest))
		}
		place := map[int]int{}
		for at, e := range alone {
			place[of[k][e]] = at
		}
		index := make([]int, len(row))
		for i, c := range row {
			at, in := place[c]
			switch {
			case !in || c < 0:
				index[i] = -1
			case steep.Shape.Rank > 0:
				index[i], one[i] = at, 0
			default:
				one[i] = 0
			}
		}
		if len(row) > 0 {
			each := g.Gather(steep, index, expr.VectorShape(len(row)), t.n.Span)
			slope = g.Binary(expr.Add, slope, each, t.n.Span)
		}
	}
	if !changed {
		return nil
	}
	return u.with(objective, g.Binary(expr.Add, slope, g.Const("", expr.NewArray(expr.VectorShape(len(one)), one), p.Lower.Span), p.Lower.Span))
}

// with is the problem with another objective, of which the one that it has is a function with the given slopes, row by row.
func (u *untransformer) with(objective, slope *expr.Node) *ir.Problem {
	q := *u.Problem
	q.Transformed = &ir.Transformed{Objective: q.Lower.Objective, Slope: slope}
	if before := u.Transformed; before != nil {
		q.Transformed = &ir.Transformed{Objective: before.Objective, Slope: u.times(before.Slope, slope)}
	}
	q.Lower.Objective = objective
	return &q
}

func (u *untransformer) times(a, b *expr.Node) *expr.Node {
	return u.Graph.Binary(expr.Mul, a, b, b.Span)
}

// rangeOf encloses the entries of a node for x in X and y within its rows.
func (u *untransformer) rangeOf(n *expr.Node) Interval {
	return hullOf(u.study(u.Lower.Objective, expr.DependsY, u.feasible, u.budget()).rangeOf(n))
}

// signOf is the sign of all entries of a node; 0 where it is not known to be one.
func (u *untransformer) signOf(n *expr.Node) float64 {
	switch r := u.rangeOf(n); {
	case r.Lo > 0:
		return 1
	case r.Hi < 0:
		return -1
	}
	return 0
}

// fixed reports an expression of x alone that is defined all over X.
func (u *untransformer) fixed(n *expr.Node) bool {
	return n.Deps&expr.DependsY == 0 && (n.Deps == 0 || u.smoothness(n).Outcome == proved)
}

// split lists the terms of slope times n.
func (u *untransformer) split(n, slope *expr.Node, sign float64) {
	g := u.Graph
	minus := func() *expr.Node { return g.Unary(expr.Neg, slope, n.Span) }
	switch {
	case u.fixed(n): // moves no answer
		return
	case n.Op == expr.Add && n.Shape.Rank == 0:
		u.split(n.Args[0], slope, sign)
		u.split(n.Args[1], slope, sign)
		return
	case n.Op == expr.Sub && n.Shape.Rank == 0:
		u.split(n.Args[0], slope, sign)
		u.split(n.Args[1], minus(), -sign)
		return
	case n.Op == expr.Neg && n.Shape.Rank == 0:
		u.split(n.Args[0], minus(), -sign)
		return
	case n.Op == expr.Mul && n.Shape.Rank == 0:
		for i, c := range n.Args {
			if u.fixed(c) {
				u.split(n.Args[1-i], u.times(c, slope), sign*u.signOf(c))
				return
			}
		}
	case n.Op == expr.Div && n.Shape.Rank == 0 && u.fixed(n.Args[1]):
		c := n.Args[1]
		u.split(n.Args[0], g.Binary(expr.Div, slope, c, n.Span), sign*u.signOf(c))
		return
	case n.Op == expr.Sum:
		n = n.Args[0]
	case n.Op == expr.Dot:
		n = g.Binary(expr.Mul, n.Args[0], n.Args[1], n.Span)
	}
	u.parts = append(u.parts, &part{n, slope, sign})
}

// classes are the independent followers: entries of y that a row, or an entry of a term, has together; with that of each entry of each part, -1 where y does not
// enter it. ok is false where that is too much to find out.
func (u *untransformer) classes() (class sparse.Classes, of [][]int, ok bool) {
	class = sparse.NewClasses(u.Lower.Dim)
	for i := range u.Rows {
		cols, _ := u.B.Row(i)
		for _, j := range cols {
			class.Join(cols[0], j)
		}
	}
	reads := facts.NewSupports(u.Graph)
	of = make([][]int, len(u.parts))
	for k, t := range u.parts {
		of[k] = make([]int, t.n.Shape.Len())
		columns := reads.Of(t.n)
		if columns == nil {
			return class, nil, false
		}
		for e := range of[k] {
			of[k][e] = -1
			support := columns.Of(e)
			for _, j := range support {
				class.Join(int(support[0]), int(j))
				of[k][e] = int(j)
			}
		}
	}
	for _, entries := range of {
		for e, j := range entries {
			if j >= 0 {
				entries[e] = class.Of(j)
			}
		}
	}
	return class, of, true
}

// pick is a vector of entries of an array, or a number that stands for all of them. What is done entry by entry is done to fewer.
func (u *untransformer) pick(n *expr.Node, index []int) *expr.Node {
	switch {
	case n.Shape.Rank == 0:
		return n
	case n.Op == expr.Gather && !slices.Contains(n.Index, -1):
		through := each.Of(index, func(e int) int { return n.Index[e] })
		return u.pick(n.Args[0], through)
	}
	switch n.Op.Info().Class {
	case expr.Elementwise1:
		return u.Graph.Unary(n.Op, u.pick(n.Args[0], index), n.Span)
	case expr.Elementwise2:
		return u.Graph.Binary(n.Op, u.pick(n.Args[0], index), u.pick(n.Args[1], index), n.Span)
	}
	return u.Graph.Gather(n, index, expr.VectorShape(len(index)), n.Span)
}

// strip takes off operations as long as t.slope n is an increasing function of h, entry by entry: found says that some of them curve, or that without them h is quadratic. slope is the derivative of
// t.slope n by h.
func (u *untransformer) strip(n *expr.Node, t *part) (h, slope *expr.Node, found bool) {
	sign, at := t.sign, n.Span
	h, slope = n, t.slope
	affine := true // what was taken off so far
	for {
		a, steep, up, curved := u.outermost(h)
		if a == nil || curved && u.inY.Of(h).Deg <= 2 || !u.ties && curved && u.inY.Of(a).Deg <= 1 {
			break
		}
		h, slope, sign = a, u.times(slope, steep), sign*up
		affine = affine && !curved
	}
	if affine && !(u.both.Of(u.times(t.slope, n)).Deg > 2 && u.both.Of(h).Deg <= 2) { // nothing to gain
		return n, t.slope, false
	}
	if sign < 0 {
		h, slope = u.Graph.Unary(expr.Neg, h, at), u.Graph.Unary(expr.Neg, slope, at)
	}
	return h, slope, true
}

// outermost takes the outermost operation off n: n is a function of a with the derivative slope by it, increasing (up 1) or decreasing (-1) in it strictly, wherever it is defined. a is nil where there is none.
func (u *untransformer) outermost(n *expr.Node) (a, slope *expr.Node, up float64, curved bool) {
	g := u.Graph
	if n.Op.Info().Increasing {
		a = n.Args[0]
		if rules[n.Op].edge != nil { // a domain
			if r := u.rangeOf(a); !(r.Lo > 0 || r.Lo == 0 && n.Op == expr.Sqrt) {
				return nil, nil, 0, false
			}
		}
		return a, n.Op.Info().Slope(algebra{u, n.Span}, a, n).(*expr.Node), 1, true
	}
	switch n.Op {
	case expr.Neg:
		return n.Args[0], g.Number(-1), -1, false
	case expr.Add, expr.Sub, expr.Mul, expr.Div:
		for i, c := range n.Args {
			a := n.Args[1-i]
			if !u.fixed(c) || a.Shape != n.Shape {
				continue
			}
			switch {
			case n.Op == expr.Add || n.Op == expr.Sub && i == 1:
				return a, g.Number(1), 1, false
			case n.Op == expr.Sub:
				return a, g.Number(-1), -1, false
			case n.Op == expr.Mul:
				if s := u.signOf(c); s != 0 {
					return a, c, s, false
				}
			case i == 1:
				if s := u.signOf(c); s != 0 {
					return a, g.Binary(expr.Div, g.Number(1), c, n.Span), s, false
				}
			default: // c / a, of one sign each
				if s := u.signOf(c); s != 0 && u.signOf(a) != 0 {
					return a, g.Unary(expr.Neg, g.Binary(expr.Div, n, a, n.Span), n.Span), -s, true
				}
			}
		}
	}
	return u.power(n)
}

// power is outermost for powers of one expression b: of b where those increase, or decrease, over its range, else of its square.
func (u *untransformer) power(n *expr.Node) (a, slope *expr.Node, up float64, curved bool) {
	g := u.Graph
	b, p := u.base(n)
	if p == 1 || b.Shape != n.Shape {
		return nil, nil, 0, false
	}
	to := func(b *expr.Node, p float64) *expr.Node {
		return g.Binary(expr.Pow, b, g.Number(p), n.Span)
	}
	r := u.rangeOf(b)
	whole, even := p == math.Trunc(p), math.Mod(p, 2) == 0
	slope = u.times(g.Number(p), to(b, p-1))
	switch affine := u.inY.Of(b).Deg <= 1; {
	case p > 0 && even && affine:
		if p > 2 {
			return to(b, 2), u.times(g.Number(p/2), to(b, p-2)), 1, true
		}
	case p > 0 && (r.Lo >= 0 || whole && !even):
		return b, slope, 1, true
	case r.Lo > 0: // p < 0
		return b, slope, -1, true
	case p > 0 && whole && r.Hi <= 0, whole && r.Hi < 0 && even == (p > 0):
		return b, slope, -1, true
	case whole && r.Hi < 0:
		return b, slope, 1, true
	}
	return nil, nil, 0, false
}

// base is n as a power of one expression: b^p, written as a power, as products, or as both.
func (u *untransformer) base(n *expr.Node) (b *expr.Node, p float64) {
	switch n.Op {
	case expr.Pow:
		p, ok := facts.Exponent(u.Graph, n)
		if !ok || p == 0 {
			break
		}
		if b, q := u.base(n.Args[0]); q > 0 && q == math.Trunc(q) && p > 0 && p == math.Trunc(p) {
			return b, p * q
		}
		return n.Args[0], p
	case expr.Mul:
		b, p := u.base(n.Args[0])
		c, q := u.base(n.Args[1])
		if b == c && p > 0 && q > 0 && p == math.Trunc(p) && q == math.Trunc(q) {
			return b, p + q
		}
	}
	return n, 1
}

// algebra builds slopes in the graph of a problem.
type algebra struct {
	u  *untransformer
	at diag.Span
}

func (a algebra) of(op expr.Op, v, w expr.Term) expr.Term {
	return a.u.Graph.Binary(op, v.(*expr.Node), w.(*expr.Node), a.at)
}

func (a algebra) Number(v float64) expr.Term   { return a.u.Graph.Number(v) }
func (a algebra) Add(v, w expr.Term) expr.Term { return a.of(expr.Add, v, w) }
func (a algebra) Sub(v, w expr.Term) expr.Term { return a.of(expr.Sub, v, w) }
func (a algebra) Mul(v, w expr.Term) expr.Term { return a.of(expr.Mul, v, w) }
func (a algebra) Div(v, w expr.Term) expr.Term { return a.of(expr.Div, v, w) }
func (a algebra) Apply(op expr.Op, v expr.Term) expr.Term {
	return a.u.Graph.Unary(op, v.(*expr.Node), a.at)
}
