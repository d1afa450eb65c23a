package curvature

import (
	"math"

	"bilevelc/internal/directed"
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
	// between is what is needed between points of the box; "": need.
	between string
}

var rules [len(expr.Primitives)]rule

func init() {
	every := wholeLine()
	nothing := jet{every, every, every}
	sign := expr.Sign.Info().Eval1
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
			r := Interval{directed.SqrtDown(u.Lo), directed.SqrtUp(u.Hi)}
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
		expr.Abs:   func(u Interval) jet { return jet{Interval{u.mig(), u.mag()}, every, every} },
		expr.Sign:  func(u Interval) jet { return jet{Interval{sign(u.Lo), sign(u.Hi)}, every, every} },
		expr.Floor: func(u Interval) jet { return jet{Interval{math.Floor(u.Lo), math.Floor(u.Hi)}, every, every} },
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
		expr.Max: func(_ *study, _ *expr.Node, a, b jet) jet {
			return jet{Interval{max(a.v.Lo, b.v.Lo), max(a.v.Hi, b.v.Hi)}, every, every}
		},
		expr.Min: func(_ *study, _ *expr.Node, a, b jet) jet {
			return jet{Interval{min(a.v.Lo, b.v.Lo), min(a.v.Hi, b.v.Hi)}, every, every}
		},
	} {
		rules[op].pair = pair
	}
	none := rule{fold: func([]Interval) Interval { return every }, curve: (*backward).curveUnknown,
		slopes: func(u []Interval) []Interval { return fill(make([]Interval, len(u)), every) }}
	for op, rule := range map[expr.Op]rule{
		expr.Prod:      {fold: prodRange, slopes: prodSlopes, curve: (*backward).curveProd},
		expr.LogSumExp: {fold: logSumExpRange, slopes: softmaxRange, curve: (*backward).curveLogSumExp},
		expr.MaxAll:    none,
		expr.MinAll:    none,
	} {
		rules[op] = rule
	}
	for op, edge := range map[expr.Op]func(s *study, n *expr.Node) boundary{
		expr.Log:  positiveArgument,
		expr.Sqrt: rootArgument,
		expr.Div: func(_ *study, n *expr.Node) boundary {
			return boundary{arg: n.Args[1], need: "a quotient needs a divisor other than 0", of: func(u Interval, _ int) position { return besideZero(u) }}
		},
		expr.Pow: powerBoundary,
	} {
		rules[op].edge = edge
	}
	for op := range rules {
		if !expr.Op(op).Info().Smooth {
			rules[op].edge = notSmooth
		}
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
