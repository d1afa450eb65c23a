package relaxation

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// Follower gives the follower's answer to an x and the multipliers of its rows, len Dy and Rows; no y where there is none.
type Follower func(x []float64) (y, lambda []float64, err error)

// met is a point beside the follower's answer to its x.
type met struct {
	*Point
	y, lambda []float64
	answered  float64 // F, with that answer
}

// apart is by how much F is not f at the point.
func (m *met) apart() float64 { return math.Abs(m.answered - m.F) }

// Close leads from a minimizer of the relaxation, which the follower answers with another y, to a point that the follower answers with, and on while F falls: with a price p of the follower's loss,
//
//	minimize f(x, y) + p (g(x, y) - v(x)) over the relaxation's rows, v(x) = min g(x, .),
//
// where the tangent of v at the last x stands for it. v is convex where g is so in (x, y), and a round a step of the algorithm for differences of convex functions (Gao, Ye, Yin, Zeng and Zhang 2022); elsewhere
// it is a way to a start. Steps are the longer the lower the price: it begins where the loss at the minimizer is worth as much as F is above f there, is doubled until a round ends with the follower's answer, and then halved as long
// as rounds do and F falls. Where no price is enough, as that of a loss which grows with the square of what y is off the answer, doublings end as F does not fall any more.
//
// lowest is the x with the lowest F on the way, nil where the follower has no answer. end is the point where rounds have come to rest, with multipliers in the relaxation without the penalty, whose Lower are of either
// sign where the follower's are not 0, and which are for the caller to examine: a price that is far too high leaves of them what rounding does. nil where rounds have not.
func (r *Relaxation) Close(ctx context.Context, at *Point, follower Follower) (lowest []float64, end *Point, err error) {
	r.hessian = nil // the follower's objective may join other entries
	defer func() { r.price, r.hessian = 0, nil }()
	least := math.Inf(1)
	meet := func(at *Point) *met {
		var m met
		if m.y, m.lambda, err = follower(at.X); err != nil || m.y == nil {
			return nil
		}
		at.F = r.p.F.Value(at.X, at.Y) // without the penalty
		m.Point, m.answered = at, r.p.F.Value(at.X, m.y)
		if m.answered < least {
			least, lowest = m.answered, at.X
		}
		return &m
	}
	now := meet(at)
	if now == nil {
		return nil, nil, err
	}
	tangent := func(m *met) []float64 { // the gradient of v
		slope := make([]float64, r.p.Dx)
		r.p.G.GradX(slope, m.X, m.y)
		r.p.Rows.A.AddMulVecT(slope, 1, m.lambda)
		return slope
	}
	same := func(a, b []float64) bool {
		return linalg.Distance(a, b) <= tolerance.HalfDigits*(linalg.Norm(a)+linalg.Norm(b))
	}
	first, loss := now.apart(), r.p.G.Value(at.X, at.Y)-r.p.G.Value(at.X, now.y)
	if !(loss > 0) {
		return lowest, nil, nil
	}
	price, halve := first/loss, true
	var closed *met
	failed := math.Inf(1) // F of closed where a round from it did not end with an answer
	for range tolerance.Steps {
		slope := tangent(now)
		r.price, r.slope = price, slope
		if at, err = r.Minimize(ctx, now.X, now.Y); err != nil || at == nil {
			return lowest, nil, err
		}
		next := meet(at)
		if next == nil {
			return lowest, nil, err
		}
		switch meets := next.apart() <= tolerance.Sign*first; {
		case !meets && closed == nil:
			if !(next.answered < now.answered-tolerance.HalfDigits*first) {
				return lowest, nil, nil
			}
			price, now = 2*price, next
		case !meets:
			if !(closed.answered < failed-tolerance.HalfDigits*first) {
				return lowest, nil, nil
			}
			price, halve, now, failed = 2*price, false, closed, closed.answered
		case closed != nil && !(next.answered < closed.answered-tolerance.SumRounding*math.Abs(closed.answered)):
			if !halve && same(slope, tangent(next)) {
				floats.AddScaled(next.Lower, -price, now.lambda)
				return lowest, next.Point, nil
			}
			halve, closed, now = false, next, next
		default:
			if closed, now = next, next; halve {
				price /= 2
			}
		}
	}
	return lowest, nil, nil
}
