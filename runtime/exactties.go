package runtime

import (
	"context"
	"math"

	"bilevelc/runtime/kkt"
	"bilevelc/runtime/oracle"
)

// SafePoint is an x near the solution at which the follower has one answer only.
type SafePoint struct {
	Variables Values `json:"variables"` // of the upper level
	Objective Number `json:"objective"` // F there
	Distance  Number `json:"distance"`  // of x from the solution, in the max norm
}

// tieRule is how what the follower leaves open is decided where p is solved or evaluated on its KKT system: as the model says, or for multipliers that the upper level reads of a follower
// with one answer, in the leader's favour, as they are variables of the system. "" where nothing is open, or the system is too large.
func (p *Problem) tieRule() string {
	if p.exactTies == "" && p.ties == nil && len(p.IR.Duals) > 0 && kkt.Applies(p.Numeric) == "" && systemSize(p.Numeric) <= largestSystem {
		return optimistic
	}
	return p.exactTies
}

// tiesOn is what a result says of a follower as it stands that leaves this open, but for what F is then.
func (p *Problem) tiesOn(c choice) *Ties {
	t := &Ties{Rule: p.tieRule(), Exact: true, Unique: c.none()}
	if len(p.IR.Duals) > 0 {
		t.UniqueAnswer, t.UniqueMultipliers = &c.answer, &c.multipliers
	}
	return t
}

// describeExactTies says what the follower's other answers are worth: those at the result's x that are best and worst for the leader, whether there are any, and an x near by
// where there are none.
func (p *Problem) describeExactTies(ctx context.Context, r *Result, run *systemRun, pt *oracle.Point) error {
	if p.tieRule() == "" {
		return nil
	}
	_, sign := sense(&p.IR.Upper)
	none := Number(math.NaN())
	var unique choice
	var extreme func(sign float64) (float64, error)
	var safe func() *SafePoint
	if run.smooth != nil {
		e, err := p.smoothPointAt(pt.X, pt.Lower.Y, pt.Lower.Lambda)
		if err != nil {
			return err
		}
		alone := e.unique(ctx)
		unique = choice{alone, alone}
		extreme = func(sign float64) (float64, error) { return e.extreme(ctx, sign) }
		safe = func() *SafePoint {
			at, distance := e.safe(ctx)
			if at == nil {
				return nil
			}
			return &SafePoint{Variables: variables(&p.IR.Upper, at.s.X(at.z), 1), Objective: Number(sign * at.s.Value(at.z)), Distance: Number(distance)}
		}
	} else {
		solver, err := run.whole()
		if err != nil {
			return err
		}
		unique = choiceAt(ctx, solver.Follower(), run.best.Z)
		extreme = func(sign float64) (float64, error) {
			_, f, err := extremeAnswer(ctx, run.s, solver.Follower(), run.best.Z, sign)
			return f, err
		}
		safe = func() *SafePoint {
			at := solver.SafePoint(ctx, run.best)
			if at == nil {
				return nil
			}
			return &SafePoint{Variables: variables(&p.IR.Upper, run.s.X(at.Z), 1), Objective: Number(sign * at.F), Distance: Number(at.Distance)}
		}
	}
	ties := p.tiesOn(unique)
	ties.Optimistic, ties.Pessimistic = r.Upper.Objective, none
	r.Lower.Ties = ties
	if ties.Unique {
		ties.Pessimistic = r.Upper.Objective
		return nil
	}
	if _, err := extreme(1); err != nil { // stationary in the answer, too, which says nothing of answers far from it
		ties.Optimistic = none
		r.Notes = append(r.Notes, "F with the best of the follower's answers is not known: "+err.Error())
	}
	if worst, err := extreme(-1); err == nil {
		ties.Pessimistic = Number(sign * worst)
	} else {
		r.Notes = append(r.Notes, "F with the worst of the follower's answers is not known: "+err.Error())
	}
	ties.Safe = safe()
	return nil
}
