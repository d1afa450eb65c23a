package system

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"bilevelc/runtime/activeset"
	"bilevelc/runtime/document"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/qp"
	"bilevelc/runtime/sequential"
	"bilevelc/runtime/tolerance"
	"bilevelc/runtime/tree"
)

// WholePoints is the number of points of X where all entries of x are whole numbers, F at each of which is a convex program or a search of its own; 0 where they are not, or take more than a second.
func WholePoints(n *problem.Problem) int {
	if n.Integer == nil || n.Coupled != nil || n.X.Extended.Len() > 0 || len(n.X.Balls) > 0 {
		return 0
	}
	points := 1.0
	for j, is := range n.Integer {
		if !is {
			return 0
		}
		points *= math.Floor(n.X.Hi[j]) - math.Ceil(n.X.Lo[j]) + 1
	}
	if points*tree.FactorWork(float64(Size(n))) > tolerance.Second {
		return 0
	}
	return int(points)
}

// everyX is WholePoints for the search, where they are looked at when it has no bound.
func (run *Run) everyX() int {
	if run.Curved != nil || run.System.Objective == nil || run.opts.Nodes > 0 {
		return 0
	}
	return WholePoints(run.n)
}

// wholes are the points of X where all entries of x are whole numbers, in the order of numbers of so many digits.
func (run *Run) wholes() iter.Seq[[]float64] {
	set := run.n.X
	return func(yield func([]float64) bool) {
		x := make([]float64, len(set.Lo))
		for j := range x {
			x[j] = math.Ceil(set.Lo[j])
		}
		for next := 0; next >= 0; {
			if run.allows(x) && !yield(x) {
				return
			}
			for next = len(x) - 1; next >= 0; next-- {
				if x[next]++; x[next] <= set.Hi[next] {
					break
				}
				x[next] = math.Ceil(set.Lo[next])
			}
		}
	}
}

// enumerate finds the least F over the whole numbers of X, at each of which the follower's answers are looked at alone: there products of x are linear, and its pairs have the signs that they have at one answer. It reports false where at some x that is not known, or there is
// no point: nothing has changed then. A *pieces.Unbounded says that f falls without end over the answers to one.
func (run *Run) enumerate(ctx context.Context) (bool, error) {
	s := run.System
	follower, err := kkt.NewFollower(s)
	if err != nil {
		return false, err
	}
	var best *kkt.Point
	looked := int64(0)
	for x := range run.wholes() {
		z, status := follower.Solve(ctx, x)
		switch {
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case status == activeset.Infeasible, status == activeset.Unbounded: // the follower has no answer
		case status != activeset.Optimal:
			return false, nil
		default:
			looked++
			f := s.Value(z)
			if !ChoiceAt(ctx, follower, z).None() {
				if z, f, err = extremeAnswer(ctx, s, follower, z, 1); errors.As(err, new(*pieces.Unbounded)) {
					return false, err
				} else if err != nil {
					return false, ctx.Err()
				}
			}
			if math.IsNaN(f) || math.IsInf(f, 0) {
				return false, nil
			}
			if best == nil || f < best.F {
				best = &kkt.Point{Z: z, F: f}
			}
		}
	}
	if best == nil {
		return false, nil
	}
	best.Branch, _ = s.BranchAt(best.Z)
	point, err := run.polish(ctx, best)
	if point == nil || !(math.Abs(point.F-best.F) <= tolerance.Sign*math.Max(math.Abs(point.F), math.Abs(best.F))) {
		return false, ctx.Err()
	}
	run.Best, run.err = point, err
	run.Global = &document.Global{Proved: true, Bound: document.Number(run.opts.Sign * point.F), Nodes: looked, Within: document.Number(run.gap())}
	return true, err
}

// enumerateSmooth finds the least F over the whole numbers of X where the system is smooth and not linear, and the follower has one answer to each: a local solve with x held finds it. No more than about a second is spent.
func (run *Run) enumerateSmooth(ctx context.Context) error {
	looked, spent := int64(0), int64(0)
	var best *sequential.Solver
	for x := range run.wholes() {
		held, set := *run.n, *run.n.X
		set.Lo, set.Hi = slices.Clone(x), slices.Clone(x)
		held.X, held.Integer = &set, nil
		smooth, err := run.smooth(&held)
		if err != nil {
			return err
		}
		run.local, run.Smooth = smooth, smooth
		point, err := smooth.From(ctx, slices.Clone(x))
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, new(*pieces.FollowerError)): // no answer
		case err != nil:
			return err
		case math.IsNaN(point.F) || math.IsInf(point.F, 0):
			return sequential.ErrNotFinite
		default:
			if looked++; run.Best == nil || point.F < run.Best.F {
				run.Best, best = point, smooth
			}
		}
		before := spent
		if spent += smooth.Work(); before+run.work() > tolerance.Second && run.opts.Search != SearchFully {
			return &WholeNumbers{fmt.Sprintf("to look at each of the whole numbers takes more than a second, which only --global spends: %d were looked at", looked)}
		}
	}
	if run.Best == nil {
		return &qp.EmptySetError{}
	}
	run.local, run.Smooth = best, best
	run.Global = &document.Global{Proved: true, Bound: document.Number(run.opts.Sign * run.Best.F), Nodes: looked, Within: document.Number(run.gap())}
	return nil
}

// allows reports that the leader's rows hold at x.
func (run *Run) allows(x []float64) bool {
	set := run.n.X
	for i, kind := range set.Kind {
		if kind.Over(set.E.RowDot(i, x)-set.Rhs[i]) > tolerance.Rounded*set.E.AddTerms(math.Abs(set.Rhs[i]), i, x) {
			return false
		}
	}
	return true
}
