package system

import (
	"context"
	"errors"
	"math"

	"bilevelc/runtime/activeset"
	"bilevelc/runtime/document"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/tolerance"
	"bilevelc/runtime/tree"
)

// everyX is the number of points of X where all entries of x are whole numbers, F at each of which is a convex program or a search of its own; 0 where they are not, or take more than a second.
func (run *Run) everyX() int {
	n := run.n
	if n.Integer == nil || n.Coupled != nil || run.Curved != nil || n.X.Extended.Len() > 0 || len(n.X.Balls) > 0 || run.System.Objective == nil || run.opts.Nodes > 0 {
		return 0
	}
	points := 1.0
	for j, is := range n.Integer {
		if !is {
			return 0
		}
		points *= math.Floor(n.X.Hi[j]) - math.Ceil(n.X.Lo[j]) + 1
	}
	if points*tree.FactorWork(float64(run.System.N)) > tolerance.Second {
		return 0
	}
	return int(points)
}

// enumerate finds the least F over the whole numbers of X, at each of which the follower's answers are looked at alone: there products of x are linear, and its pairs have the signs that they have at one answer. It reports false where at some x that is not known, or there is
// no point: nothing has changed then. A *pieces.Unbounded says that f falls without end over the answers to one.
func (run *Run) enumerate(ctx context.Context) (bool, error) {
	n, s := run.n, run.System
	follower, err := kkt.NewFollower(s)
	if err != nil {
		return false, err
	}
	var best *kkt.Point
	looked := int64(0)
	x := make([]float64, n.Dx)
	for j := range x {
		x[j] = math.Ceil(n.X.Lo[j])
	}
	for next := 0; next >= 0; {
		if run.allows(x) {
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
		for next = len(x) - 1; next >= 0; next-- { // the next point, in the order of numbers of so many digits
			if x[next]++; x[next] <= n.X.Hi[next] {
				break
			}
			x[next] = math.Ceil(n.X.Lo[next])
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
