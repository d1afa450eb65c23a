package system

import (
	"context"
	"errors"
	"fmt"
	"math"

	"bilevelc/internal/must"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
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

// ExtremeAnswer is the answer of the follower at z's x, with multipliers, that has the least (sign 1) or the largest (sign -1) f, and that f: a convex program for each of
// its parts, or a search where f is not convex there; the best answer that a search found stands beside an error that is Undecided. f is infinite, and the answer nil, where the set has no end along which f has one.
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
		answer, err := least(ctx, set, follower)
		if errors.Is(err, errNoAnswer) && coupled {
			continue
		}
		if answer == nil {
			return nil, 0, err
		}
		f := s.Value(answer)
		if short := (*Undecided)(nil); errors.As(err, &short) {
			short.Bound = f - sign*short.gap
		}
		return answer, f, err
	}
	return nil, 0, errors.New("the follower's answers were not found")
}

// Undecided is the error of a search over the follower's answers that ended before it knew which one is best.
type Undecided struct {
	Bound float64 // none has a lower f, or a higher one where the largest is looked for

	why string
	gap float64
}

func (e *Undecided) Error() string { return "the search over the follower's answers: " + e.why }

var errNoAnswer = errors.New("none of the follower's answers keeps the leader's rows")

// least is the point of a set of answers (kkt.System.Answers) at which f is least: by a search on the followers of which f is not convex, by convex programs on the others, that nothing joins with these. Where f has no end the
// error is a pieces.Unbounded; beside an Undecided one stands the best point that was found, if any.
func least(ctx context.Context, set *kkt.System, follower *kkt.Follower) (z []float64, err error) {
	z, ray, open := make([]float64, set.N), []float64(nil), error(nil)
	take := func(part *kkt.Part, at, falls []float64) {
		linalg.Scatter(z, part.Cols, at)
		if falls != nil && ray == nil {
			ray = make([]float64, set.N)
			linalg.Scatter(ray, part.Cols, falls)
		}
	}
	searched, others := set.Branched()
	if others != nil {
		at, falls, status := follower.Least(ctx, others.System)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case status == activeset.Infeasible:
			return nil, errNoAnswer
		case at == nil:
			return nil, fmt.Errorf("the program over the follower's answers: %v", status)
		}
		take(others, at, falls)
	}
	if searched != nil {
		found, err := tree.Solve(ctx, searched.System, tree.Options{Gap: tolerance.Sign, Work: tolerance.Second / 5})
		if found != nil {
			follower.Work += found.Work
		}
		switch {
		case err != nil:
			return nil, err
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case found.Outcome == tree.Infeasible:
			return nil, errNoAnswer
		case found.Outcome == tree.Proved:
			take(searched, found.Best.Z, nil)
		case found.Outcome == tree.Unbounded:
			take(searched, found.Best.Z, found.Ray)
		case found.Best == nil:
			return nil, fmt.Errorf("the search over the follower's answers: %s", found.Why)
		default:
			take(searched, found.Best.Z, nil)
			open = &Undecided{why: found.Why, gap: found.Best.F - found.Bound}
		}
	}
	if ray != nil {
		return nil, &pieces.Unbounded{Z: z, Ray: ray}
	}
	return z, open
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
		if z == nil || !(f < run.Best.F-tolerance.Sign*run.System.Terms(run.Best.Z)) {
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
