package system

import (
	"context"
	"errors"
	"fmt"
	"math"

	"bilevelc/internal/must"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/tolerance"
	"bilevelc/runtime/tree"
)

// Choice is what the follower leaves open at a point of its KKT system, of what f reads.
type Choice struct {
	Answer, Multipliers bool // there are no others
}

// None reports that F is one number, whatever the follower prefers.
func (c Choice) None() bool { return c.Answer && c.Multipliers }

func ChoiceAt(ctx context.Context, follower *kkt.Follower, z []float64) Choice {
	return Choice{follower.Unique(ctx, z), follower.UniqueMultipliers(ctx, z)}
}

// ExtremeAnswer is the answer of the follower at z's x, with multipliers, that has the least (sign 1) or the largest (sign -1) f, and that f: one convex program, or a search over the
// set of all answers where f is not convex there. f is infinite, and the answer nil, where the set has no end along which f has one.
func ExtremeAnswer(ctx context.Context, s *kkt.System, follower *kkt.Follower, z []float64, sign float64) (answer []float64, f float64, err error) {
	answer, f, err = extremeAnswer(ctx, s, follower, z, sign)
	if errors.As(err, new(*pieces.Unbounded)) {
		return nil, math.Inf(-int(sign)), nil
	}
	return answer, f, err
}

// extremeAnswer is ExtremeAnswer; where f has no end the error is a pieces.Unbounded that says along what.
func extremeAnswer(ctx context.Context, s *kkt.System, follower *kkt.Follower, z []float64, sign float64) (answer []float64, f float64, err error) {
	noEnd := (*kkt.NoEnd)(nil)
	if len(s.P.Duals) == 0 {
		answer, err = follower.Extreme(ctx, z, sign)
		switch {
		case err == nil:
			return answer, s.Value(answer), nil
		case errors.As(err, &noEnd):
			return nil, 0, &pieces.Unbounded{Z: z, Ray: noEnd.Ray}
		case !errors.Is(err, kkt.ErrCurved) || !s.Objective.Known:
			return nil, 0, err
		}
	}
	for _, coupled := range []bool{true, false} {
		if coupled && (s.P.Coupled == nil || sign < 0) {
			continue
		}
		set, err := s.Answers(ctx, z, sign, coupled)
		if errors.As(err, &noEnd) {
			return nil, 0, &pieces.Unbounded{Z: z, Ray: noEnd.Ray}
		}
		if err != nil {
			return nil, 0, err
		}
		found, err := tree.Solve(ctx, set, tree.Options{Gap: tolerance.Sign, Work: tolerance.Second / 5})
		if found != nil {
			follower.Work += found.Work
		}
		switch {
		case err != nil:
			return nil, 0, err
		case ctx.Err() != nil:
			return nil, 0, context.Cause(ctx)
		case found.Outcome == tree.Proved:
			return found.Best.Z, s.Value(found.Best.Z), nil
		case found.Outcome == tree.Unbounded:
			return nil, 0, &pieces.Unbounded{Z: found.Best.Z, Ray: found.Ray}
		case found.Outcome != tree.Infeasible || !coupled:
			return nil, 0, fmt.Errorf("the search over the follower's answers: %s", found.Why)
		}
	}
	return nil, 0, errors.New("the follower's answers were not found")
}

// takeBestAnswer goes on from the follower's answer to the best point's x that is best for the leader: a local solution need not be it where f is not convex over the answers, as the product of a
// multiplier and an amount that belong to different rows. Where f has no end over the answers the error says along what.
func (run *Run) takeBestAnswer(ctx context.Context) (err error) {
	defer must.Catch(&err)
	if o := run.System.Objective; run.Best == nil || !run.opts.Favour || run.parted != nil || o == nil || o.Convex {
		return nil
	}
	solver := must.Get(run.Whole())
	if !run.System.Objective.Known {
		return run.tryAnswers(ctx, solver)
	}
	for { // each round lowers F by more than rounding, and ends at a local solution of another branch
		z, f, err := extremeAnswer(ctx, run.System, solver.Follower(), run.Best.Z, 1)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.As(err, new(*pieces.Unbounded)) {
			return err
		}
		if err != nil || !(f < run.Best.F-tolerance.Sign*run.System.Terms(run.Best.Z)) {
			return nil // what is not known is said with the result
		}
		branch, _ := run.System.BranchAt(z)
		point, err := run.polish(ctx, &kkt.Point{Z: z, Branch: branch})
		if point == nil || !(point.F < run.Best.F) {
			return err
		}
		if run.Best, run.err = point, err; err != nil {
			return err
		}
	}
}

// tryAnswers makes starts from the follower's answers to the best point's x with the least and the largest entries, as long as they lead to a lower F and a fifth of a second's work lasts: of an f that is not quadratic no search
// says which one is best.
func (run *Run) tryAnswers(ctx context.Context, solver *pieces.Solver) error {
	n, begin := run.n, solver.Work()
	for k := 0; k < 2*(n.Dy-n.Hidden); k++ {
		if solver.Work()-begin > tolerance.Second/5 || k == 0 && solver.Follower().Unique(ctx, run.Best.Z) {
			return nil
		}
		direction := make([]float64, n.Dy)
		direction[k/2] = float64(1 - k%2*2)
		z, err := solver.Follower().Toward(ctx, run.Best.Z, direction)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			continue // no least one
		}
		side, _ := run.System.BranchAt(z)
		enough := run.Best.F - tolerance.Sign*run.System.Terms(run.Best.Z)
		if err := run.begun(ctx, len(run.Ends), start{run.System.X(z), z, side}, &run.seen); err != nil {
			return err
		}
		if run.Best.F < enough {
			k = -1 // the answers to another x
		}
	}
	return nil
}
