package curvature

import (
	"math"

	"bilevelc/ir/expr"
)

// rule is what proofs need to know of an operation beside its row in the table of
// package expr; of sums of products its terms say all (expr.Terms). A missing part ends the program when it starts (see require); a
// range with NaN, or an empty one, is taken as the whole line (see Interval.sound).
type rule struct {
	// jet encloses a function of one argument, and two derivatives, over a range of
	// arguments; where the row has Curves, it has none.
	jet func(u Interval) jet
	// pair is the same for two arguments, entry by entry.
	pair func(s *study, n *expr.Node, a, b jet) jet
	// fold encloses a reduction that is no sum, slopes its derivatives in the entries,
	// and curve records its second derivative, times a weight.
	fold   func(u []Interval) Interval
	slopes func(u []Interval) []Interval
	curve  func(b *backward, n *expr.Node, w Interval)
	// edge is how the argument of an operation that is not smooth everywhere lies to where
	// it is.
	edge func(s *study, n *expr.Node) boundary
}

// boundary is the argument that has to be in a set for an operation to be continuously
// differentiable, and where a range of its entry k lies.
type boundary struct {
	arg  *expr.Node
	need string // in words
	fix  string // what may be written instead, where a range is not inside; ""
	of   func(u Interval, k int) position
	pole bool // the operation grows without bound at the end of the set
	// where tells of the range of an entry that is not inside; nil: that it is what the
	// argument ranges over.
	where func(k int) string
	// between is what is needed between points of the box; "": need.
	between string
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
	for op, rule := range map[expr.Op]rule{
		expr.Prod:      {fold: prodRange, slopes: prodSlopes, curve: (*backward).curveProd},
		expr.LogSumExp: {fold: logSumExpRange, slopes: softmaxRange, curve: (*backward).curveLogSumExp},
		expr.MaxAll: {slopes: anyEntry, curve: (*backward).curveExtreme, fold: func(u []Interval) Interval {
			out := u[0]
			for _, e := range u[1:] {
				out = Interval{max(out.Lo, e.Lo), max(out.Hi, e.Hi)}
			}
			return out
		}},
		expr.MinAll: {slopes: anyEntry, curve: (*backward).curveExtreme, fold: func(u []Interval) Interval {
			out := u[0]
			for _, e := range u[1:] {
				out = Interval{min(out.Lo, e.Lo), min(out.Hi, e.Hi)}
			}
			return out
		}},
	} {
		rules[op] = rule
	}
	for op, edge := range map[expr.Op]func(s *study, n *expr.Node) boundary{
		expr.Log:  positiveArgument,
		expr.Sqrt: rootArgument,
		expr.Div: func(_ *study, n *expr.Node) boundary {
			return boundary{arg: n.Args[1], need: "a quotient needs a divisor other than 0", pole: true, of: func(u Interval, _ int) position { return besideZero(u) }}
		},
		expr.Pow:  powerBoundary,
		expr.Abs:  kink,
		expr.Sign: kink,
		expr.Floor: func(_ *study, n *expr.Node) boundary {
			return boundary{arg: n.Args[0], need: "floor jumps at integers", of: func(u Interval, _ int) position {
				return insideIf(math.Floor(u.Lo) == math.Floor(u.Hi) && u.Lo > math.Floor(u.Lo))
			}}
		},
		expr.Max:    crossing,
		expr.Min:    crossing,
		expr.MaxAll: tie,
		expr.MinAll: tie,
	} {
		rules[op].edge = edge
	}
	require()
}

// require panics where a rule lacks a part that its operation needs.
func require() {
	for op := range rules {
		p, r := expr.Op(op).Info(), &rules[op]
		folds := p.Class == expr.Reduction && !p.Linear
		for _, part := range []struct {
			name       string
			has, needs bool
		}{
			{"a range of its value and derivatives", r.jet != nil, p.Class == expr.Elementwise1 && p.Curves == nil},
			{"a range of its value and derivatives", r.pair != nil, p.Class == expr.Elementwise2},
			{"a range of its value", r.fold != nil, folds},
			{"ranges of its derivatives", r.slopes != nil, folds},
			{"its second derivative", r.curve != nil, folds},
			{"where it is smooth", r.edge != nil, !p.Smooth || p.Inside != nil},
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
