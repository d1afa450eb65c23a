package curvature

import (
	"fmt"
	"math"

	"bilevelc/ir/expr"
)

// Second derivatives say something about a function only between points that
// a segment inside its domain joins: u^(-2) bends upwards on both sides of its
// pole and is not convex. This file finds the operations that are applied
// where they are not defined, or not continuously differentiable, inside the
// box of a study; a study with such an operation proves nothing.

// escape is an operation that leaves the set where the rules of this package
// hold.
type escape struct {
	node   *expr.Node
	arg    *expr.Node // whose range leaves the domain; nil for values that are not finite
	pole   bool       // the domain is everything but 0
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
		for _, n := range expr.Reachable(s.root) {
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
	rule := rules[n.Op]
	if !n.Op.Info().Smooth {
		if !s.varies(n) {
			return nil // its value alone matters
		}
		if reason, outcome := rule.obstacle(s, n); outcome != proved {
			return &escape{node: n, arg: n.Args[0], reason: reason}
		}
		return nil
	}
	if rule.edge == nil {
		return nil
	}
	e := rule.edge(s, n)
	for k, u := range s.rangeOf(e.arg) {
		switch e.of(u, k) {
		case atEdge:
			if s.convexWhereDefined(n, e.arg) {
				continue
			}
			fallthrough
		case outside:
			return &escape{node: n, arg: e.arg, pole: e.pole, reason: fmt.Sprintf("%s; its argument ranges over %s", e.need, u)}
		}
	}
	return nil
}

// position is how a range lies to the domain of an operation.
type position uint8

const (
	inside position = iota // in its interior, or the operation is smooth up to its edge
	atEdge                 // in its closure
	outside
)

func positiveArgument(n *expr.Node) boundary {
	return boundary{n.Args[0], n.Op.String() + " needs an argument above 0", false, func(u Interval, _ int) position { return aboveZero(u) }}
}

// aboveZero is the position of a range in the domain u > 0.
func aboveZero(u Interval) position {
	switch {
	case u.Lo > 0:
		return inside
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
		return outside
	case u.Lo == 0 || u.Hi == 0:
		return atEdge
	}
	return outside
}

// powerPosition is that of u in the domain of u^e, e in p: everything for whole
// numbers e >= 0, u != 0 for other whole numbers, u > 0 else, where u^e is
// continuously differentiable up to 0 if e >= 1.
func powerPosition(u, p Interval) position {
	whole := p.isPoint() && p.Lo == math.Trunc(p.Lo)
	switch {
	case whole && p.Lo >= 0:
		return inside
	case whole:
		return besideZero(u)
	case p.Lo >= 1 && u.Lo >= 0:
		return inside
	}
	return aboveZero(u)
}

// convexWhereDefined reports that {z : arg(z) > 0} (or < 0) is convex, for an
// argument whose range does not cross 0.
func (s *study) convexWhereDefined(n, arg *expr.Node) bool {
	if !s.varies(arg) || s.affine(arg) || s.atom(n) {
		return true
	}
	// A function of one affine variable that only rises or only falls is
	// positive on an interval of it.
	f := s.fused(arg)
	if f == nil || !s.affine(f.leaf) {
		return false
	}
	for _, j := range s.slopesOf(arg) {
		if !(j.d1.Lo >= 0 || j.d1.Hi <= 0) {
			return false
		}
	}
	return true
}
