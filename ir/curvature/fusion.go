package curvature

import (
	"math"
	"sort"

	"bilevelc/internal/directed"
	"bilevelc/ir/expr"
)

// fusion is a maximal region of elementwise operations that depends on the
// variables through one node only, the leaf: entry k of the result is a
// function of entry k of the leaf (of its only entry, if the leaf is a
// scalar). Differentiating that function of one variable as a whole is what
// makes u*log(c*u), sqrt(1 + u^2) or u^4 - u^2 come out with their true second
// derivative rather than with the sum of the worst of each operation.
type fusion struct {
	leaf  *expr.Node
	steps []*expr.Node // in topological order; the last one is the result
	place map[*expr.Node]int
}

func elementwise(n *expr.Node) bool {
	class := n.Op.Info().Class
	return class == expr.Elementwise1 || class == expr.Elementwise2
}

// leafOf is the node through which an elementwise region ending in n depends
// on the variables: n itself where n is not elementwise, joins two regions
// with different leaves, or ends a convex function of several variables.
func (s *study) leafOf(n *expr.Node) *expr.Node {
	if !s.varies(n) || !elementwise(n) {
		return n
	}
	if leaf, ok := s.leaves[n]; ok {
		return leaf
	}
	if s.norm(n) {
		s.leaves[n] = n
		return n
	}
	var leaf *expr.Node
	for _, a := range n.Args {
		if !s.varies(a) {
			continue
		}
		l := s.leafOf(a)
		if leaf == nil {
			leaf = l
		} else if leaf != l {
			leaf = n
		}
	}
	s.leaves[n] = leaf
	return leaf
}

// fused returns the region that ends in n, or nil where n is its own leaf.
func (s *study) fused(n *expr.Node) *fusion {
	if f, ok := s.fusions[n]; ok {
		return f
	}
	leaf := s.leafOf(n)
	if !s.varies(n) || leaf == n {
		s.fusions[n] = nil
		return nil
	}
	f := &fusion{leaf: leaf, place: map[*expr.Node]int{leaf: 0}}
	f.collect(s, n)
	s.fusions[n] = f
	return f
}

func (f *fusion) collect(s *study, n *expr.Node) {
	if _, ok := f.place[n]; ok || !s.varies(n) {
		return
	}
	for _, a := range n.Args {
		f.collect(s, a)
	}
	f.steps = append(f.steps, n)
	f.place[n] = len(f.steps) // slot 0 is the leaf
}

// slopesOf encloses, for a fused node, its entries and their first two
// derivatives with respect to the leaf's entries.
func (s *study) slopesOf(n *expr.Node) []jet {
	if j, ok := s.slopes[n]; ok {
		return j
	}
	f := s.fused(n)
	u := s.rangeOf(f.leaf)
	out := make([]jet, n.Shape.Len())
	slots := make([]jet, len(f.steps)+1)
	alike := s.alike(f)
	for k := range out {
		if k > 0 && alike && entry(u, k) == entry(u, k-1) {
			out[k] = out[k-1]
			continue
		}
		out[k] = s.evaluate(f, slots, k, entry(u, k))
	}
	s.slopes[n] = out
	return out
}

// alike reports that the region treats every entry alike: its parameters are
// scalars.
func (s *study) alike(f *fusion) bool {
	for _, n := range f.steps {
		for _, a := range n.Args {
			if !s.varies(a) && a.Shape.Rank != 0 {
				return false
			}
		}
	}
	return true
}

// evaluate encloses entry k over a range of the leaf's entry. Where a chain of
// several operations leaves the sign of the second derivative open, the range
// is cut into pieces, on which interval arithmetic is sharper.
func (s *study) evaluate(f *fusion, slots []jet, k int, u Interval) jet {
	j := s.run(f, slots, k, u)
	if len(f.steps) < 2 || u.isPoint() || j.d2.isPoint() || (j.d2.Lo >= 0 || j.d2.Hi <= 0) && j.d2.finite() {
		return j
	}
	cuts := pieces(u)
	fine := s.run(f, slots, k, Interval{u.Lo, cuts[1]})
	for i := 2; i < len(cuts); i++ {
		fine = fine.hull(s.run(f, slots, k, Interval{cuts[i-1], cuts[i]}))
	}
	return jet{j.v.meet(fine.v), j.d1.meet(fine.d1), j.d2.meet(fine.d2)}
}

// pieces cuts a range at the powers of two in size, and evenly where it is
// bounded: 32 even pieces and one cut an octave keep the cost of an entry
// below a hundred evaluations.
func pieces(u Interval) []float64 {
	cuts := []float64{u.Lo, u.Hi}
	for e := -12; e <= 12; e++ {
		cuts = append(cuts, math.Ldexp(1, e), -math.Ldexp(1, e))
	}
	cuts = append(cuts, 0)
	if u.finite() {
		for i := 1; i < 32; i++ {
			cuts = append(cuts, u.Lo+(u.Hi-u.Lo)*float64(i)/32)
		}
	}
	sort.Float64s(cuts)
	kept := []float64{u.Lo}
	for _, c := range cuts {
		if c > kept[len(kept)-1] && c <= u.Hi {
			kept = append(kept, c)
		}
	}
	return kept
}

// run evaluates the region on entry k with the leaf's entry in u.
func (s *study) run(f *fusion, slots []jet, k int, u Interval) jet {
	slots[0] = jet{u, point(1), point(0)}
	operand := func(n *expr.Node) jet {
		if !s.varies(n) {
			return constant(entry(s.rangeOf(n), k))
		}
		return slots[f.place[n]]
	}
	for i, n := range f.steps {
		slots[i+1] = s.composite(n, operand).sound()
	}
	return slots[len(f.steps)]
}

// composite is elementwise, with the true derivatives of the compositions that
// interval arithmetic cannot bound on an unbounded range or up to the edge of
// the domain.
func (s *study) composite(n *expr.Node, operand func(*expr.Node) jet) jet {
	switch n.Op {
	case expr.Mul: // c a log(d a) = c/d v log v, v = d a: derivative of v log v: log v + 1, second derivative 1/v; (p v + q) log v likewise
		a, l := n.Args[0], n.Args[1]
		if a.Op == expr.Log {
			a, l = l, a
		}
		if l.Op == expr.Log && s.varies(l) {
			c, base := s.multiple(a, operand)
			d, same := s.multiple(l.Args[0], operand)
			u := operand(l.Args[0])
			if v := positive(u.v); base == same && v.Lo >= 0 && (d.Lo > 0 || d.Hi < 0) {
				return u.then(jet{over(xlogx, v, xlogxTurn), unary(expr.Log, v).v.add(point(1)), v.recip()}).mul(constant(c.mul(d.recip())))
			}
			c0, c1, base := s.affineIn(a, operand)
			d0, d1, same := s.affineIn(l.Args[0], operand)
			if base == same && u.v.Lo > 0 && (d1.Lo > 0 || d1.Hi < 0) {
				p := c1.mul(d1.recip())
				q := c0.sub(p.mul(d0))
				factor, log := operand(a), unary(expr.Log, u.v).v
				plain, whole := factor.mul(operand(l)), u.then(jet{factor.v.mul(log), p.mul(log.add(point(1))).add(q.mul(u.v.recip())), logCurve(p, q, u.v)})
				return jet{plain.v, plain.d1.meet(whole.d1), plain.d2.meet(whole.d2)}
			}
		}
	case expr.Sqrt: // sqrt(c + a^2), c > 0: derivative a/r, second derivative c/r^3
		if c, a := s.splitSquare(n.Args[0]); a != nil {
			c, u := operand(c).v, operand(a)
			if c.Lo > 0 {
				r2 := c.add(u.v.sqr())
				r := Interval{directed.SqrtDown(r2.Lo), directed.SqrtUp(r2.Hi)}
				slope := u.v.mul(r.recip()).meet(Interval{-1, 1})
				return u.then(jet{r, slope, c.mul(r.mul(r2).recip())})
			}
		}
	}
	args := make([]jet, 2)
	for i, a := range n.Args {
		args[i] = operand(a)
	}
	if n.Op == expr.Mul && n.Args[0] == n.Args[1] {
		return args[0].then(power(args[0].v, 2))
	}
	return s.elementwise(n, args[0], args[1])
}

// multiple takes the factors free of the variables off a node: it is c times base.
func (s *study) multiple(n *expr.Node, operand func(*expr.Node) jet) (c Interval, base *expr.Node) {
	c = point(1)
	for {
		switch {
		case n.Op == expr.Neg:
			c, n = c.neg(), n.Args[0]
		case n.Op == expr.Mul && !s.varies(n.Args[0]):
			c, n = c.mul(operand(n.Args[0]).v), n.Args[1]
		case n.Op == expr.Mul && !s.varies(n.Args[1]):
			c, n = c.mul(operand(n.Args[1]).v), n.Args[0]
		case n.Op == expr.Div && !s.varies(n.Args[1]):
			c, n = c.mul(operand(n.Args[1]).v.recip()), n.Args[0]
		default:
			return c, n
		}
	}
}

// affineIn takes sums with what is free of the variables, and such factors, off a node: it is c0 + c1 base.
func (s *study) affineIn(n *expr.Node, operand func(*expr.Node) jet) (c0, c1 Interval, base *expr.Node) {
	for c1 = point(1); ; {
		c, b := s.multiple(n, operand)
		c1, n = c1.mul(c), b
		switch {
		case n.Op == expr.Add && !s.varies(n.Args[0]):
			c0, n = c0.add(c1.mul(operand(n.Args[0]).v)), n.Args[1]
		case n.Op == expr.Add && !s.varies(n.Args[1]):
			c0, n = c0.add(c1.mul(operand(n.Args[1]).v)), n.Args[0]
		case n.Op == expr.Sub && !s.varies(n.Args[0]):
			c0, c1, n = c0.add(c1.mul(operand(n.Args[0]).v)), c1.neg(), n.Args[1]
		case n.Op == expr.Sub && !s.varies(n.Args[1]):
			c0, n = c0.sub(c1.mul(operand(n.Args[1]).v)), n.Args[0]
		default:
			return c0, c1, n
		}
	}
}

// logCurve encloses p/v - q/v^2, the second derivative of (p v + q) log v, over a range of v > 0. For numbers p and q it is monotone on either side of v = 2q/p, where it is p^2/(4q), and at each v it is affine in p and q: their ends give it.
func logCurve(p, q, v Interval) Interval {
	if !p.finite() || !q.finite() {
		return wholeLine()
	}
	out := Interval{math.Inf(1), math.Inf(-1)}
	for k := range 4 {
		p, q := point([2]float64{p.Lo, p.Hi}[k%2]), point([2]float64{q.Lo, q.Hi}[k/2])
		at := func(v float64) Interval {
			r := point(v).recip()
			return r.mul(p.sub(q.mul(r)))
		}
		out = out.hull(at(v.Lo))
		if math.IsInf(v.Hi, 1) {
			out = out.hull(point(0))
		} else {
			out = out.hull(at(v.Hi))
		}
		if turn := point(2).mul(q).mul(p.recip()); !p.isZero() && !q.isZero() && turn.Lo <= v.Hi && turn.Hi >= v.Lo {
			out = out.hull(p.sqr().mul(point(4).mul(q).recip()))
		}
	}
	return out
}

// shifted matches c + q with c free of the variables and q not, or returns nil.
func (s *study) shifted(n *expr.Node) (c, q *expr.Node) {
	if n.Op != expr.Add || s.varies(n.Args[0]) == s.varies(n.Args[1]) {
		return nil, nil
	}
	if s.varies(n.Args[0]) {
		return n.Args[1], n.Args[0]
	}
	return n.Args[0], n.Args[1]
}

// splitSquare matches c + a^2 with c free of the variables, or returns nil.
func (s *study) splitSquare(n *expr.Node) (c, a *expr.Node) {
	if c, q := s.shifted(n); q != nil {
		if a, ok := s.squared(q); ok {
			return c, a
		}
	}
	return nil, nil
}

// squared matches a elementwise squared.
func (s *study) squared(n *expr.Node) (a *expr.Node, ok bool) {
	switch n.Op {
	case expr.Mul:
		return n.Args[0], n.Args[0] == n.Args[1]
	case expr.Pow:
		p, known := s.exponent(n)
		return n.Args[0], known && p == 2
	}
	return nil, false
}

func xlogx(v float64) float64 {
	if v == 0 {
		return 0
	}
	return v * math.Log(v)
}

// elementwise encloses one elementwise operation on operands that are
// functions of one variable (b is ignored where the operation takes one).
func (s *study) elementwise(n *expr.Node, a, b jet) jet {
	if pair := rules[n.Op].pair; pair != nil {
		return pair(s, n, a, b)
	}
	return a.then(unary(n.Op, a.v))
}

// pow is u^p: a power where p is fixed data, an exponential where the base is
// free of the variables, and exp(p log u) otherwise.
func (s *study) pow(n *expr.Node, u, p jet) jet {
	if p.v.isPoint() && p.d1.isZero() && p.d2.isZero() {
		return u.then(power(u.v, p.v.Lo))
	}
	log := u.then(unary(expr.Log, u.v))
	if !s.varies(n.Args[1]) && u.v.Lo >= 0 {
		// u^p with p between its ends: derivative p u^(p-1), second p (p-1) u^(p-2).
		lo, hi := power(u.v, p.v.Lo), power(u.v, p.v.Hi)
		if lo.v.finite() && hi.v.finite() {
			v := lo.v.hull(hi.v)
			d1 := between(u.v, p.v, 1).mul(p.v)
			d2 := between(u.v, p.v, 2).mul(p.v).mul(p.v.sub(point(1)))
			return u.then(jet{v, d1, d2})
		}
	}
	e := p.mul(log)
	return e.then(unary(expr.Exp, e.v))
}

// between is the range of u^(p-k) for u >= 0: monotone in p for each u, so the
// ends of p give it.
func between(u, p Interval, k float64) Interval {
	return powerRange(u, p.Lo-k).hull(powerRange(u, p.Hi-k))
}
