package curvature

import (
	"fmt"

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
		if outcome == unknown {
			b.fix = rules[m.Op].edge(s, m).fix
		}
		out.Blames = append(out.Blames, *b)
	}
	return out
}

// obstacle decides one operation: what fails in all of a range is refuted.
func (s *study) obstacle(m *expr.Node) (reason string, outcome Outcome) {
	if rules[m.Op].edge == nil {
		return "", proved
	}
	e := rules[m.Op].edge(s, m)
	outcome = proved
	for k, u := range s.rangeOf(e.arg) {
		switch e.of(u, k) {
		case inside:
		case never:
			return fmt.Sprintf("%s; its argument is in %s", e.need, u), refuted
		default:
			if outcome == proved {
				reason, outcome = e.need+ranges(u), unknown
			}
		}
	}
	return reason, outcome
}

// ranges words the range of an entry that is not inside.
func ranges(u Interval) string { return fmt.Sprintf("; its argument ranges over %s", u) }
