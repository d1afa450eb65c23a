package runtime

import (
	"fmt"

	"bilevelc/ir"
	"bilevelc/ir/analysis"
	"bilevelc/ir/curvature"
	"bilevelc/ir/expr"
	"bilevelc/ir/separable"
	"bilevelc/runtime/kkt"
)

// Where g is quadratic in x and y together, the follower is its KKT system, whatever it does at ties (package kkt), and nothing has to be added to its
// objective. Such a problem is solved on that system.

// withTies finishes a bound problem: with its follower as it stands, where that breaks ties in the leader's favour and its KKT system can be kept, and with what is
// added to the follower's objective for methods that need one answer to each x. Where the former is there the latter may be missing.
func (s *steps) withTies(bound *ir.Problem) (*Problem, error) {
	rule, _, err := tiesOf(bound)
	if err != nil {
		return nil, err
	}
	exact, err := s.exactly(bound, rule)
	if err != nil {
		return nil, err
	}
	found := len(s.diags)
	p, t, err := s.regularized(bound)
	switch {
	case err == nil:
		p.ties, p.exact = t, exact
		return p, nil
	case exact != nil && s.ended() == nil:
		s.diags = s.diags[:found]
		return exact, nil
	}
	return nil, err
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

// exactly is the problem of a model with ties as it stands: its follower breaks them in the leader's favour by being part of the
// leader's program. nil where its KKT system is not one of linear rows and pairs.
func (s *steps) exactly(bound *ir.Problem, rule string) (*Problem, error) {
	if rule != optimistic {
		return nil, nil
	}
	degrees := analysis.NewDegrees(bound.Graph, expr.DependsX|expr.DependsY)
	if degrees.Of(bound.Lower.Objective).Deg > 2 || bound.Restated != nil {
		return nil, nil
	}
	plain := *bound
	limits := s.limits
	limits.Earlier = nil
	proof := curvature.Prove(&plain, limits)
	if err := s.ended(); err != nil {
		return nil, err
	}
	plain.Facts, plain.Blocks = proof.Facts(), separable.Blocks(&plain)
	f, err := compileFunction(&plain, objectiveOf(&plain), nil)
	if err != nil {
		return nil, fmt.Errorf("compiling the upper objective: %w", err)
	}
	g, err := compileFunction(&plain, plain.Lower.Objective, nil)
	if err != nil {
		return nil, fmt.Errorf("compiling the lower objective: %w", err)
	}
	numeric := numericProblem(&plain, f, g)
	numeric.Blocks = plain.Blocks
	if kkt.Applies(numeric) != "" || numeric.Dx+numeric.Dy+numeric.Rows.Len() > largestSystem {
		return nil, nil
	}
	if _, err := kkt.New(numeric); err != nil {
		return nil, nil
	}
	return &Problem{IR: &plain, Proof: proof, Numeric: numeric, Warnings: s.diags, f: f, g: g, phases: s.phases, shared: &shared{}, exactTies: rule}, nil
}

// objectiveOf is the leader's objective, with weights of the coupled constraints where there are any.
func objectiveOf(p *ir.Problem) *expr.Node {
	if p.Penalized != nil {
		return p.Penalized
	}
	return p.Upper.Objective
}
