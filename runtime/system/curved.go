package system

import (
	"context"
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/must"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/central"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/sequential"
	"bilevelc/runtime/tolerance"
	"bilevelc/runtime/tree"
)

// A problem whose KKT system is smooth but not linear is solved on systems linearized at one point after another (package sequential).

// prepareSmooth makes the local solver of a run whose system is not linear.
func (run *Run) prepareSmooth() (err error) {
	p := run.n
	if p.Integer != nil { // the search finds the first whole numbers (polish)
		run.prepareCurved()
		return nil
	}
	if run.Smooth, err = run.smooth(p); err != nil {
		return err
	}
	run.local = run.Smooth
	run.prepareCurved()
	return nil
}

// smooth is the local solver of a problem whose system is not linear.
func (run *Run) smooth(p *problem.Problem) (_ *sequential.Solver, err error) {
	defer must.Catch(&err)
	first := must.Get(lower.New(lower.Choose(p), nil, p, 1))
	return sequential.New(p, sequential.Options{Observer: run.observe, Working: run.working, Large: inLeaderSpace(p), Begin: func(ctx context.Context, x []float64) ([]float64, error) {
		switch sol := first.Solve(ctx, p, lower.G(p, x), x, nil); sol.Status {
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
}

// ahead is where the path of F from x leads (outer.Path), where there are kinks to look past; nil where that is nowhere. A linear system has paths of its own (package reduced)
// but where the follower's factors are sparse: its central path is taken there, if it has one. Where the leader has constraints that read y it is that of their violation alone: rows of the follower that hold,
// and hide from x what violates them, give way on it.
func (run *Run) ahead(ctx context.Context, x []float64) (_ []float64, err error) {
	defer must.Catch(&err)
	p := run.n
	switch {
	case !p.HasInequalities() || !(p.Facts.StrongConvexity > 0) || len(p.Duals) > 0:
		return nil, nil
	case p.Coupled != nil:
		p = violation(p)
	case p.Dx+p.Dy < tolerance.LeastSparse:
		return nil, nil
	}
	if run.Smooth == nil {
		if space, _ := run.local.(*leaderSpace); space == nil || space.sparse == nil || central.New(p, nil) == nil {
			return nil, nil
		}
	}
	solver := must.Get(lower.New(lower.Choose(p), nil, p, run.opts.Threads))
	return outer.Path(ctx, oracle.New(p, solver, &oracle.Face{Settings: *oracle.DefaultFace()}), x, run.opts.Seed)
}

// violation is a problem with the sum of squares of what the constraints that read y are violated by, in parts of their sizes, in the place of f.
func violation(p *problem.Problem) *problem.Problem {
	q := *p
	q.Coupled, q.Facts.DegreeF = nil, 3
	q.F = problem.Joint(func(dstX, dstY, x, y []float64) float64 {
		answer := append(slices.Clone(y), make([]float64, len(p.Coupled.Kind))...)
		gradX, grad := make([]float64, p.Dx), make([]float64, len(answer))
		p.F.ValueGrad(gradX, grad, x, answer)
		sum := 0.0
		for i, h := range p.CoupledPart(grad) {
			if over := p.Coupled.Over(i, h); over > 0 {
				sum += over * over
				answer[p.Dy+i] = 2 * math.Copysign(over, h) / p.Coupled.Size(i)
			}
		}
		if dstX != nil || dstY != nil { // with the weights of the constraints f has the gradients of both
			allX, all := make([]float64, p.Dx), make([]float64, len(answer))
			p.F.ValueGrad(allX, all, x, answer)
			for j := range dstX {
				dstX[j] = allX[j] - gradX[j]
			}
			for j := range dstY {
				dstY[j] = all[j] - grad[j]
			}
		}
		return sum
	})
	return &q
}

// prepareCurved reads the system for the search where only the leader's constraints are not linear.
func (run *Run) prepareCurved() {
	p := run.n
	if run.Why = kkt.AppliesCurved(p); run.Why != "" || run.opts.Search == SearchNone || run.opts.FirstStart > 0 && p.Integer == nil {
		return
	}
	if n := Size(p); n > Largest {
		run.Why = fmt.Sprintf("the system has %d unknowns and multipliers, and the search takes at most %d", n, Largest)
		return
	}
	s, why, err := kkt.NewCurved(p)
	if err != nil {
		why = err.Error()
	}
	if why == "" {
		why = tree.Applies(s)
	}
	if run.Why = why; why == "" {
		run.Curved = s
	}
}

// withoutF is the system for a search for a point alone, where local solves have found none and f, which is not quadratic, is what keeps the search out; nil elsewhere.
func (run *Run) withoutF(err error) *kkt.System {
	if run.Best != nil || !run.searches() || !run.searchable(err) || kkt.AppliesCurved(run.n) != "" || Size(run.n) > Largest {
		return nil
	}
	s, why, err := kkt.NewCurved(run.n.Feasibility())
	if err != nil || why != "" {
		return nil
	}
	return s
}

// linearized gives a run the system linearized at its best point, which its document is about. A point at which there is none is no end of a run.
func (run *Run) linearized() error {
	if run.Best == nil {
		return nil
	}
	s, err := run.Smooth.At(run.Best)
	if err != nil {
		run.Best = nil
		return fmt.Errorf("the system at the best point: %w", err)
	}
	run.System = s
	return nil
}

// multipliers are those of the follower's rows at x, by the lower solver that problems of the size have; of no rows where there is no answer.
func (run *Run) multipliers() (_ func(ctx context.Context, x []float64) []float64, err error) {
	defer must.Catch(&err)
	p := run.n
	solver := must.Get(lower.New(lower.Choose(p), nil, p, run.opts.Threads))
	return func(ctx context.Context, x []float64) []float64 {
		return solver.Solve(ctx, p, lower.G(p, x), x, nil).Lambda
	}, nil
}
