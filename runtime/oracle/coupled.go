package oracle

import (
	"context"
	"math"
	"slices"

	"bilevelc/internal/must"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/tolerance"
)

// evaluate sets F at a point whose lower level is solved, with the penalty of the
// coupled constraints (problem.Coupled): their values are the gradient of
// f + weights'c in the weights. h.dy is then the gradient of that piece of F in
// the follower's answer.
func (h *Hyper) evaluate(pt *Point) {
	y, lambda := pt.Lower.Y, pt.Lower.Lambda
	pt.F = h.p.F.ValueGradY(h.dy, pt.X, h.p.Answer(y, lambda))
	k := h.p.Coupled
	if k == nil {
		return
	}
	pt.Coupled = slices.Clone(h.p.CoupledPart(h.dy))
	var signs []float64
	pt.Penalty, signs = k.Penalty(pt.Coupled)
	m := h.p.Rows.Len()
	for i, c := range pt.Coupled {
		if c > 0 && k.Weight[i] > 0 {
			pt.Face = append(pt.Face, m+i)
		}
	}
	for i, c := range pt.Coupled {
		// A constraint whose share of F is within its rounding may be on either
		// side of its kink.
		terms := math.Abs(pt.F)
		if k.Scale != nil {
			terms += k.Weight[i] * k.Scale[i]
		}
		if k.Weight[i] > 0 && k.Weight[i]*math.Abs(c) <= tolerance.Feasibility*terms {
			pt.Strict, pt.Undecided = false, append(pt.Undecided, m+i)
		}
	}
	if pt.Penalty == 0 && !slices.ContainsFunc(signs, func(s float64) bool { return s != 0 }) {
		return
	}
	signed := h.p.Signed(signs)
	pt.F = signed.F.ValueGradY(h.dy, pt.X, signed.Answer(y, lambda))
}

// at is a solved point on the piece of F that a face names (Point.Face).
func (h *Hyper) at(x []float64, s *lower.Solution, face []int) *At {
	// What was learned of the Hessian is taken as it stands now: it is part of a
	// Snapshot, which a point is not.
	at := &At{Problem: h.p, Solver: h.solver, X: x, Lower: h.informed(s), Face: append([]int{}, face...)}
	if h.p.Coupled != nil {
		m := h.p.Rows.Len()
		held, _ := slices.BinarySearch(face, m)
		at.Face = at.Face[:held:held]
		at.Problem = h.p.Signed(h.p.Coupled.Signs(func(i int) bool {
			_, positive := slices.BinarySearch(face, m+i)
			return positive
		}))
	}
	return at
}

// coupledChange is ActiveSetChange for coupled constraint i, which becomes positive or ceases to be, on the same face of the lower level.
func (h *Hyper) coupledChange(ctx context.Context, pt *Point, s *lower.Solution, i int) ([]float64, error) {
	m := h.p.Rows.Len()
	face := slices.Clone(pt.Face)
	at, positive := slices.BinarySearch(face, m+i)
	if positive {
		face = slices.Delete(face, at, at+1)
	} else {
		face = slices.Insert(face, at, m+i)
	}
	if h.p.Coupled.Weight[i] == 0 {
		return nil, ErrNoChange
	}
	return h.jump(ctx, pt, h.at(pt.X, s, face))
}

// WithoutPenalty is a point of a run with F, and its gradient where it has one,
// without the penalty of the coupled constraints.
func (h *Hyper) WithoutPenalty(ctx context.Context, pt *Point) (*Point, error) {
	if h.p.Coupled == nil {
		return pt, nil
	}
	plain := *pt
	at := h.at(pt.X, h.informed(pt.Lower), pt.Face)
	plain.Face = at.Face
	at.Problem = h.p.Signed(nil)
	// Not F less the penalty, in whose rounding F may be lost.
	plain.F, plain.Penalty = h.p.F.Value(pt.X, at.Problem.Answer(pt.Lower.Y, pt.Lower.Lambda)), 0
	if pt.Grad == nil {
		return &plain, nil
	}
	var err error
	plain.Grad = make([]float64, h.p.Dx)
	plain.GradError, err = h.oracle.Gradient(ctx, plain.Grad, at)
	return &plain, err
}

// CoupledGradient sets dst (len Dx) to the gradient of coupled constraint i at a
// point, through the follower's answer.
func (h *Hyper) CoupledGradient(ctx context.Context, dst []float64, pt *Point, i int) (err error) {
	defer must.Catch(&err)
	at := h.at(pt.X, h.informed(pt.Lower), pt.Face)
	one, none := make([]float64, len(pt.Coupled)), make([]float64, h.p.Dx)
	one[i] = 1
	at.Problem = h.p.Signed(one)
	must.Get(h.oracle.Gradient(ctx, dst, at))
	at.Problem = h.p.Signed(nil)
	must.Get(h.oracle.Gradient(ctx, none, at))
	linalg.Axpy(dst, -1, none)
	return nil
}
