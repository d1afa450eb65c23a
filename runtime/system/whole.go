package system

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
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

// fewWholePoints reports that all entries of x are whole numbers, and their points so few that a factor of the system at each takes no more than a second.
func fewWholePoints(n *problem.Problem) bool {
	_, all := wholes(n, tolerance.Second/tree.FactorWork(float64(Size(n))))
	return all
}

// fewX is fewWholePoints for the search, after which they are looked at where it has no bound.
func (run *Run) fewX() bool { return run.eachX() && fewWholePoints(run.n) }

// eachX reports that F may be found at each x alone, where that is all there is to choose.
func (run *Run) eachX() bool {
	return run.Curved == nil && run.System.Objective != nil && run.opts.Nodes == 0
}

// wholes are the points of X where all entries of x are whole numbers, in the order of numbers of so many digits, and whether they are all of them: not where some entry is no whole number, where they are more than so many, or where digits that no
// point begins with are more than these have.
func wholes(n *problem.Problem, most float64) (points [][]float64, all bool) {
	all = eachWhole(n, most, func(x []float64) bool {
		points = append(points, slices.Clone(x))
		return float64(len(points)) <= most
	})
	return points, all
}

// eachWhole visits the points of wholes one after the other until visit reports false. Rows of X, as they are at the time, end what no later digit can mend.
func eachWhole(n *problem.Problem, most float64, visit func(x []float64) bool) (all bool) {
	set := n.X
	if !allWhole(n) || set.Extended.Len() > 0 || len(set.Balls) > 0 {
		return false
	}
	lo, hi, visits := slices.Clone(set.Lo), slices.Clone(set.Hi), 0.0
	var from func(j int) bool
	from = func(j int) bool {
		if visits++; visits > most*float64(1+len(lo)) || !admits(set, lo, hi) {
			return visits <= most*float64(1+len(lo))
		}
		if j == len(lo) {
			return visit(lo)
		}
		least, last := lo[j], hi[j]
		for v := math.Ceil(least); v <= last; v++ {
			if lo[j], hi[j] = v, v; !from(j + 1) {
				return false
			}
		}
		lo[j], hi[j] = least, last
		return true
	}
	return from(0)
}

// allWhole reports that x has whole entries, and no others.
func allWhole(n *problem.Problem) bool { return n.Integer != nil && !slices.Contains(n.Integer, false) }

// admits reports that no row of X is off all over a box by more than rounding.
func admits(set *problem.Set, lo, hi []float64) bool {
	for i, kind := range set.Kind {
		least, greatest, terms := -set.Rhs[i], -set.Rhs[i], math.Abs(set.Rhs[i])
		for j, v := range set.E.Nonzeros(i) {
			a, b := v*lo[j], v*hi[j]
			least, greatest, terms = least+math.Min(a, b), greatest+math.Max(a, b), terms+math.Max(math.Abs(a), math.Abs(b))
		}
		if open := tolerance.Rounded * terms; least > open || kind == problem.Equal && greatest < -open {
			return false
		}
	}
	return true
}

// enumerate finds the least F over the whole numbers of X, at each of which the follower's answers are looked at alone: there products of x are linear, and its pairs have the signs that they have at one answer. It reports false where at some x that is not known, there is
// no point, or they are not few and take more than about a second which nobody asked for, as a quarter of it shows: then the best point so far has taken the place of a worse one. A *pieces.Unbounded says that f falls without end over the answers to one.
func (run *Run) enumerate(ctx context.Context) (done bool, err error) {
	defer must.Catch(&err)
	s := run.System
	points, all := wholes(run.n, tolerance.Second/tree.NodeWork)
	if !all {
		return false, nil
	}
	follower := must.Get(kkt.NewFollower(s))
	var best *kkt.Point
	looked, limited := int64(0), run.opts.Search == SearchBudget && !run.fewX()
	for k, x := range points {
		if share := float64(k) / float64(len(points)); limited && float64(follower.Work) > tolerance.Second*math.Max(share, 1.0/4) {
			all = false
			break
		}
		z, f, err := leastAt(ctx, s, follower, x)
		switch {
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case errors.As(err, new(*pieces.Unbounded)):
			return false, err
		case err != nil:
			all = false
		case z != nil:
			if looked++; best == nil || f < best.F {
				best = &kkt.Point{Z: z, F: f}
			}
		}
		follower.Work += tree.NodeWork
	}
	if best == nil || !all && run.Best != nil && !(best.F < run.Best.F) {
		return false, nil
	}
	best.Branch, _ = s.BranchAt(best.Z)
	point, err := run.polish(context.WithoutCancel(ctx), best) // what was looked at is not lost
	if point == nil || !(math.Abs(point.F-best.F) <= tolerance.Sign*math.Max(math.Abs(point.F), math.Abs(best.F))) {
		return false, ctx.Err()
	}
	if run.Best, run.err = point, err; !all {
		return false, ctx.Err()
	}
	run.Global = &document.Global{Proved: true, Bound: document.Number(run.opts.Sign * point.F), Nodes: looked, Within: document.Number(run.gap())}
	return true, err
}

// leastAt is the follower's answer to x, with multipliers, that is best for the leader, and f there; nil where it has none with which the leader's rows hold.
func leastAt(ctx context.Context, s *kkt.System, follower *kkt.Follower, x []float64) (z []float64, f float64, err error) {
	z, status := follower.Solve(ctx, x)
	switch {
	case status == activeset.Infeasible, status == activeset.Unbounded:
		return nil, 0, nil
	case status != activeset.Optimal:
		return nil, 0, fmt.Errorf("the follower: %v", status)
	}
	f = s.Value(z)
	if !(s.P.Coupled == nil && follower.Indifferent(z)) && !ChoiceAt(ctx, follower, z).None() {
		if z, f, err = extremeAnswer(ctx, s, follower, z, 1); err != nil {
			return nil, 0, err
		}
	}
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return nil, 0, sequential.ErrNotFinite
	case s.OffCoupled(z) > tolerance.Sign:
		return nil, 0, nil
	}
	return z, f, nil
}

// firstWhole takes the follower's answer to the first whole x of X that leaves it one with which the leader's rows hold, where the search has met none: phase one without a tree. Where the follower has no answer to an x, what refutes
// its rows there is a row that every x with an answer keeps (Benders 1962), and X has it from then on. It takes a second's work at most.
func (run *Run) firstWhole(ctx context.Context) (err error) {
	defer must.Catch(&err)
	s, n, set := run.System, *run.n, *run.n.X
	follower := must.Get(kkt.NewFollower(s))
	rows, answer := n.Rows, tree.NodeWork*int64(len(n.Followers()))
	n.X, set.Kind, set.Rhs = &set, slices.Clone(set.Kind), slices.Clone(set.Rhs)
	if set.E = sparse.Empty(s.Nx); run.n.X.E != nil {
		set.E = run.n.X.E.Clone()
	}
	eachWhole(&n, tolerance.Second/tree.NodeWork, func(x []float64) bool {
		z, f, failed := leastAt(ctx, s, follower, x)
		if z != nil {
			branch, _ := s.BranchAt(z)
			run.Best, run.err = run.polish(ctx, &kkt.Point{Z: z, F: f, Branch: branch})
		} else if w := follower.Refuted(); failed == nil && w != nil {
			side, cut := 0.0, make([]float64, s.Nx)
			for i, v := range w {
				rows.A.AddRow(cut, i, v)
				side += v * rows.Rhs[i]
			}
			for j, v := range cut {
				if v != 0 {
					set.E.Append(j, v)
				}
			}
			set.E.EndRow()
			set.Kind, set.Rhs = append(set.Kind, problem.AtMost), append(set.Rhs, side)
		}
		follower.Work += answer
		return run.Best == nil && follower.Work < tolerance.Second && ctx.Err() == nil
	})
	return ctx.Err()
}

// noWhole says that none of the whole numbers of X is one of the problem.
type noWhole struct{}

func (noWhole) Error() string {
	return "none of the whole numbers of X leaves the follower an answer with which the constraints of the upper level hold"
}

func (noWhole) Unwrap() error { return &qp.EmptySetError{} }

// EachSmooth says that F is found at each of the whole numbers of X where the system is not linear.
func EachSmooth(n *problem.Problem) bool {
	return n.Integer != nil && fewWholePoints(n) && (n.Facts.StrongConvexity > 0 || n.Facts.Convex)
}

// enumerateSmooth finds the least F over the whole numbers of X where the system is smooth and not linear: a local solve with x held finds the follower's answer to each. Of several it has to be shown the best one. No more than about a second is spent.
func (run *Run) enumerateSmooth(ctx context.Context) error {
	looked, spent := int64(0), int64(0)
	var best *sequential.Solver
	points, _ := wholes(run.n, math.Inf(1))
	for _, x := range points {
		held, set := *run.n, *run.n.X
		set.Lo, set.Hi = slices.Clone(x), slices.Clone(x)
		held.X, held.Integer = &set, nil
		smooth, err := run.smooth(&held)
		if err != nil {
			return err
		}
		run.local, run.Smooth = smooth, smooth
		point, err := smooth.From(ctx, slices.Clone(x))
		if err == nil && !(held.Facts.StrongConvexity > 0) && ctx.Err() == nil {
			err = noBetter(ctx, smooth, &held, point)
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, new(*pieces.FollowerError)), errors.Is(err, sequential.ErrNoPoint) && held.Facts.StrongConvexity > 0: // no answer, or none that the leader's constraints allow
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
		return noWhole{}
	}
	run.local, run.Smooth = best, best
	z, n := run.Best.Z, run.n // at which a solve has put what holds, by rounding beside where it found F
	run.Best.F = n.F.Value(z[:n.Dx], n.Answer(z[n.Dx:n.Dx+n.Dy], z[n.Dx+n.Dy:]))
	run.Global = &document.Global{Proved: true, Bound: document.Number(run.opts.Sign * run.Best.F), Nodes: looked, Within: document.Number(run.gap())}
	return nil
}

// noBetter is nil where the follower's answer at a point is the best one to its x for the leader: there is no other, or f is no lower at any of the linearized follower's, which all of them are among
// (Mangasarian 1988: they have the same grad_y g).
func noBetter(ctx context.Context, smooth *sequential.Solver, n *problem.Problem, p *kkt.Point) (err error) {
	defer must.Catch(&err)
	z := p.Z[:n.Dx+n.Dy+n.Rows.Len()]
	s, own, err := smooth.Linearized(z[:n.Dx], z[n.Dx:n.Dx+n.Dy], z[n.Dx+n.Dy:])
	must.Do(err)
	follower := must.Get(kkt.NewFollower(s))
	if z = append(slices.Clone(z), make([]float64, s.N-len(z))...); follower.Unique(ctx, z) {
		return nil
	}
	why := error(&WholeNumbers{fmt.Sprintf("the follower has several answers to one of them, %v, and which is best for the upper level is not known", s.X(z))})
	if !own {
		return why
	}
	_, f, err := extremeAnswer(ctx, s, follower, z, 1)
	if err != nil || !(f >= p.F-tolerance.Sign*math.Max(math.Abs(f), math.Abs(p.F))) {
		return why
	}
	return nil
}
