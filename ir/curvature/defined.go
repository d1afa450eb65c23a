package curvature

import (
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/ir/expr"
)

// Second derivatives say something about a function only between points that
// a segment inside its domain joins: u^(-2) is curved upwards on both sides of its
// pole and is not convex. This file finds the operations that are applied
// where they are not defined, or not continuously differentiable, inside the
// box of a study; a study with such an operation proves nothing.

// escape is an operation that leaves the set where the rules of this package
// hold.
type escape struct {
	node   *expr.Node
	reason string
}

// escapeOf returns the first operation below the root that leaves its domain,
// or nil where the root is a continuously differentiable function on a convex
// set: the box of the study, cut by domains that are themselves convex sets.
// An edge of a domain may be touched where that set is certainly convex; the
// kinks of Euclidean norms, which are convex, are left to their own rule.
func (s *study) escapeOf() *escape {
	if !s.examined {
		s.examined = true
		for _, n := range s.nodes() {
			if s.escape = s.departure(n); s.escape != nil {
				break
			}
		}
	}
	return s.escape
}

// departure examines one operation.
func (s *study) departure(n *expr.Node) *escape {
	if n.Deps == 0 {
		return nil
	}
	for _, a := range n.Args {
		if v := s.known(a); v != nil && !allFinite(v) {
			return &escape{node: a, reason: "its value is not finite"}
		}
	}
	if rules[n.Op].edge == nil || !n.Op.Info().Smooth && !s.varies(n) { // its value alone matters
		return nil
	}
	e := rules[n.Op].edge(s, n)
	need := e.need
	if e.between != "" {
		need = e.between
	}
	var there []Interval // the argument at one point
	for k, u := range s.rangeOf(e.arg) {
		switch e.of(u, k) {
		case inside:
		case atEdge:
			if there == nil {
				there = s.onePoint(e.arg)
			}
			if (s.varies(e.arg) || !there[k].contains(0)) && s.convexWhereDefined(n, e.arg) {
				continue
			}
			fallthrough
		default:
			return &escape{node: n, reason: need + ranges(u)}
		}
	}
	return nil
}

// onePoint is the range of an argument at one point of the box. One that does not vary within the study is fixed where its set is not to be empty: it may be 0
// everywhere, in a range that ends there, as (x - x)^2 is; one that is not 0 at a point is so almost nowhere, for what is composed of smooth operations is analytic.
func (s *study) onePoint(arg *expr.Node) []Interval {
	inner := func(box []Interval) []float64 {
		p := make([]float64, len(box))
		for i, u := range box {
			switch lo, hi := !math.IsInf(u.Lo, 0), !math.IsInf(u.Hi, 0); {
			case lo && hi:
				p[i] = u.Lo + 0.618*(u.Hi-u.Lo) // no symmetric place
			case lo:
				p[i] = u.Lo + 1
			case hi:
				p[i] = u.Hi - 1
			default:
				p[i] = 0.618
			}
		}
		return p
	}
	return newStudy(s.graph, arg, s.wrt, at(inner(s.dom.x), inner(s.dom.y)), s.work).rangeOf(arg)
}

// position is how a range lies to the set where an operation is smooth.
type position uint8

const (
	inside position = iota // in its interior, or the operation is smooth up to its edge
	atEdge                 // in its closure
	outside
	never // no point of the range is in the set
)

func insideIf(ok bool) position {
	if ok {
		return inside
	}
	return outside
}

func positiveArgument(_ *study, n *expr.Node) boundary {
	return boundary{arg: n.Args[0], need: n.Op.String() + " needs an argument above 0", of: func(u Interval, _ int) position { return aboveZero(u) }}
}

// SmoothRoot is what a root may be instead where its argument comes to 0.
const SmoothRoot = "add a small number under the root: sqrt(u + 1e-8) is smooth where u >= 0, and within 1e-4 of sqrt(u); norm2(u) is sqrt(sumsq(u))"

// rootArgument is that of a root, which grows without bound in slope as its argument comes to 0: norms, which users have in penalties.
func rootArgument(s *study, n *expr.Node) boundary {
	b := positiveArgument(s, n)
	b.fix = SmoothRoot
	return b
}

// aboveZero is the position of a range in the domain u > 0.
func aboveZero(u Interval) position {
	switch {
	case u.Lo > 0:
		return inside
	case u.Hi <= 0:
		return never
	case u.Lo == 0:
		return atEdge
	}
	return outside
}

// besideZero is the position of a range in the domain u != 0, of which it must
// lie in one half.
func besideZero(u Interval) position {
	switch {
	case u.Lo > 0 || u.Hi < 0:
		return inside
	case u.isZero():
		return never
	case u.Lo == 0 || u.Hi == 0:
		return atEdge
	}
	return outside
}

// powerBoundary: u^p is continuously differentiable everywhere for whole numbers p
// >= 0, for u other than 0 where p is another whole number, for u >= 0 where p >= 1, and for
// u > 0 otherwise.
func powerBoundary(s *study, n *expr.Node) boundary {
	exponents := s.rangeOf(n.Args[1])
	whole, least := true, math.Inf(1)
	for _, p := range exponents {
		whole, least = whole && isWhole(p), min(least, p.Lo)
	}
	out := boundary{arg: n.Args[0], need: "a power that is not a whole number needs a base above 0", between: "this power needs a base above 0",
		of: func(u Interval, k int) position {
			if n.Args[0].Shape.Rank > 0 {
				return powerPosition(u, entry(exponents, k))
			}
			return slices.Max(each.Of(exponents, func(p Interval) position { return powerPosition(u, p) })) // one base with every exponent
		}}
	switch {
	case whole:
		out.need = "a negative power needs a base other than 0"
	case least >= 1:
		out.need = "a power that is not a whole number needs a base of at least 0"
	}
	if p, ok := s.exponent(n); ok && p < 0 && p == math.Trunc(p) {
		out.between = out.need
	}
	return out
}

func isWhole(p Interval) bool { return p.isPoint() && p.Lo == math.Trunc(p.Lo) }

// powerPosition is that of u in the domain of u^e, e in p.
func powerPosition(u, p Interval) position {
	switch {
	case isWhole(p) && p.Lo >= 0:
		return inside
	case isWhole(p):
		return besideZero(u)
	case p.Lo >= 1:
		return insideIf(u.Lo >= 0)
	}
	return aboveZero(u)
}

// notSmooth is the boundary of an operation with a kink or a jump. Proofs meet it on data only: the kinks of variables are restated by rows, and their jumps
// are refused, before there is a problem.
func notSmooth(_ *study, n *expr.Node) boundary {
	return boundary{arg: n.Args[0], need: n.Op.String() + " is not smooth", of: func(Interval, int) position { return outside }}
}

// convexWhereDefined reports that {z : arg(z) > 0} (or < 0) is convex, for an
// argument whose range does not cross 0.
func (s *study) convexWhereDefined(n, arg *expr.Node) bool {
	if !s.varies(arg) || s.affine(arg) || s.norm(n) {
		return true
	}
	// A function of one affine variable that only rises or only falls is
	// positive on an interval of it; one that does neither may be 0 everywhere.
	f := s.fused(arg)
	if f == nil || !s.affine(f.leaf) {
		return false
	}
	return !slices.ContainsFunc(s.slopesOf(arg), func(j jet) bool { return j.d1.isZero() || !(j.d1.Lo >= 0 || j.d1.Hi <= 0) })
}
