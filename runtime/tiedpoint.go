package runtime

import (
	"context"
	"errors"
	"math"
	"slices"

	"bilevelc/internal/must"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/qp"
	"bilevelc/runtime/sequential"
	"bilevelc/runtime/system"
)

// tiedPoint is a follower that may have other answers, at one of its answers: on its KKT system, or on that linearized at the answer. The answers to one x of a follower whose g is convex in y, but neither
// quadratic nor strongly convex, all have the same grad_y g (Mangasarian 1988), so that they are among the answers of the follower with g to second order at one of them: H (z - y) = 0 along the way from y to
// another one, z. Where the latter has no other answer, neither has the follower itself, and an answer of the latter that is best or worst for the leader is that of the follower itself where g is no larger there.
type tiedPoint struct {
	*systemPoint
	here   *kkt.Point
	smooth *sequential.Solver // nil where the system is not linearized
	own    bool               // f is the leader's own, and so are its constraints
}

// tiedAt is the follower of p at its answer y to x, with the multipliers lambda.
func (p *Problem) tiedAt(x, y, lambda []float64) (_ *tiedPoint, err error) {
	defer must.Catch(&err)
	if kkt.Applies(p.Numeric) == "" {
		return p.systemPoint().tied(slices.Concat(x, y, lambda)), nil
	}
	return p.linearizedAt(must.Get(sequential.New(p.Numeric, sequential.Options{})), x, y, lambda), nil
}

func (p *Problem) linearizedAt(solver *sequential.Solver, x, y, lambda []float64) *tiedPoint {
	s, own, err := solver.Linearized(x, y, lambda)
	must.Do(err)
	out := newSystemPoint(p, s).tied(slices.Concat(x, y, lambda))
	out.smooth, out.own = solver, own
	return out
}

// tied is the follower at z = (x, y, lambda) of the system; what the system has beyond them, of X alone, may be missing.
func (e *systemPoint) tied(z []float64) *tiedPoint {
	z = append(slices.Clone(z), make([]float64, e.s.N-len(z))...)
	here := &kkt.Point{Z: z, F: e.s.Value(z)}
	here.Branch, here.Biactive = e.s.BranchAt(z)
	return &tiedPoint{systemPoint: e, here: here, own: true}
}

// to goes on to the answer to another x.
func (e *tiedPoint) to(ctx context.Context, x []float64) (_ *tiedPoint, err error) {
	defer must.Catch(&err)
	if e.smooth != nil {
		y, lambda, err := e.smooth.Answer(ctx, x, e.s.Y(e.here.Z))
		must.Do(err)
		return e.p.linearizedAt(e.smooth, x, y, lambda), nil
	}
	z, status := e.follower.Solve(ctx, x)
	must.Be(status == activeset.Optimal, "the follower has no answer there: %v", status)
	return e.tied(z), nil
}

// answer is the point as what the rule of the ties picks.
func (e *tiedPoint) answer(ctx context.Context) *systemAnswer {
	return &systemAnswer{Point: e.here, choice: e.choice(ctx)}
}

// choice is what the follower may choose at this x.
func (e *tiedPoint) choice(ctx context.Context) system.Choice {
	return system.ChoiceAt(ctx, e.follower, e.here.Z)
}

var errOtherAnswers = errors.New("they are not told from f to first order, and g to second")

// extreme is f at the answer that is best (sign 1) or worst (sign -1) for the leader.
func (e *tiedPoint) extreme(ctx context.Context, sign float64) (float64, error) {
	if !e.own {
		return 0, errOtherAnswers
	}
	z, f, err := system.ExtremeAnswer(ctx, e.s, e.follower, e.here.Z, sign)
	if err == nil && e.smooth == nil && z != nil {
		e.lose(ctx, z)
	}
	if err != nil || e.smooth == nil {
		return f, err
	}
	g, x, y := e.p.Numeric.G, e.s.X(e.here.Z), e.s.Y(e.here.Z)
	least := g.Value(x, y)
	if z == nil || !(g.Value(x, e.s.Y(z))-least <= 1e-12*math.Max(math.Abs(least), e.p.termsOfG(x, y))) { // what rounding is of g, as in answersTo
		return 0, errOtherAnswers
	}
	return f, nil
}

// safe is an x near by at which the follower has one answer, with that; nil where none is found.
func (e *tiedPoint) safe(ctx context.Context) (at *tiedPoint, distance float64) {
	if !e.own || system.TooLarge(e.p.Numeric, true) && e.smooth == nil {
		return nil, 0
	}
	found := e.solver.SafePoint(ctx, e.here)
	if found == nil {
		return nil, 0
	}
	x, set := slices.Clone(e.s.X(found.Z)), e.p.Numeric.X
	set.Clamp(x) // rounding beyond bounds
	distance = found.Distance
	if len(set.Balls) > 0 { // which the system linearized at the point does not have
		inside := slices.Clone(x)
		if qp.NewProjector(set, e.p.Numeric.Rows, e.p.Numeric.Dx, e.p.Numeric.Dy).Project(inside, x) != nil {
			return nil, 0
		}
		for j, whole := range e.p.Numeric.Integer {
			if whole && inside[j] != x[j] {
				return nil, 0
			}
		}
		x, distance = inside, linalg.NormInf(linalg.Minus(inside, e.s.X(e.here.Z)))
	}
	at, err := e.to(ctx, x)
	if err != nil || !at.choice(ctx).None() {
		return nil, 0
	}
	return at, distance
}
