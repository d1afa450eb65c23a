package oracle

import (
	"context"
	"errors"
	"slices"

	"bilevelc/internal/must"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
)

// ErrNoChange says that a row cannot change its state alone: it is an equality, or
// depends on the other active rows.
var ErrNoChange = errors.New("oracle: the row does not change its state alone")

// ActiveSetChange is the jump of the gradient at pt, of which X, F, Grad and Face must be set, where one row
// of the lower level changes its state and all other active rows are held: the gradient of the piece
// of F beyond less that of the point's own. It takes one equality solve on the other face and one
// gradient there. The lower solution at X is taken from memory, or found anew. ErrNoChange says that
// the row does not change its state alone.
func (h *Hyper) ActiveSetChange(ctx context.Context, pt *Point, row int) (_ []float64, err error) {
	defer must.Catch(&err)
	m := h.p.Rows.Len()
	if row < 0 || row >= m && h.p.Coupled == nil {
		return nil, ErrNoChange
	}
	s := must.Get(h.solve(ctx, pt.X))
	if row >= m {
		return h.coupledChange(ctx, pt, s, row-m)
	}
	here := h.at(pt.X, s, pt.Face)
	held := here.Face
	at, active := slices.BinarySearch(held, row)
	var changed []int
	if active {
		changed = slices.Delete(slices.Clone(held), at, at+1)
	} else {
		changed = slices.Insert(slices.Clone(held), at, row)
	}
	other := lower.OnFace(ctx, h.p, lower.G(h.p, pt.X), pt.X, changed, s)
	switch {
	case other.Status == lower.Stopped:
		return nil, context.Cause(ctx)
	case other.Status != lower.Solved && other.Status != lower.Inaccurate, len(other.Dependent) > len(s.Dependent),
		slices.Contains(other.Active, row) == active:
		return nil, ErrNoChange
	}
	return h.jump(ctx, pt, &At{Problem: here.Problem, Solver: h.solver, X: pt.X, Lower: other, Face: append([]int{}, other.Active...)})
}

// jump is the gradient at a point's x on another piece less that on its own.
func (h *Hyper) jump(ctx context.Context, pt *Point, other *At) ([]float64, error) {
	grad := make([]float64, h.p.Dx)
	if _, err := h.oracle.Gradient(ctx, grad, other); err != nil {
		if _, ok := errors.AsType[*LowerError](err); ok {
			return nil, ErrNoChange
		}
		return nil, err
	}
	linalg.Axpy(grad, -1, pt.Grad)
	return grad, nil
}
