package runtime

import (
	"context"
	"math"

	"bilevelc/internal/must"
	"bilevelc/runtime/document"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/named"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/system"
)

// tieRule is how what the follower leaves open is decided where p is solved or evaluated on its KKT system: as the model says, or for multipliers that the upper level reads of a follower
// with one answer, in the leader's favour, as they are variables of the system. "" where nothing is open, or the system is too large.
func (p *Problem) tieRule() string {
	if p.exactTies == "" && p.ties == nil && len(p.IR.Duals) > 0 && kkt.Applies(p.Numeric) == "" && !system.TooLarge(p.Numeric, true) {
		return document.Optimistic
	}
	return p.exactTies
}

// tiesOn is what a result says of a follower as it stands that leaves this open, but for what F is then.
func (p *Problem) tiesOn(c system.Choice) *Ties {
	t := &Ties{Rule: p.tieRule(), Exact: true, Unique: c.None()}
	if len(p.IR.Duals) > 0 {
		t.UniqueAnswer, t.UniqueMultipliers = &c.Answer, &c.Multipliers
	}
	return t
}

// describeExactTies says what the follower's other answers are worth: those at the result's x that are best and worst for the leader, whether there are any, and an x near by
// where there are none, as far as the run has time to look for it.
func (p *Problem) describeExactTies(limited context.Context, r *Result, run *system.Run, pt *oracle.Point) {
	if p.tieRule() == "" {
		return
	}
	ctx := context.WithoutCancel(limited)
	var e *tiedPoint
	if run.Smooth != nil {
		e = must.Get(p.tiedAt(pt.X, pt.Lower.Y, pt.Lower.Lambda))
	} else {
		solver := must.Get(run.Whole()) // at the best point of a run on the system itself
		e = &tiedPoint{systemPoint: &systemPoint{p: p, s: run.System, solver: solver, follower: solver.Follower()}, here: run.Best, own: true}
	}
	_, sign := sense(&p.IR.Upper)
	none := Number(math.NaN())
	ties := p.tiesOn(e.choice(ctx))
	ties.Optimistic, ties.Pessimistic = r.Upper.Objective, none
	r.Lower.Ties = ties
	if ties.Unique {
		ties.Pessimistic = r.Upper.Objective
		return
	}
	if e.smooth == nil {
		e.lose(ctx, e.here.Z)
	}
	if best, err := e.extreme(ctx, 1); err != nil { // stationary in the answer, too, which says nothing of answers far from it
		ties.Optimistic = none
		r.Notes = append(r.Notes, unknownEnd("best", sign, math.Min(best, e.here.F), err))
	}
	if worst, err := e.extreme(ctx, -1); err == nil {
		ties.Pessimistic = Number(sign * worst)
	} else {
		r.Notes = append(r.Notes, unknownEnd("worst", sign, math.Max(worst, e.here.F), err))
	}
	ties.Loss = Number(e.lost)
	if at, distance := e.safe(limited); at != nil {
		ties.Safe = &SafePoint{Variables: named.Variables(&p.IR.Upper, at.s.X(at.here.Z), 1), Objective: Number(sign * at.here.F), Distance: Number(distance)}
	}
}
