package runtime

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/system"
	"bilevelc/runtime/tolerance"
)

// A follower with b/2 |y|^2 added to its objective answers to an x next to a tie, nearer than b, with neither of the answers beside the tie, nor with the one of least norm at it, but with any
// between them: F is there what the leader likes best, and no x attains it. So what a run ends at is what the follower's own answer of least norm gives, on its KKT system.

// owns are the follower's own answers of least norm to x that a run with a regularized follower leads to.
type owns struct {
	*systemPoint
	keeps func(*oracle.Point) bool // the leader's constraints that read the answer
	best  *systemAnswer            // of those tried, the one with the least F; nil where there is none
	err   error                    // of an x that has no answer
}

// try takes the answer to x.
func (o *owns) try(ctx context.Context, x []float64) (*systemAnswer, error) {
	answer, err := o.at(ctx, x)
	if err == nil {
		err = answer.short
	}
	if err != nil {
		o.err = err
		return nil, err
	}
	if o.keeps(system.PointAt(o.p.Numeric, o.s, answer.Z, nil)) && (o.best == nil || answer.F < o.best.F) {
		o.best = answer
	}
	return answer, nil
}

// around takes the answers to the x that a run ended at, to the nearest one at which all of that run's answer is one of the follower's own, and to x between them as far as rounding tells them from the tie:
// where F jumps, one side of the tie may be as good as the run found it.
func (o *owns) around(ctx context.Context, pt *oracle.Point) {
	o.try(ctx, pt.X)
	tie := o.tie(ctx, pt)
	if tie == nil {
		return
	}
	o.try(ctx, tie)
	for share := tolerance.MuShrink; share > tolerance.Sign && ctx.Err() == nil; share *= tolerance.MuShrink {
		o.try(ctx, linalg.Plus(tie, share, linalg.Minus(pt.X, tie)))
	}
}

// tie is the nearest x to that of a point, in the system's units, at which an answer with the same active rows is one of the follower's own: on the branch of these rows. nil where there is none.
func (o *owns) tie(ctx context.Context, pt *oracle.Point) []float64 {
	s := o.s
	active, weak := pt.Rows()
	fix := make([]kkt.Fix, len(s.Pairs))
	for k, pair := range s.Pairs {
		if fix[k] = kkt.MultZero; slices.Contains(active, pair.Row) || slices.Contains(weak, pair.Row) {
			fix[k] = kkt.SlackZero
		}
	}
	program := &activeset.Program{N: s.N, C: make([]float64, s.N), A: s.Relaxation.A}
	s.Bounds(&program.Bounds, fix)
	entries := make([]sparse.Entry, s.Nx)
	for j := range entries {
		entries[j] = sparse.Entry{Row: j, Col: j, Val: 1}
		program.C[j] = -pt.X[j] / s.ColScale[j]
	}
	program.Q = sparse.FromEntries(s.N, s.N, entries)
	sol := activeset.Once(ctx, program)
	if sol.Status != activeset.Optimal {
		return nil
	}
	x := slices.Clone(s.X(s.Unscaled(sol.Z)))
	o.p.Numeric.X.Clamp(x) // rounding beyond bounds
	return x
}

// ownAnswer gives a result of a run with a regularized follower, at pt, the best F that the follower's own answers of least norm are known to attain, where that is not what they give at pt. It reports that
// it has done so, and that the result is then one of the KKT system.
func (p *Problem) ownAnswer(ctx context.Context, r *Result, h *oracle.Hyper, runs []outer.StartResult, pt *oracle.Point, keeps func(*oracle.Point) bool) (_ bool, err error) {
	defer must.Catch(&err)
	_, sign := sense(&p.IR.Upper)
	q := p.exact.counted()
	e := q.systemPoint()
	o := &owns{systemPoint: e, keeps: keeps}
	here, err := o.try(ctx, pt.X)
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err == nil && p.ties.attained(here.F, pt.F, p.termsOfF(pt)):
		if math.Abs(here.F-pt.F) > tolerance.Certified*p.termsOfF(pt) {
			r.Notes = append(r.Notes, fmt.Sprintf("F is off by about tau of what is at stake: with the follower's own answer of least norm it is %s at this x", Number(sign*here.F+0).Text()))
		}
		return false, nil
	}
	for _, run := range runs {
		if run.Result == nil || run.Result.Best == nil {
			continue
		}
		if end, err := h.Value(ctx, run.Result.Best.X); err == nil {
			o.around(ctx, end)
		}
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	status, reason := r.Status, r.Reason
	if status == Solved {
		status = NumericalFailure
	}
	r.Parameters, r.Budget, r.Starts, r.Notes, r.Settings = nil, nil, nil, nil, map[string]any{}
	r.Method, r.Oracle, r.Lower = SystemMethod, system.Oracle, LowerResult{Solver: system.Solver}
	r.Upper, r.Residuals = UpperResult{}, Residuals{}
	r.Stationarity = Stationarity{Measure: noMeasure, Value: Number(math.NaN())}
	r.Calls = r.Calls.Add(h.Calls())
	if o.best == nil {
		q.blank(r, pt.X)
		if r.Status, r.Reason = status, "no x was found to which the follower has an answer of least norm of its own with which the upper constraints hold"; o.err != nil {
			r.Reason = o.err.Error()
		}
		if errors.As(o.err, new(*oracle.UnboundedError)) {
			r.Status = NumericalFailure
		}
		p.explainFailure(r, o.err)
		return true, nil
	}
	best := system.PointAt(q.Numeric, e.s, o.best.Z, nil)
	must.Do(q.describeFor(ctx, r, best, best.Lower.ErrorBound))
	r.Certificate = &certify.Certificate{Lower: q.lowerCertificate(best, best.Lower.ErrorBound)}
	r.Lower.Ties = q.answersAt(ctx, r, e, o.best)
	r.Calls = r.Calls.Add(q.Numeric.Calls())
	r.Status = status
	r.Reason = fmt.Sprintf("F is exact, with the follower's answer of least norm, and the best that was met; that no x near by is better is not known: a follower with a term of tau %s beside its objective, with which it was looked for, leads to %.10g, which its own answers do not attain there (%s)",
		Number(p.ties.tau).Brief(), sign*pt.F+0, reason)
	return true, nil
}
