package curvature

import (
	"math"

	"bilevelc/ir/expr"
)

// rule is what proofs need to know of an operation beside its row in the table of
// package expr. A missing part ends the program when it starts (see require); a
// part that returns NaN or an empty range has said nothing (see Interval.sound).
type rule struct {
	// jet encloses a function of one argument, and two derivatives, over a range of
	// arguments; where the row has Curves, it has none.
	jet func(u Interval) jet
	// pair is the same for two arguments, entry by entry.
	pair func(s *study, n *expr.Node, a, b jet) jet
	// enclose sets out to the ranges of the entries of a leaf or of an operation on
	// whole arrays.
	enclose func(s *study, out []Interval, n *expr.Node)
	// back passes the weights of such a node on to its arguments, and records what
	// curves.
	back func(b *backward, n *expr.Node, w []Interval)
	// obstacle says why an operation that is not smooth everywhere may not be so here.
	obstacle func(s *study, n *expr.Node) (reason string, outcome Outcome)
	// edge is how the argument of an operation with a domain lies to it.
	edge func(s *study, n *expr.Node) boundary
}

// boundary is the argument that has to be in a domain, and where a range of its entry k
// lies; pole where the operation grows without bound at the end of its domain.
type boundary struct {
	arg  *expr.Node
	need string
	pole bool
	of   func(u Interval, k int) position
}

var rules [len(expr.Primitives)]rule

func init() {
	every := wholeLine()
	nothing := jet{every, every, every}
	for op, jet := range map[expr.Op]func(u Interval) jet{
		expr.Neg: func(u Interval) jet {
			return jet{u.neg(), point(-1), point(0)}
		},
		expr.Exp: func(u Interval) jet {
			if u.isZero() {
				return jet{point(1), point(1), point(1)}
			}
			e := over(math.Exp, u)
			e.Lo = max(e.Lo, 0)
			return jet{e, e, e}
		},
		expr.Log: func(u Interval) jet {
			if u = positive(u); u.Lo < 0 {
				return nothing
			}
			if u == point(1) {
				return jet{point(0), point(1), point(-1)}
			}
			return jet{over(math.Log, u), u.recip(), u.sqr().recip().neg()}
		},
		expr.Sqrt: func(u Interval) jet {
			if u = positive(u); u.Lo < 0 {
				return nothing
			}
			r := Interval{sqrtDown(u.Lo), sqrtUp(u.Hi)}
			return jet{r, r.recip().mul(point(0.5)), r.mul(r.sqr()).recip().mul(point(-0.25))}
		},
		expr.Sin: func(u Interval) jet {
			s := sine(u)
			return jet{s, sine(u.add(halfPi)), s.neg()}
		},
		expr.Cos: func(u Interval) jet {
			c := sine(u.add(halfPi))
			return jet{c, sine(u).neg(), c.neg()}
		},
		expr.Abs: func(u Interval) jet {
			switch {
			case u.Lo >= 0:
				return jet{u, point(1), point(0)}
			case u.Hi <= 0:
				return jet{u.neg(), point(-1), point(0)}
			}
			return jet{Interval{0, u.mag()}, Interval{-1, 1}, every}
		},
		expr.Sign: func(u Interval) jet {
			if !u.contains(0) {
				return constant(point(math.Copysign(1, u.Lo)))
			}
			return jet{Interval{-1, 1}, every, every}
		},
		expr.Floor: func(u Interval) jet {
			f := Interval{math.Floor(u.Lo), math.Floor(u.Hi)}
			if f.isPoint() && u.Lo > f.Lo {
				return constant(f)
			}
			return jet{f, every, every}
		},
	} {
		rules[op].jet = jet
	}
	for op, pair := range map[expr.Op]func(s *study, n *expr.Node, a, b jet) jet{
		expr.Add: func(_ *study, _ *expr.Node, a, b jet) jet { return a.add(b) },
		expr.Sub: func(_ *study, _ *expr.Node, a, b jet) jet { return a.add(b.neg()) },
		expr.Mul: func(_ *study, _ *expr.Node, a, b jet) jet { return a.mul(b) },
		expr.Div: func(_ *study, _ *expr.Node, a, b jet) jet { return a.mul(b.then(power(b.v, -1))) },
		expr.Pow: (*study).pow,
		expr.PosPow: func(_ *study, _ *expr.Node, u, p jet) jet {
			return u.then(posPower(u.v, p.v))
		},
		expr.Max: func(_ *study, _ *expr.Node, a, b jet) jet { return largest(a, b) },
		expr.Min: func(_ *study, _ *expr.Node, a, b jet) jet { return largest(a.neg(), b.neg()).neg() },
	} {
		rules[op].pair = pair
	}
	for op, enclose := range map[expr.Op]func(s *study, out []Interval, n *expr.Node){
		expr.Var: func(s *study, out []Interval, n *expr.Node) {
			from := s.dom.x
			if n.Lower {
				from = s.dom.y
			}
			copy(out, from[n.Offset:n.Offset+len(out)])
		},
		expr.Sum: func(s *study, out []Interval, n *expr.Node) {
			for _, e := range s.rangeOf(n.Args[0]) {
				out[0] = out[0].add(e)
			}
		},
		expr.Prod: func(s *study, out []Interval, n *expr.Node) {
			out[0] = point(1)
			for _, e := range s.rangeOf(n.Args[0]) {
				out[0] = out[0].mul(e)
			}
		},
		expr.LogSumExp: func(s *study, out []Interval, n *expr.Node) {
			out[0] = logSumExpRange(s.rangeOf(n.Args[0]))
		},
		expr.MaxAll: func(s *study, out []Interval, n *expr.Node) {
			out[0] = Interval{math.Inf(-1), math.Inf(-1)}
			for _, e := range s.rangeOf(n.Args[0]) {
				out[0] = Interval{max(out[0].Lo, e.Lo), max(out[0].Hi, e.Hi)}
			}
		},
		expr.MinAll: func(s *study, out []Interval, n *expr.Node) {
			out[0] = Interval{math.Inf(1), math.Inf(1)}
			for _, e := range s.rangeOf(n.Args[0]) {
				out[0] = Interval{min(out[0].Lo, e.Lo), min(out[0].Hi, e.Hi)}
			}
		},
		expr.Dot: func(s *study, out []Interval, n *expr.Node) {
			out[0] = s.dotRange(n)
		},
		expr.MatVec: (*study).productRange,
		expr.MatMul: (*study).productRange,
		expr.Outer:  (*study).productRange,
		expr.Transpose: func(s *study, out []Interval, n *expr.Node) {
			u := s.rangeOf(n.Args[0])
			for i := range n.Shape.Rows {
				for j := range n.Shape.Cols {
					out[i*n.Shape.Cols+j] = u[j*n.Shape.Rows+i]
				}
			}
		},
		expr.Gather: func(s *study, out []Interval, n *expr.Node) {
			u := s.rangeOf(n.Args[0])
			for k, i := range n.Index {
				if i >= 0 {
					out[k] = u[i]
				}
			}
		},
		expr.ScatterAdd: func(s *study, out []Interval, n *expr.Node) {
			u := s.rangeOf(n.Args[0])
			for k, i := range n.Index {
				if i >= 0 {
					out[i] = out[i].add(u[k])
				}
			}
		},
	} {
		rules[op].enclose = enclose
	}
	for op, back := range map[expr.Op]func(b *backward, n *expr.Node, w []Interval){
		expr.Var: func(b *backward, n *expr.Node, w []Interval) {
			if b.gradient {
				for k, e := range w {
					b.out.gradient[b.column(n)+k] = e
				}
			}
		},
		expr.Sum: func(b *backward, n *expr.Node, w []Interval) {
			b.push(n.Args[0], func(int) Interval { return w[0] })
		},
		expr.Transpose: func(b *backward, n *expr.Node, w []Interval) {
			rows, cols := n.Shape.Rows, n.Shape.Cols
			b.push(n.Args[0], func(k int) Interval { return w[(k%rows)*cols+k/rows] })
		},
		expr.Gather: func(b *backward, n *expr.Node, w []Interval) {
			back := make([]Interval, n.Args[0].Shape.Len())
			for k, i := range n.Index {
				if i >= 0 {
					back[i] = back[i].add(w[k])
				}
			}
			b.push(n.Args[0], func(k int) Interval { return back[k] })
		},
		expr.ScatterAdd: func(b *backward, n *expr.Node, w []Interval) {
			b.push(n.Args[0], func(k int) Interval {
				if n.Index[k] < 0 {
					return Interval{}
				}
				return w[n.Index[k]]
			})
		},
		expr.Dot: func(b *backward, n *expr.Node, w []Interval) {
			b.visitDot(n, w[0])
		},
		expr.MatVec: (*backward).visitProduct,
		expr.MatMul: (*backward).visitProduct,
		expr.Outer:  (*backward).visitProduct,
		expr.LogSumExp: func(b *backward, n *expr.Node, w []Interval) {
			b.visitLogSumExp(n, n.Args[0], w[0])
		},
		expr.Prod: func(b *backward, n *expr.Node, w []Interval) {
			b.visitProd(n, w[0])
		},
		expr.MaxAll: (*backward).visitExtreme,
		expr.MinAll: (*backward).visitExtreme,
	} {
		rules[op].back = back
	}
	for op, obstacle := range map[expr.Op]func(s *study, n *expr.Node) (string, Outcome){
		expr.Log:  needsPositive,
		expr.Sqrt: needsPositive,
		expr.Abs:  hasKink,
		expr.Sign: hasKink,
		expr.Floor: func(s *study, n *expr.Node) (string, Outcome) {
			return s.every(n.Args[0], "floor jumps at integers", func(u Interval) Outcome {
				return provedIf(math.Floor(u.Lo) == math.Floor(u.Hi) && u.Lo > math.Floor(u.Lo))
			})
		},
		expr.Div: func(s *study, n *expr.Node) (string, Outcome) {
			return s.every(n.Args[1], "a quotient needs a divisor other than 0", not0)
		},
		expr.Pow:    (*study).powObstacle,
		expr.Max:    mayCross,
		expr.Min:    mayCross,
		expr.MaxAll: mayTie,
		expr.MinAll: mayTie,
	} {
		rules[op].obstacle = obstacle
	}
	for op, domain := range map[expr.Op]func(s *study, n *expr.Node) boundary{
		expr.Log:  func(_ *study, n *expr.Node) boundary { return positiveArgument(n) },
		expr.Sqrt: func(_ *study, n *expr.Node) boundary { return positiveArgument(n) },
		expr.Div: func(_ *study, n *expr.Node) boundary {
			return boundary{n.Args[1], "a quotient needs a divisor other than 0", true, func(u Interval, _ int) position { return besideZero(u) }}
		},
		expr.Pow: func(s *study, n *expr.Node) boundary {
			exponents := s.rangeOf(n.Args[1])
			out := boundary{n.Args[0], "this power needs a base above 0", false,
				func(u Interval, k int) position { return powerPosition(u, entry(exponents, k)) }}
			if p, ok := s.exponent(n); ok && p < 0 && p == math.Trunc(p) {
				out.need, out.pole = "a negative power needs a base other than 0", true
			}
			return out
		},
	} {
		rules[op].edge = domain
	}
	require()
}

// require panics where a rule lacks a part that its operation needs.
func require() {
	for op := range rules {
		p, r := expr.Op(op).Info(), &rules[op]
		arrays := p.Op == expr.Var || p.Class == expr.Reduction || p.Class == expr.Product || p.Class == expr.Structural
		for _, part := range []struct {
			name       string
			has, needs bool
		}{
			{"a range of its value and derivatives", r.jet != nil, p.Class == expr.Elementwise1 && p.Curves == nil},
			{"a range of its value and derivatives", r.pair != nil, p.Class == expr.Elementwise2},
			{"ranges of its entries", r.enclose != nil, arrays},
			{"weights of its arguments", r.back != nil, arrays},
			{"a reason not to be smooth", r.obstacle != nil, !p.Smooth || p.Inside != nil},
			{"an edge of its domain", r.edge != nil, p.Inside != nil},
		} {
			if part.has != part.needs {
				panic("curvature: " + p.Symbol + " (" + p.Signature + ") lacks, or has and does not need, " + part.name)
			}
		}
	}
}

// largest encloses max(a, b).
func largest(a, b jet) jet {
	switch {
	case a.v.Lo >= b.v.Hi:
		return a
	case b.v.Lo >= a.v.Hi:
		return b
	}
	return jet{Interval{max(a.v.Lo, b.v.Lo), max(a.v.Hi, b.v.Hi)}, a.d1.hull(b.d1), wholeLine()}
}
