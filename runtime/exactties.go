package runtime

import (
	"context"
	"math"

	"bilevelc/runtime/oracle"
)

// SafePoint is an x near the solution at which the follower has one answer only.
type SafePoint struct {
	Variables Values `json:"variables"` // of the upper level
	Objective Number `json:"objective"` // F there
	Distance  Number `json:"distance"`  // of x from the solution, in the max norm
}

// describeExactTies says what the follower's other answers are worth: those at the result's x that are best and worst for the leader, whether there are any, and an x near by
// where there are none.
func (p *Problem) describeExactTies(ctx context.Context, r *Result, run *systemRun, pt *oracle.Point) error {
	if p.exactTies == "" {
		return nil
	}
	_, sign := sense(&p.IR.Upper)
	none := Number(math.NaN())
	ties := &Ties{Rule: p.exactTies, Exact: true, Optimistic: r.Upper.Objective, Pessimistic: none}
	r.Lower.Ties = ties
	solver, err := run.whole()
	if err != nil {
		return err
	}
	follower := solver.Follower()
	if ties.Unique = follower.Unique(ctx, run.best.Z); ties.Unique {
		ties.Pessimistic = r.Upper.Objective
		return nil
	}
	if _, err := follower.Extreme(ctx, run.best.Z, 1); err != nil { // stationary in the answer, too, which says nothing of answers far from it
		ties.Optimistic = none
		r.Notes = append(r.Notes, "F with the best of the follower's answers is not known: "+err.Error())
	}
	if worst, err := follower.Extreme(ctx, run.best.Z, -1); err == nil {
		ties.Pessimistic = Number(sign * run.s.Value(worst))
	} else {
		r.Notes = append(r.Notes, "F with the worst of the follower's answers is not known: "+err.Error())
	}
	if safe := solver.SafePoint(ctx, run.best); safe != nil {
		ties.Safe = &SafePoint{Variables: variables(&p.IR.Upper, run.s.X(safe.Z), 1), Objective: Number(sign * safe.F), Distance: Number(safe.Distance)}
	}
	return nil
}
