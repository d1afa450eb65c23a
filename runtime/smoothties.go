package runtime

import (
	"context"
	"errors"
	"math"
	"slices"

	"bilevelc/runtime/kkt"
	"bilevelc/runtime/sequential"
)

// The answers of a follower whose g is convex in y, but neither quadratic nor strongly convex, to one x. grad_y g is the same at all of them (Mangasarian 1988), so that they are among the answers of the
// follower with g to second order at one of them: H (z - y) = 0 along the way from y to another one, z. Where the latter has no other answer, neither has the follower itself, and an answer of the latter
// that is best or worst for the leader is that of the follower itself where g is no larger there.

// smoothPoint is such a follower at one of its answers.
type smoothPoint struct {
	*systemPoint
	solver *sequential.Solver
	own    bool // f is the leader's own, and so are its constraints
	z      []float64
}

// smoothPointAt is the follower of p at its answer y to x, with the multipliers lambda.
func (p *Problem) smoothPointAt(x, y, lambda []float64) (*smoothPoint, error) {
	solver, err := sequential.New(p.Numeric, sequential.Options{})
	if err != nil {
		return nil, err
	}
	out := &smoothPoint{solver: solver}
	return out, out.move(p, x, y, lambda)
}

func (e *smoothPoint) move(p *Problem, x, y, lambda []float64) error {
	s, own, err := e.solver.Linearized(x, y, lambda)
	if err != nil {
		return err
	}
	e.own = own
	e.z = make([]float64, s.N)
	copy(e.z, slices.Concat(x, y, lambda))
	e.systemPoint, err = newSystemPoint(p, s)
	return err
}

// to goes on to the answer to another x.
func (e *smoothPoint) to(ctx context.Context, x []float64) (*smoothPoint, error) {
	y, lambda, err := e.solver.Answer(ctx, x, e.s.Y(e.z))
	if err != nil {
		return nil, err
	}
	out := &smoothPoint{solver: e.solver}
	return out, out.move(e.p, x, y, lambda)
}

// unique reports that the follower has no other answer to x.
func (e *smoothPoint) unique(ctx context.Context) bool { return e.follower.Unique(ctx, e.z) }

var errOtherAnswers = errors.New("they are not told from f to first order, and g to second")

// extreme is f at the answer that is best (sign 1) or worst (sign -1) for the leader.
func (e *smoothPoint) extreme(ctx context.Context, sign float64) (float64, error) {
	if !e.own {
		return 0, errOtherAnswers
	}
	z, f, err := extremeAnswer(ctx, e.s, e.follower, e.z, sign)
	if err != nil {
		return 0, err
	}
	g, x, y := e.p.Numeric.G, e.s.X(e.z), e.s.Y(e.z)
	least := g.Value(x, y)
	if z == nil || !(g.Value(x, e.s.Y(z))-least <= 1e-12*math.Max(math.Abs(least), e.p.termsOfG(x, y))) { // what rounding is of g, as in answersTo
		return 0, errOtherAnswers
	}
	return f, nil
}

// safe is an x near by at which the follower has one answer, with that; nil where none is found.
func (e *smoothPoint) safe(ctx context.Context) (at *smoothPoint, distance float64) {
	if !e.own {
		return nil, 0
	}
	here := &kkt.Point{Z: e.z, F: e.s.Value(e.z)}
	here.Branch, here.Biactive = e.s.BranchAt(e.z)
	found := e.systemPoint.solver.SafePoint(ctx, here)
	if found == nil {
		return nil, 0
	}
	at, err := e.to(ctx, e.s.X(found.Z))
	if err != nil || !at.unique(ctx) {
		return nil, 0
	}
	return at, found.Distance
}
