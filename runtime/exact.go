package runtime

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"bilevelc/internal/must"
	"bilevelc/ir"
	"bilevelc/ir/curvature"
	"bilevelc/ir/expr"
	"bilevelc/ir/facts"
	"bilevelc/runtime/compile"
	"bilevelc/runtime/document"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/system"
	"bilevelc/runtime/tolerance"
)

// Where g is quadratic in x and y together, the follower is its KKT system, whatever it does at ties (package kkt), and nothing has to be added to its
// objective. Such a problem is solved on that system.

// withTies finishes a bound problem: with its follower as it stands, where that breaks ties in the leader's favour and its KKT system can be kept, and with what is
// added to the follower's objective for methods that need one answer to each x. Where the former is there the latter may be missing.
func (s *steps) withTies(bound *ir.Problem) (_ *Problem, err error) {
	defer must.Catch(&err)
	rule, _, err := tiesOf(bound)
	must.Do(err)
	if onlyExact(bound, rule) {
		p, err := s.asItStands(bound, rule)
		if err != nil && len(bound.Duals) == 0 {
			if one := s.oneAnswer(bound); one != nil {
				return one, nil
			}
		}
		return p, err
	}
	exact, why := s.exactly(bound, rule)
	found := len(s.diags)
	if exact == nil && rule != "" {
		if one := s.oneAnswer(bound); one != nil {
			return one, nil
		}
	}
	p, t, err := s.regularized(bound)
	switch {
	case err == nil:
		if p.ties, p.exact = t, exact; why != "" {
			p.notExact = ": " + why
		}
		return p, nil
	case exact != nil && rule == document.Optimistic && s.ended() == nil:
		s.diags = s.diags[:found]
		return exact, nil
	}
	return nil, err
}

// oneAnswer is the problem of a model whose follower is shown strongly convex, so that a rule has nothing to choose; else nil.
func (s *steps) oneAnswer(bound *ir.Problem) *Problem {
	found := len(s.diags)
	if p, err := s.finish(bound); err == nil && p.Numeric.Facts.StrongConvexity > 0 {
		return p
	}
	s.diags = s.diags[:found]
	return nil
}

// readsHidden reports that the upper level reads variables that restate kinks: what holds these down is then the leader's, too.
func readsHidden(p *ir.Problem) bool {
	of := p.Upper.Objective
	if p.Penalized != nil {
		of = p.Penalized
	}
	return slices.ContainsFunc(expr.Reachable(of), func(n *expr.Node) bool {
		return n.Op == expr.Var && n.Lower && n.Offset >= p.Restated.Declared && n.Offset < p.Lower.Dim // the weights of constraints stand behind
	})
}

// onlyExact reports that a rule of the ties has no meaning but on the KKT system: what is worst for the leader is no minimum, and what f makes of multipliers cannot be added to
// an objective of y.
func onlyExact(bound *ir.Problem, rule string) bool {
	return rule == document.Pessimistic || rule == document.Optimistic && len(bound.Duals) > 0
}

// asItStands is exactly, for a problem that is taken in no other way.
func (s *steps) asItStands(bound *ir.Problem, rule string) (_ *Problem, err error) {
	defer must.Catch(&err)
	exact, why := s.exactly(bound, rule)
	if exact == nil {
		what := "ties = " + rule
		if rule == document.Optimistic {
			what += " with an upper level that reads multipliers (`dual`)"
		}
		return nil, refused(bound, what+" needs the follower's KKT system as it stands: "+why)
	}
	return exact, nil
}

// regularized is a bound problem whose follower breaks ties by what is added to its objective.
func (s *steps) regularized(bound *ir.Problem) (*Problem, *ties, error) {
	bound, t, err := s.breakTies(bound, false)
	if err != nil {
		return nil, nil, err
	}
	p, err := s.finish(bound)
	return p, t, err
}

// refused is an error at the rule of the ties.
func refused(bound *ir.Problem, text string) error {
	for _, s := range bound.Settings {
		if s.Name == "ties" {
			return located(s.Span, errors.New(text))
		}
	}
	return errors.New(text)
}

// convexInY is problem.Problem.ConvexF of a bound problem: shown for all x, or for the one that is asked about.
func convexInY(p *ir.Problem, limits curvature.Options) func(x []float64, sign float64) bool {
	var one sync.Mutex
	limits.Context, limits.MaxWork = nil, tolerance.Second/5
	everywhere, nodes := map[float64]bool{}, map[float64]*expr.Node{}
	return func(x []float64, sign float64) bool {
		one.Lock()
		defer one.Unlock()
		node := nodes[sign]
		if node == nil {
			if node = p.Upper.Objective; sign < 0 {
				node = p.Graph.Unary(expr.Neg, node, p.Upper.Span)
			}
			nodes[sign] = node
			everywhere[sign] = curvature.ConvexInY(p, node, nil, limits)
		}
		return everywhere[sign] || curvature.ConvexInY(p, node, x, limits)
	}
}

// exactly is the problem of a model with ties as it stands: its follower breaks them in the leader's favour by being part of the
// leader's program, or against it. nil where its KKT system can not be kept, with the reason.
func (s *steps) exactly(bound *ir.Problem, rule string) (p *Problem, why string) {
	if rule == "" {
		return nil, ""
	}
	degrees := facts.NewDegrees(bound.Graph, expr.DependsX|expr.DependsY)
	quadratic := degrees.Of(bound.Lower.Objective).Deg <= 2
	switch {
	case !quadratic && (rule != document.Optimistic || onlyExact(bound, rule)): // the answers that are worst or shortest, or multipliers, are those of programs
		return nil, "g is not quadratic in x and y together"
	case bound.Restated != nil && !quadratic: // package sequential takes the follower's answer for the only one of its linearized system
		return nil, "its kinks are restated, and g is not quadratic in x and y together"
	case bound.Restated != nil && (rule == document.Pessimistic || rule == document.LeastNorm && readsHidden(bound)):
		return nil, "kinks are restated by hidden variables that are held down in the leader's favour"
	}
	plain := *bound
	limits := s.limits
	limits.Earlier = nil
	if bound.Restated != nil {
		tied := *bound.Restated
		tied.Tied = true
		plain.Restated = &tied
	}
	proof := curvature.Prove(&plain, limits)
	must.Do(s.ended())
	if bad := proof.NotRestated(); bad != nil {
		return nil, fmt.Sprintf("`%s` is not restated by rows: %s", bad.Expr, bad.Reason)
	}
	plain.Facts, plain.Blocks = proof.Facts(), facts.Blocks(&plain)
	f, g := s.functions(&plain, &Problem{})
	numeric := compile.Problem(&plain, f, g)
	if numeric.Facts.DegreeF > 2 {
		numeric.ConvexF = convexInY(&plain, limits)
	}
	out := &Problem{IR: &plain, Proof: proof, Numeric: numeric, Warnings: s.diags, f: f, g: g, phases: s.phases, shared: &shared{}, exactTies: rule}
	why, linear := out.systemOf()
	switch {
	case why != "":
		return nil, why
	case system.TooLarge(numeric, linear) && !system.EachPart(numeric):
		return nil, system.LargeText(numeric)
	case !linear:
		return out, ""
	}
	if _, err := kkt.New(numeric); err != nil {
		return nil, err.Error()
	}
	return out, ""
}
