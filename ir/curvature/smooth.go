package curvature

import (
	"fmt"
	"math"

	"bilevelc/ir/expr"
)

// smoothness checks, for x in X and y within its bounds, that every operation
// of n is applied where it is continuously differentiable. What fails for all
// values is refuted; what the ranges leave open is unknown.
func (pr *prover) smoothness(n *expr.Node) Smoothness {
	s := pr.study(n, expr.DependsX|expr.DependsY, pr.feasible, pr.budget())
	out := Smoothness{Outcome: proved}
	for _, m := range expr.Reachable(n) {
		if m.Deps == 0 {
			continue
		}
		reason, outcome := s.obstacle(m)
		if outcome == proved {
			continue
		}
		if out.Outcome != refuted {
			out.Outcome = outcome
		}
		b := s.blameNode(m, reason)
		out.Blames = append(out.Blames, *b)
	}
	return out
}

// obstacle decides one operation.
func (s *study) obstacle(m *expr.Node) (reason string, outcome Outcome) {
	if rule := rules[m.Op].obstacle; rule != nil {
		return rule(s, m)
	}
	return "", proved
}

// every decides an operation whose argument arg has to be good in all its entries.
func (s *study) every(arg *expr.Node, need string, good func(u Interval) Outcome) (string, Outcome) {
	worst := proved
	var where Interval
	for _, u := range s.rangeOf(arg) {
		switch good(u) {
		case refuted:
			return fmt.Sprintf("%s; its argument is in %s", need, u), refuted
		case unknown:
			if worst == proved {
				worst, where = unknown, u
			}
		}
	}
	if worst == unknown {
		return fmt.Sprintf("%s; its argument ranges over %s", need, where), unknown
	}
	return "", proved
}

func above0(u Interval) Outcome {
	switch {
	case u.Lo > 0:
		return proved
	case u.Hi <= 0:
		return refuted
	}
	return unknown
}

func not0(u Interval) Outcome {
	switch {
	case !u.contains(0):
		return proved
	case u.isZero():
		return refuted
	}
	return unknown
}

func needsPositive(s *study, n *expr.Node) (string, Outcome) {
	return s.every(n.Args[0], n.Op.String()+" needs an argument above 0", above0)
}

func hasKink(s *study, n *expr.Node) (string, Outcome) {
	return s.every(n.Args[0], n.Op.String()+" has a kink at 0", func(u Interval) Outcome { return provedIf(!u.contains(0)) })
}

func mayCross(s *study, n *expr.Node) (string, Outcome) {
	u, v := s.rangeOf(n.Args[0]), s.rangeOf(n.Args[1])
	for k := range n.Shape.Len() {
		if a, b := entry(u, k), entry(v, k); a.Lo <= b.Hi && b.Lo <= a.Hi {
			return fmt.Sprintf("%s has a kink where its arguments are equal; they range over %s and %s", n.Op, a, b), unknown
		}
	}
	return "", proved
}

func mayTie(_ *study, n *expr.Node) (string, Outcome) {
	if n.Args[0].Shape.Len() > 1 {
		return n.Op.String() + " has kinks where two entries are equal", unknown
	}
	return "", proved
}

func provedIf(ok bool) Outcome {
	if ok {
		return proved
	}
	return unknown
}

// powObstacle: u^p is continuously differentiable everywhere for integers p
// >= 0, for u >= 0 where p >= 1, for u other than 0 where p is a negative
// integer, and for u > 0 otherwise.
func (s *study) powObstacle(m *expr.Node) (string, Outcome) {
	whole, negative, least := true, false, math.Inf(1)
	for _, p := range s.rangeOf(m.Args[1]) {
		whole = whole && p.isPoint() && p.Lo == math.Trunc(p.Lo)
		negative = negative || p.Lo < 0
		least = min(least, p.Lo)
	}
	switch {
	case whole && !negative:
		return "", proved
	case whole:
		return s.every(m.Args[0], "a negative power needs a base other than 0", not0)
	case least >= 1:
		return s.every(m.Args[0], "a power that is not a whole number needs a base of at least 0",
			func(u Interval) Outcome { return provedIf(u.Lo >= 0) })
	}
	return s.every(m.Args[0], "a power that is not a whole number needs a base above 0", above0)
}
