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
	out := Smoothness{Outcome: Proved}
	for _, m := range expr.Reachable(n) {
		if m.Deps == 0 {
			continue
		}
		reason, outcome := s.obstacle(m)
		if outcome == Proved {
			continue
		}
		if out.Outcome != Refuted {
			out.Outcome = outcome
		}
		b := s.blameNode(m, reason)
		out.Blames = append(out.Blames, *b)
	}
	return out
}

// obstacle decides one operation.
func (s *study) obstacle(m *expr.Node) (reason string, outcome Outcome) {
	each := func(arg int, bad func(u Interval) Outcome, need string) (string, Outcome) {
		worst := Proved
		var where Interval
		for _, u := range s.rangeOf(m.Args[arg]) {
			switch bad(u) {
			case Refuted:
				return fmt.Sprintf("%s; its argument is in %s", need, u), Refuted
			case Unknown:
				if worst == Proved {
					worst, where = Unknown, u
				}
			}
		}
		if worst == Unknown {
			return fmt.Sprintf("%s; its argument ranges over %s", need, where), Unknown
		}
		return "", Proved
	}
	above0 := func(u Interval) Outcome {
		switch {
		case u.Lo > 0:
			return Proved
		case u.Hi <= 0:
			return Refuted
		}
		return Unknown
	}
	not0 := func(u Interval) Outcome {
		switch {
		case !u.contains(0):
			return Proved
		case u.isZero():
			return Refuted
		}
		return Unknown
	}
	switch m.Op {
	case expr.Log, expr.Sqrt:
		return each(0, above0, m.Op.String()+" needs an argument above 0")
	case expr.Abs, expr.Sign:
		return each(0, func(u Interval) Outcome { return proved(!u.contains(0)) }, m.Op.String()+" has a kink at 0")
	case expr.Floor:
		return each(0, func(u Interval) Outcome {
			return proved(math.Floor(u.Lo) == math.Floor(u.Hi) && u.Lo > math.Floor(u.Lo))
		}, "floor jumps at integers")
	case expr.Div:
		return each(1, not0, "a quotient needs a divisor other than 0")
	case expr.Pow:
		return s.powObstacle(m, each, above0, not0)
	case expr.Max, expr.Min:
		u, v := s.rangeOf(m.Args[0]), s.rangeOf(m.Args[1])
		for k := range m.Shape.Len() {
			if a, b := entry(u, k), entry(v, k); a.Lo <= b.Hi && b.Lo <= a.Hi {
				return fmt.Sprintf("%s has a kink where its arguments are equal; they range over %s and %s", m.Op, a, b), Unknown
			}
		}
	case expr.MaxAll, expr.MinAll:
		if m.Args[0].Shape.Len() > 1 {
			return m.Op.String() + " has kinks where two entries are equal", Unknown
		}
	}
	return "", Proved
}

func proved(ok bool) Outcome {
	if ok {
		return Proved
	}
	return Unknown
}

// powObstacle: u^p is continuously differentiable everywhere for integers p
// >= 0, for u >= 0 where p >= 1, for u other than 0 where p is a negative
// integer, and for u > 0 otherwise.
func (s *study) powObstacle(m *expr.Node, each func(int, func(Interval) Outcome, string) (string, Outcome),
	above0, not0 func(Interval) Outcome) (string, Outcome) {
	whole, negative, least := true, false, math.Inf(1)
	for _, p := range s.rangeOf(m.Args[1]) {
		whole = whole && p.isPoint() && p.Lo == math.Trunc(p.Lo)
		negative = negative || p.Lo < 0
		least = min(least, p.Lo)
	}
	switch {
	case whole && !negative:
		return "", Proved
	case whole:
		return each(0, not0, "a negative power needs a base other than 0")
	case least >= 1:
		return each(0, func(u Interval) Outcome { return proved(u.Lo >= 0) }, "a power that is not a whole number needs a base of at least 0")
	}
	return each(0, above0, "a power that is not a whole number needs a base above 0")
}
