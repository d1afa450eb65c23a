package runtime

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/runtime/kkt"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/tolerance"
)

// Slopes of F where the follower has several answers. Of those that are best (worst) for the leader at x any may be the one that is so next to x: f itself may tell them apart by its slope in x alone (Danskin 1967), or the
// follower leaves all but some of them. They are reached from the answer that is best at a point next to x, by the branch that it lies on.

// slope is the one-sided derivative of F along dx at an answer that the rule of the ties picks, and the answer, one that is as good, from which it leads; nil where no branch through such an answer leads that way.
func (e *systemPoint) slope(ctx context.Context, at *systemAnswer, dx []float64) (*pieces.Slope, *kkt.Point, error) {
	sense := e.sense()
	best, err := e.solver.Slope(ctx, at.Point, dx, sense)
	if err != nil || at.choice.None() || at.short != nil {
		return best, at.Point, err
	}
	other, err := e.asGood(ctx, at, dx)
	if err != nil || other == nil {
		return best, at.Point, err
	}
	there, err := e.solver.Slope(ctx, other, dx, sense)
	if err != nil || there == nil || best != nil && sense*best.F <= sense*there.F {
		return best, at.Point, err
	}
	return there, other, nil
}

// asGood is the answer at x to which that at the next x along dx leads back, where F is the same with it; nil where there is none, or F jumps.
func (e *systemPoint) asGood(ctx context.Context, at *systemAnswer, dx []float64) (*kkt.Point, error) {
	s := e.s
	x, size, step := s.X(at.Z), 0.0, 0.0
	for j, d := range dx {
		size = math.Max(size, math.Abs(d)/s.ColScale[j])
		step = math.Max(step, math.Max(1, math.Abs(x[j])/s.ColScale[j]))
	}
	step *= 0x1p-17 / size // far above what signs are told to, and near, as that of differences (checkGradient)
	next := append([]float64(nil), x...)
	floats.AddScaled(next, step, dx)
	there, err := e.at(ctx, next)
	if err != nil || there.short != nil {
		return nil, ctx.Err() // the follower may have no answer there
	}
	back := append([]float64(nil), dx...)
	floats.Scale(-step, back)
	way, err := e.solver.Slope(ctx, there.Point, back, e.sense())
	if err != nil || way == nil || way.Dz == nil {
		return nil, err
	}
	z := append([]float64(nil), there.Z...)
	floats.Add(z, way.Dz)
	copy(s.X(z), x)
	out := &kkt.Point{Z: z, F: s.Value(z)}
	out.Branch, out.Biactive = s.BranchAt(z)
	if math.Abs(out.F-at.F) > tolerance.Sign*s.Terms(z) || !e.answers(z) {
		return nil, nil
	}
	return out, nil
}

// answers reports that z is an answer of the follower to its x with multipliers, to the accuracy of signs.
func (e *systemPoint) answers(z []float64) bool {
	s := e.s
	slack, terms := make([]float64, s.M), make([]float64, s.M)
	s.Slack(slack, terms, z)
	force, push := s.Forces(z)
	strong := s.Strong(z)
	for i, v := range slack {
		l := s.Lambda(z)[i]
		switch {
		case v < -tolerance.Sign*terms[i], strong[i] && v > tolerance.Sign*terms[i]:
			return false
		case s.P.Rows.Kind[i] == 0 && l < -tolerance.Sign*push[i]:
			return false
		}
	}
	for j, left := range s.Unbalanced(z) {
		if math.Abs(left) > tolerance.Sign*force[j] {
			return false
		}
	}
	return true
}

// derivative is the gradient of F as multipliers; nil where F has none. Beside other answers the slopes of F along a direction that lies in no subspace that a model is likely to have, and back, are to be those that the gradient says: they are the least (greatest) of all
// answers that are as good, so that these have the same.
func (e *systemPoint) derivative(ctx context.Context, at *systemAnswer) (*kkt.Multipliers, error) {
	m, err := e.solver.Derivative(ctx, at.Point)
	if err != nil || m == nil || at.choice.None() {
		return m, err
	}
	dx := e.solver.Generic()
	for range 2 {
		s, _, err := e.slope(ctx, at, dx)
		if err != nil || s == nil || s.Dz == nil {
			return nil, err
		}
		if !s.Of(m.Bound, dx) {
			return nil, nil
		}
		floats.Scale(-1, dx)
	}
	return m, nil
}
