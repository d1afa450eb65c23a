package runtime

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/document"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/system"
	"bilevelc/runtime/tolerance"
)

// describeTies adds what the regularization has done to a result at x and y. attained is F, minimized, with an answer of the follower's own at x: of those known the best for the leader, NaN where none is.
func (p *Problem) describeTies(ctx context.Context, r *Result, x, y []float64) (attained float64, err error) {
	defer must.Catch(&err)
	t := p.ties
	attained = math.NaN()
	if t == nil {
		return attained, nil
	}
	_, lowerSign := sense(&p.IR.Lower)
	_, upperSign := sense(&p.IR.Upper)
	a, b := t.weights(t.tau)
	out := &Ties{Rule: t.rule, Tau: Number(t.tau), WeightF: Number(a), WeightNorm: Number(b),
		Optimistic: Number(math.NaN()), Pessimistic: Number(math.NaN())}
	r.Lower.Ties = out
	value := t.g.Value(x, y)
	r.Lower.Objective = Number(lowerSign*p.ownValue(value, x, p.units.Leave(y)) + 0)
	if r.Lower.Equivalent != nil {
		r.Lower.Equivalent.Objective = Number(value + 0)
	}
	if p.exact != nil && kkt.Applies(p.exact.Numeric) == "" {
		done, err := p.exact.answersTo(ctx, out, x, value)
		if done || err != nil {
			return upperSign * float64(out.Optimistic), err
		}
	}
	near := must.Get(t.problem(0, defaultTau*t.cost/t.reach))
	best, exact, err := near.best(ctx, x, y)
	if err != nil {
		return attained, err
	}
	// Rounding of g is no loss.
	out.Exact, out.Loss = exact, Number(math.Max(0, value-t.g.Value(x, best)))
	if float64(out.Loss) <= 1e-12*t.cost*t.reach {
		out.Loss = 0
	}
	switch {
	case exact && out.Loss == 0 && t.rule == document.LeastNorm: // y is a best answer, and any other one that is shorter would be better with the regularization
		attained = p.f.Value(x, p.Numeric.Signed(nil).Answer(y, nil))
	case exact:
		at := best
		if linalg.Distance(best, y) <= tolerance.Certified*t.reach { // y is that answer
			at = y
		}
		attained = p.f.Value(x, p.Numeric.Signed(nil).Answer(at, nil))
	}
	if out.Loss > 0 {
		r.Notes = append(r.Notes, "F is with an answer that is a little worse for the follower than its best ones: there may be no x at which these attain it")
	}
	out.Unique = true
	small := must.Get(t.problem(0, t.tau/tolerance.Hiding*t.cost/t.reach))
	direction := make([]float64, len(y))
	for j := range direction { // no particular direction
		direction[j] = t.tau * t.cost / math.Sqrt(float64(len(y))) * math.Cos(float64(7*j*j+3*j+1))
	}
	var ends [2][]float64
	for k, sign := range []float64{1, -1} {
		slope := make([]float64, len(y))
		floats.ScaleTo(slope, sign, direction)
		s, err := small.solved(ctx, x, slope, nil)
		if err != nil {
			out.Unique = false
			break
		}
		ends[k] = s.Y
	}
	if out.Unique {
		out.Unique = linalg.Distance(ends[0], ends[1]) <= 1e-6*t.reach
	}
	if len(p.IR.Duals) == 0 {
		for _, end := range []struct {
			weight float64
			to     *Number
		}{{1, &out.Optimistic}, {-1, &out.Pessimistic}} {
			q, err := t.problem(end.weight*t.tau*t.cost/t.profit, t.tau/tolerance.Hiding*t.cost/t.reach)
			if err != nil {
				continue // f has the wrong curvature for this end
			}
			if s, err := q.solved(ctx, x, nil, nil); err == nil {
				*end.to = Number(upperSign*p.f.Value(x, p.Numeric.Signed(nil).Answer(s.Y, nil)) + 0)
			}
		}
	}
	return attained, nil
}

// within takes back that a result is solved where no answer of the follower's own is known that gives the leader F there: a leader with a regularized follower gets more than there is beside jumps of F, and where the
// follower's objective has no curvature at its best answer.
func (p *Problem) within(r *Result, pt *oracle.Point, attained float64) {
	if p.ties.attained(attained, pt.F, p.termsOfF(pt)) {
		return
	}
	r.Status = NumericalFailure
	reason := fmt.Sprintf("F is with the answer of a regularized follower (tau %s), which is none of its own", r.Lower.Ties.Tau.Brief())
	if !math.IsNaN(attained) {
		_, sign := sense(&p.IR.Upper)
		reason += fmt.Sprintf(": with one of these it is %.10g at this point", sign*attained+0)
	}
	r.Reason = reason + "; " + r.Reason
}

// attained reports that a regularized follower's F, of these terms, is not beyond one that is attained by more than what is said of it: rounding, and for the answer of least norm, which depends on x as long as
// the one with the regularization does where it is not at a jump, what tau is of the leader's stake.
func (t *ties) attained(attained, f, terms float64) bool {
	open := tolerance.Certified * terms
	if t.rule == document.LeastNorm {
		open = math.Max(open, tolerance.Margin*t.tau*t.profit*t.reach)
	}
	return attained <= f+open
}

// termsOfF is the size of the terms of F at a point: its value, and what its slopes make of the entries.
func (p *Problem) termsOfF(pt *oracle.Point) float64 {
	n := p.Numeric
	gx, ga := make([]float64, n.Dx), make([]float64, n.AnswerLen())
	answer := n.Signed(nil).Answer(pt.Lower.Y, pt.Lower.Lambda)
	n.F.ValueGrad(gx, ga, pt.X, answer)
	return math.Abs(pt.F) + sizeOfTerms(gx, pt.X) + sizeOfTerms(ga, answer)
}

// sizeOfTerms is the sum of the sizes of what slopes make of entries.
func sizeOfTerms(slopes, at []float64) float64 {
	return each.SumBelow(len(slopes), func(j int) float64 { return math.Abs(slopes[j] * at[j]) })
}

// answersTo fills in what the follower's answers to x are worth, on the KKT system of its plain problem p: the loss of an answer with the given value of g, and F with the best and the worst one.
// false where the follower has no answer there that the program of it finds.
func (p *Problem) answersTo(ctx context.Context, out *Ties, x []float64, value float64) (_ bool, err error) {
	defer must.Catch(&err)
	e := p.systemPoint()
	z, status := e.follower.Solve(ctx, x)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if status != activeset.Optimal {
		return false, nil
	}
	least := p.Numeric.G.Value(x, e.s.Y(z))
	out.Exact, out.Loss = true, Number(math.Max(0, value-least))
	if float64(out.Loss) <= 1e-12*math.Max(math.Abs(value), p.termsOfG(x, e.s.Y(z))) {
		out.Loss = 0
	}
	out.Unique = e.follower.Unique(ctx, z)
	if len(p.IR.Duals) > 0 {
		return true, nil
	}
	_, sign := sense(&p.IR.Upper)
	for _, end := range []struct {
		sign float64
		to   *Number
	}{{1, &out.Optimistic}, {-1, &out.Pessimistic}} {
		f := e.s.Value(z)
		if !out.Unique {
			if _, f, err = system.ExtremeAnswer(ctx, e.s, e.follower, z, end.sign); err != nil {
				continue
			}
		}
		*end.to = Number(sign*f + 0)
	}
	return true, nil
}

// termsOfG is the size of the terms of g at a point: what its slopes make of y.
func (p *Problem) termsOfG(x, y []float64) float64 {
	grad := make([]float64, len(y))
	p.Numeric.G.GradY(grad, x, y)
	return sizeOfTerms(grad, y)
}

// variant is the follower with another regularization.
type variant struct {
	p     *Problem
	ties  *ties
	prox  float64
	solve lower.Solver
}

func (t *ties) problem(a, b float64) (_ *variant, err error) {
	defer must.Catch(&err)
	t.building.Lock()
	defer t.building.Unlock()
	q := must.Get(begin(BindOptions{}, bindProofs).finish(t.plain.Regularized(a, b)))
	solver, err := lower.New(lower.Choose(q.Numeric), nil, q.Numeric, 1)
	return &variant{p: q, ties: t, prox: b, solve: solver}, err
}

// solved is the follower's answer at x with a linear term added, from another one of it near by; slope and warm may be nil.
func (v *variant) solved(ctx context.Context, x, slope []float64, warm *lower.Solution) (*lower.Solution, error) {
	var obj lower.Objective = lower.G(v.p.Numeric, x)
	if slope != nil {
		obj = &lower.Tilted{AtX: lower.G(v.p.Numeric, x), Slope: slope}
	}
	s := v.solve.Solve(ctx, v.p.Numeric, obj, x, warm)
	switch s.Status {
	case lower.Solved:
		return s, nil
	case lower.Stopped:
		return nil, context.Cause(ctx)
	}
	return nil, fmt.Errorf("the follower with another regularization: %s", s.Reason)
}

// best is a best answer of the follower at x for its own objective, by the proximal
// point method from y, with a curvature of defaultTau, at which y is found to ten digits: exact where a step does not move any more.
func (v *variant) best(ctx context.Context, x, y []float64) (z []float64, exact bool, err error) {
	z = append([]float64(nil), y...)
	slope := make([]float64, len(y))
	var last *lower.Solution
	for range tolerance.Steps {
		for j := range slope {
			slope[j] = -v.prox * z[j]
		}
		if last, err = v.solved(ctx, x, slope, last); err != nil {
			if ctx.Err() != nil {
				return nil, false, err
			}
			return z, false, nil
		}
		moved := linalg.Distance(last.Y, z)
		z = last.Y
		if moved <= 1e-10*v.ties.reach {
			return z, true, nil
		}
	}
	return z, false, nil
}
