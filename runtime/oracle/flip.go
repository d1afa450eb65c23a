package oracle

import (
	"context"
	"errors"
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/problem"
)

// Flip is what one row of the lower level does to F near x: the difference of
// two smooth pieces, with the row active minus with it inactive, all other active
// rows of x held. Where the row's change of state is a kink of F, the difference
// is zero on it, and its gradient is the jump of grad F across it.
type Flip struct {
	Row   int
	Value float64
	Grad  []float64 // len Dx
	// Convex reports that the value rises towards the side on which the row is
	// active, so that F is the larger of the two pieces near x: a convex kink. It
	// is found from the gradient of the row's own value h_i(x, y(x)), not from
	// signs at x, which mean nothing on the kink itself.
	Convex bool
}

// ErrNoFlip says that a row cannot change its state alone: it is an equality, or
// depends on the other active rows.
var ErrNoFlip = errors.New("oracle: the row does not change its state alone")

// Flip evaluates the other piece at pt, of which X, F, Grad and Face must be set: one
// equality solve on the face with the row's state changed, and one gradient
// there. The lower solution at X is taken from memory, or found anew. Where nearby, the
// same row's flip at a point near by, has a gradient of about the same direction, the
// kink is taken to be convex if it was there: on a kink the gradient is a multiple of
// that of the row's own value, and the two turn together.
func (h *Hyper) Flip(ctx context.Context, pt *Point, row int, nearby *Flip) (*Flip, error) {
	m := h.p.Rows.Len()
	if row < 0 || row >= m && h.p.Coupled == nil {
		return nil, ErrNoFlip
	}
	s, err := h.solve(ctx, pt.X)
	if err != nil {
		return nil, err
	}
	if row >= m {
		return h.flipCoupled(ctx, pt, s, row-m)
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
		return nil, ErrNoFlip
	}
	f := &Flip{Row: row, Grad: make([]float64, h.p.Dx), Value: here.Problem.F.Value(pt.X, here.Problem.Answer(other.Y, other.Lambda)) - pt.F}
	if _, err := h.oracle.Gradient(ctx, f.Grad, &At{Problem: here.Problem, Solver: h.solver, X: pt.X, Lower: other, Face: append([]int{}, other.Active...)}); err != nil {
		var failed *LowerError
		if errors.As(err, &failed) {
			return nil, ErrNoFlip
		}
		return nil, err
	}
	linalg.Axpy(f.Grad, -1, pt.Grad)
	released := &At{Problem: h.p, Solver: h.solver, X: pt.X, Lower: s, Face: held}
	if active {
		f.Value = -f.Value
		for j := range f.Grad {
			f.Grad[j] = -f.Grad[j]
		}
		released.Lower, released.Face = other, append([]int{}, other.Active...)
	}
	if nearby != nil && linalg.Dot(f.Grad, nearby.Grad) > sameTurn*linalg.Norm(f.Grad)*linalg.Norm(nearby.Grad) {
		f.Convex = nearby.Convex
		return f, nil
	}
	towards, err := gradRow(ctx, released, row)
	if err != nil {
		return nil, err
	}
	f.Convex = linalg.Dot(f.Grad, towards) > 0
	return f, nil
}

// sameTurn is the cosine from which on two jumps have about the same direction.
const sameTurn = 0.5

// gradRow is the gradient of h_row(x, y(x)) along the face of at: the oracle
// `face` with h_row in the place of f.
func gradRow(ctx context.Context, at *At, row int) ([]float64, error) {
	p := *at.Problem
	p.F, p.Duals, p.Coupled = &rowValue{rows: p.Rows, row: row}, nil, nil
	of := *at
	of.Problem = &p
	grad := make([]float64, p.Dx)
	_, err := (&Face{Settings: *DefaultFace()}).Gradient(ctx, grad, &of)
	return grad, err
}

// rowValue is h_i as a function of x and y.
type rowValue struct {
	rows *problem.Rows
	row  int
}

func (r *rowValue) Value(x, y []float64) float64 {
	return r.rows.A.RowDot(r.row, x) - r.rows.B.RowDot(r.row, y) - r.rows.Rhs[r.row]
}

func (r *rowValue) GradX(dst, _, _ []float64) {
	clear(dst)
	r.rows.A.AddRow(dst, r.row, 1)
}

func (r *rowValue) GradY(dst, _, _ []float64) {
	clear(dst)
	r.rows.B.AddRow(dst, r.row, -1)
}

func (r *rowValue) ValueGradY(dst, x, y []float64) float64 {
	r.GradY(dst, x, y)
	return r.Value(x, y)
}

func (r *rowValue) ValueGrad(dstX, dstY, x, y []float64) float64 {
	r.GradX(dstX, x, y)
	return r.ValueGradY(dstY, x, y)
}

func (r *rowValue) Clone() problem.Function { return &rowValue{r.rows, r.row} }
