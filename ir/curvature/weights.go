package curvature

import (
	"slices"

	"bilevelc/internal/directed"
	"bilevelc/internal/each"
	"bilevelc/ir/expr"
)

// term is one part J' W J of the Hessian: the second derivative of one
// operation. With square set it is the form sum_k D_k a_k a_k' over the rows
// a_k of the Jacobian of arg, or any form J' W J with D.Lo I <= W <= D.Hi I
// where one D stands for all rows. Otherwise it is the sum over pairs of
// w (a_i b_j' + b_j a_i') with rows a_i of arg and b_j of other.
type term struct {
	node  *expr.Node // the operation that curves
	rule  string
	arg   *expr.Node
	other *expr.Node
	w     []Interval
	pairs func(visit func(i, j, k int)) // which rows meet with which weight; nil: equal numbers
	// total is an upper bound of the sum of the weights, all >= 0, where it says
	// more than their ranges: they are a point of a simplex times something.
	// 0 where there is none.
	total float64
	// shared reports that all weights are one number, which is in each range.
	shared bool
	matrix bool // a quadratic form with a known matrix, of which other is the product with arg
}

// factor is a matrix, possibly transposed.
type factor struct {
	node  *expr.Node
	trans bool
}

func (t *term) square() bool { return t.other == nil }

// common is the weight that all rows share: one number in a range, not only
// equal ranges.
func (t *term) common() (Interval, bool) {
	return t.w[0], t.shared || len(t.w) == 1
}

// derivatives are the result of the backward pass.
type derivatives struct {
	gradient []Interval // with respect to z; nil unless asked for
	terms    []term
}

// backward carries the derivative of the root with respect to each node from
// the root down, enclosed over the domain, and collects the terms of the
// Hessian on the way.
type backward struct {
	*study
	weights  map[*expr.Node][]Interval
	gradient bool
	out      derivatives
}

func (s *study) differentiate(gradient bool) derivatives {
	b := &backward{study: s, weights: map[*expr.Node][]Interval{}, gradient: gradient}
	if gradient {
		b.out.gradient = make([]Interval, s.cols())
	}
	if s.varies(s.root) {
		b.push(s.root, func(int) Interval { return point(1) })
		for _, n := range slices.Backward(s.nodes()) {
			if w := b.weights[n]; w != nil {
				b.visit(n, w)
			}
			if b.work.ended() { // nothing is known of the rest
				b.out.terms = append(b.out.terms, term{node: s.root, rule: "the work was ended", arg: s.root, w: []Interval{wholeLine()}})
				break
			}
		}
	}
	return b.out
}

// push adds to the weight of every entry of n. Nodes below which nothing
// curves are left alone unless the gradient is wanted.
func (b *backward) push(n *expr.Node, weight func(k int) Interval) {
	if !b.varies(n) || !b.gradient && b.affine(n) {
		return
	}
	w := b.weights[n]
	if w == nil {
		w = make([]Interval, n.Shape.Len())
		b.weights[n] = w
	}
	for k := range w {
		w[k] = w[k].add(weight(k)).sound()
	}
}

// pushSum adds the weights of a result of m entries to n, which has m entries
// or is a scalar that was broadcast.
func (b *backward) pushSum(n *expr.Node, m int, weight func(k int) Interval) {
	if n.Shape.Len() == m {
		b.push(n, weight)
		return
	}
	b.push(n, func(int) Interval {
		var total Interval
		for k := range m {
			total = total.add(weight(k))
		}
		return total
	})
}

// wants reports whether push would look at the weight of n, so that its
// computation can be saved.
func (b *backward) wants(n *expr.Node) bool {
	return b.varies(n) && (b.gradient || !b.affine(n))
}

// addSquare records a square form over the rows of arg's Jacobian, unless it is 0.
func (b *backward) addSquare(node *expr.Node, rule string, arg *expr.Node, w []Interval) {
	w = each.Of(w, Interval.sound)
	if slices.ContainsFunc(w, func(d Interval) bool { return !d.isZero() }) {
		b.out.terms = append(b.out.terms, term{node: node, rule: rule, arg: arg, w: w})
	}
}

func (b *backward) visit(n *expr.Node, w []Interval) {
	info := n.Op.Info()
	switch curve := rules[n.Op].curve; {
	case n.Op == expr.Var:
		if b.gradient {
			copy(b.out.gradient[b.column(n):], w)
		}
		return
	case n.Op == expr.Dot:
		b.visitDot(n, w[0])
		return
	case b.visitNorm(n, w), b.visitFused(n, w):
		return
	case curve != nil:
		curve(b, n, w[0])
	case info.Linear:
	case info.Bilinear:
		if b.varies(n.Args[0]) && b.varies(n.Args[1]) {
			b.cross(n, "a product of two expressions that both vary", w)
		}
	case n.Op == expr.Div:
		b.curveQuotient(n, w)
	default:
		b.curveUnknown(n, w[0])
	}
	b.pushBack(n, w)
}

// pushBack passes the weights of an operation on to its arguments, times its derivatives.
func (b *backward) pushBack(n *expr.Node, w []Interval) {
	var back [2][]Interval
	for i, a := range n.Args {
		if b.wants(a) {
			back[i] = make([]Interval, a.Shape.Len())
		}
	}
	if back[0] == nil && back[1] == nil {
		return
	}
	b.partials(n, b.wants, func(e, arg, p int, d Interval) {
		if to := back[arg]; to != nil {
			to[p] = to[p].add(w[e].mul(d))
		}
	})
	for i, a := range n.Args {
		if back[i] != nil {
			b.push(a, func(k int) Interval { return back[i][k] })
		}
	}
}

// visitFused takes a region of elementwise operations as one function of one variable, and reports whether n ends one.
func (b *backward) visitFused(n *expr.Node, w []Interval) bool {
	f := b.fused(n)
	if f == nil {
		return false
	}
	slopes := b.slopesOf(n)
	if !b.affine(n) {
		d := each.Below(len(w), func(k int) Interval { return w[k].mul(slopes[k].d2) })
		if f.leaf.Shape.Rank == 0 && len(d) > 1 { // broadcast: all rows are the leaf's one
			d = []Interval{sumOf(d)}
		}
		b.addSquare(n, b.ruleOf(n, slopes), f.leaf, d)
		b.shareWeights(n, w)
	}
	b.pushSum(f.leaf, len(w), func(k int) Interval { return w[k].mul(slopes[k].d1) })
	return true
}

// shareWeights notes on the term just recorded for n = q .* h(u), where q is a
// variable of x with entries >= 0 that sum up to at most s: the weights, w q_k
// times the second derivative d_k of h, sum up to at most s max(w d_k).
func (b *backward) shareWeights(n *expr.Node, w []Interval) {
	if n.Op != expr.Mul {
		return
	}
	for i, q := range n.Args {
		v := n.Args[1-i]
		limit := b.shares[q]
		if limit == 0 || b.varies(q) || !b.varies(v) || q.Shape != n.Shape || v.Shape != n.Shape {
			continue
		}
		most := 0.0
		inner := b.fused(v)
		for k := range w {
			if inner == nil {
				return // h is the identity: no second derivative
			}
			d := w[k].mul(b.slopesOf(v)[k].d2)
			if d.Lo < 0 {
				return
			}
			most = max(most, d.Hi)
		}
		if last := len(b.out.terms) - 1; last >= 0 && b.out.terms[last].node == n {
			b.out.terms[last].total = directed.MulUp(limit, most)
		}
	}
}

// cross records w (J_u' J_v + J_v' J_u) for the entries u and v of the arguments that meet in
// the terms of n.
func (b *backward) cross(n *expr.Node, rule string, w []Interval) {
	t := b.termsOf(n)
	b.out.terms = append(b.out.terms, term{node: n, rule: rule, arg: n.Args[0], other: n.Args[1], w: w,
		pairs: func(visit func(i, j, k int)) {
			k := 0
			each := func(m expr.Summand) bool {
				visit(m.P, m.Q, k)
				return true
			}
			for k = range w {
				t.Each(k, each)
			}
		}})
}

// curveQuotient: the second derivative of u/v is [0, -1/v^2; -1/v^2, 2u/v^3].
func (b *backward) curveQuotient(n *expr.Node, w []Interval) {
	u, v := n.Args[0], n.Args[1]
	ur, vr := b.rangeOf(u), b.rangeOf(v)
	mixed, own := make([]Interval, len(w)), make([]Interval, len(w))
	for k := range w {
		r := power(entry(vr, k), -1)
		mixed[k] = w[k].mul(r.d1)
		own[k] = w[k].mul(r.d2).mul(entry(ur, k))
	}
	const rule = "a quotient of two expressions that both vary"
	b.cross(n, rule, mixed)
	if v.Shape.Rank == 0 {
		own = []Interval{sumOf(own)}
	}
	b.addSquare(n, rule, v, own)
}

func sumOf(w []Interval) Interval {
	var total Interval
	for _, e := range w {
		total = total.add(e)
	}
	return total
}
