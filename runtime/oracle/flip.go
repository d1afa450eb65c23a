package oracle

import (
	"context"
	"errors"
	"slices"

	"bilevelc/runtime/lower"
)

// Flip is what one row of the lower level does to F near x: the difference of
// two smooth pieces, with the row active minus with it inactive, all other active
// rows of x held. Where the row's change of state is a kink of F, the difference
// is zero on it, and its gradient is the jump of grad F across it.
type Flip struct {
	Row   int
	Value float64
	Grad  []float64 // len Dx
}

// ErrNoFlip says that a row cannot change its state alone: it is an equality, it
// depends on the other active rows, or the oracle knows no pieces.
var ErrNoFlip = errors.New("oracle: the row does not change its state alone")

// Flip evaluates the other piece at pt, of which X, F and Grad must be set: one
// equality solve on the face with the row's state changed, and one gradient
// there. The lower solution at X is taken from memory, or found anew.
func (h *Hyper) Flip(ctx context.Context, pt *Point, row int) (*Flip, error) {
	if _, values := h.oracle.(*Value); values || row < 0 || row >= h.p.Rows.Len() {
		return nil, ErrNoFlip
	}
	s, err := h.solve(ctx, pt.X)
	if err != nil {
		return nil, err
	}
	held := face(s)
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
		return nil, ErrNoFlip
	}
	f := &Flip{Row: row, Grad: make([]float64, h.p.Dx), Value: h.p.F.Value(pt.X, other.Y) - pt.F}
	if _, err := h.oracle.Gradient(ctx, f.Grad, &At{Problem: h.p, Solver: h.solver, X: pt.X, Lower: other, Face: other.Active}); err != nil {
		var failed *LowerError
		if errors.As(err, &failed) {
			return nil, ErrNoFlip
		}
		return nil, err
	}
	axpy(f.Grad, -1, pt.Grad)
	if active {
		f.Value = -f.Value
		for j := range f.Grad {
			f.Grad[j] = -f.Grad[j]
		}
	}
	return f, nil
}
