package runtime

import (
	"context"
	"fmt"
	"slices"

	"bilevelc/ir/expr"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/sequential"
	"bilevelc/runtime/tree"
)

// A problem whose KKT system is smooth but not linear is solved on systems linearized at one point after another (package sequential).

// systemOf says, in words, why a problem is not solved on its KKT system: that is neither one of linear rows and pairs nor a smooth one; "" where it is, and linear says which.
func (p *Problem) systemOf() (why string, linear bool) {
	if why = kkt.Applies(p.Numeric); why == "" {
		return "", true
	}
	switch other := sequential.Applies(p.Numeric); {
	case other != "":
		return why + ", and " + other, false
	case !twice(p.IR.Lower.Objective):
		return "g may not be twice continuously differentiable", false
	case p.Proof.SmoothF.Outcome.String() != "proved" || p.IR.Penalized != nil && !p.IR.Penalized.Smooth():
		return "the upper level may not be smooth everywhere", false
	}
	return "", false
}

// twice reports that no operation of an expression on variables has a kink, or a derivative with one.
func twice(n *expr.Node) bool {
	return !slices.ContainsFunc(expr.Reachable(n), func(m *expr.Node) bool {
		return m.Deps != 0 && (!m.Op.Info().Smooth || m.Op == expr.PosPow)
	})
}

// prepareSmooth makes the local solver of a run whose system is not linear.
func (run *systemRun) prepareSmooth() error {
	p := run.p
	first, err := lower.New(lower.Choose(p.Numeric), nil, p.Numeric, 1)
	if err != nil {
		return err
	}
	run.smooth, err = sequential.New(p.Numeric, sequential.Options{Observer: run.observe, Begin: func(ctx context.Context, x []float64) ([]float64, error) {
		switch sol := first.Solve(ctx, p.Numeric, lower.G(p.Numeric, x), x, nil); sol.Status {
		case lower.Infeasible, lower.Dependent:
			return nil, &pieces.FollowerError{Status: activeset.Infeasible}
		case lower.Unbounded:
			return nil, &pieces.FollowerError{Status: activeset.Unbounded}
		case lower.Stopped:
			return nil, context.Cause(ctx)
		default:
			return sol.Y, nil
		}
	}})
	run.local = run.smooth
	if err == nil {
		run.prepareCurved()
	}
	return err
}

// prepareCurved reads the system for the search where only the leader's constraints are not linear.
func (run *systemRun) prepareCurved() {
	p := run.p.Numeric
	if run.why = kkt.AppliesCurved(p); run.why != "" || run.opts.Search == SearchNone || run.opts.FirstStart > 0 {
		return
	}
	if n := systemSize(p); n > largestSystem {
		run.why = fmt.Sprintf("the system has %d unknowns and multipliers, and the search takes at most %d", n, largestSystem)
		return
	}
	s, why, err := kkt.NewCurved(p)
	if err != nil {
		why = err.Error()
	}
	if why == "" {
		why = tree.Applies(s)
	}
	if run.why = why; why == "" {
		run.curved = s
	}
}

// linearized gives a run the system linearized at its best point, which its document is about.
func (run *systemRun) linearized() (err error) {
	if run.best == nil {
		return nil
	}
	run.s, err = run.smooth.At(run.best)
	return err
}
