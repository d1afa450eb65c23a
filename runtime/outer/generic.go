package outer

import (
	"context"
	"errors"
	"math"
	"slices"

	"bilevelc/internal/must"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/qp"
	"bilevelc/runtime/tolerance"
)

// A gradient of F belongs to a smooth piece that F has on an open set only where
// strict complementarity holds with a margin above the errors (oracle.Point.Strict).
// Elsewhere the gradient of the face that the lower solver happens to end on need
// not be an element of the subdifferential, nor point anywhere near one. A run
// therefore takes the gradient at a point moved generically from x, by a little:
// almost every point has a margin, as the pieces of F that matter have regions with
// an inside, whose boundaries have none.

// Gradient evaluates F at x with a gradient that it has there or, where strict
// complementarity fails, next to it: that of a piece with an inside, of which x is a point. Where
// none is found, as outside of X and where every point near by has undecided rows that F
// feels, the point is not Open, and has no gradient. Moves are drawn from seed.
func Gradient(ctx context.Context, h *oracle.Hyper, x []float64, seed uint64) (_ *oracle.Point, err error) {
	defer must.Catch(&err)
	run := newRun(h, x, seed)
	run.width = run.widthAt(x)
	pt := must.Get(run.Point(ctx, x))
	if at := pt.At; at != nil && linalg.Distance(at, x) > 4*(tolerance.Target/2)*run.Size(x) {
		pt.Open = false
	}
	if !pt.Open {
		pt.Grad, pt.GradError, pt.Face, pt.At = nil, math.NaN(), nil, nil
	}
	return pt, nil
}

// generic completes a point without strict complementarity with the gradient at x
// of a piece that F has on an open set next to it: of the face of a point At with
// strict complementarity. Where it finds none the gradient is that of the face at x
// itself, which is not Open and says nothing of F.
func (r *Run) generic(ctx context.Context, pt *oracle.Point) error {
	scale := r.Size(pt.X)
	var fewest *oracle.Point // the nearest one with the fewest undecided rows
	for radius := 1e-9; radius <= tolerance.Target/2; radius *= 10 {
		x, err := r.move(pt.X, radius*scale)
		var moved *oracle.Point
		if err == nil {
			r.Evaluations++
			moved, err = r.h.Value(ctx, x)
		}
		if _, ok := errors.AsType[*qp.EmptySetError](err); ok {
			break // no x to move to, though F may have a value at this one
		}
		if err != nil {
			if !Outside(err) {
				return err
			}
			continue
		}
		if crosses(pt, moved) {
			break // and longer moves all the more
		}
		if moved.Strict {
			return r.completeOnFace(ctx, pt, moved)
		}
		if fewest == nil || len(moved.Undecided) < len(fewest.Undecided) {
			fewest = moved
		}
	}
	// Rows that stay undecided wherever one looks, because y meets them everywhere,
	// do no harm where F does not feel them.
	// 32 is how many undecided rows are looked at one by one; each costs an equality solve and a gradient.
	if fewest != nil && len(fewest.Undecided) <= 32 {
		err := r.h.Complete(ctx, fewest)
		if err == nil {
			var smooth bool
			if smooth, err = r.unfelt(ctx, fewest); smooth {
				return r.completeOnFace(ctx, pt, fewest)
			}
		}
		if err != nil && !Outside(err) {
			return err
		}
	}
	return r.h.Complete(ctx, pt)
}

// crosses reports that a move has led beyond the pieces that meet at a point: that a row which is
// slack there by a margin is active after it, or one that is active by a margin slack. Where
// nothing tells the size of x moves are as long as for one of 1.
func crosses(pt, moved *oracle.Point) bool {
	undecided := func(p *oracle.Point, row int) bool { return slices.Contains(p.Undecided, row) }
	for _, row := range moved.Face {
		if !slices.Contains(pt.Face, row) && !undecided(pt, row) && !undecided(moved, row) {
			return true
		}
	}
	return slices.ContainsFunc(pt.Face, func(row int) bool {
		return !slices.Contains(moved.Face, row) && !undecided(pt, row) && !undecided(moved, row)
	})
}

// completeOnFace completes a point on the face of another next to it.
func (r *Run) completeOnFace(ctx context.Context, pt, moved *oracle.Point) error {
	pt.Face, pt.At = moved.Face, moved.X
	if err := r.h.Complete(ctx, pt); err != nil {
		return err
	}
	pt.Open = true
	return nil
}

// exact is the gradient of a sample's piece at the point At where strict
// complementarity was found to hold, as a certificate needs it; nil where the
// oracle has none there.
func (r *Run) exact(ctx context.Context, s *Sample) (*Sample, error) {
	if s.At == nil {
		return s, nil
	}
	if err := r.check(ctx); err != nil {
		return nil, err
	}
	r.Evaluations++
	pt, err := r.h.Value(ctx, s.At)
	if err == nil {
		pt.Face = s.Active
		err = r.h.Complete(ctx, pt)
	}
	if err != nil {
		if Outside(err) {
			return nil, nil
		}
		return nil, err
	}
	pt.Open = true
	return sampleOf(pt), nil
}

// move is a point of X and D within radius of x in no particular direction:
// a random one, reflected at X and D so that it leads inside where x is on the edge.
func (r *Run) move(x []float64, radius float64) (_ []float64, err error) {
	defer must.Catch(&err)
	w := make([]float64, len(x))
	r.Direction(w)
	z := linalg.Plus(x, radius, w)
	inside := make([]float64, len(x))
	must.Do(r.Project(inside, z))
	if linalg.Distance(inside, z) == 0 {
		return inside, nil
	}
	// 2P - I does not increase distances, and x is its own image.
	z = linalg.Plus(inside, 1, linalg.Minus(inside, z))
	must.Do(r.Project(inside, z))
	return inside, nil
}

// unfelt reports that no undecided row of a point makes a kink of F: the gradient stays the
// same, to its own error, whichever state one of them is in. In the adjoint system
// of the face, H p + B_I'q = grad_y f and B_I p = 0, this says that B_j p = 0 for
// those rows outside the face and q_j = 0 for those in it, or that the row's own
// slack or multiplier does not change with x. In the first case (p, q) solves the
// system of every face between, so that all pieces that may meet at x have the same
// gradient.
func (r *Run) unfelt(ctx context.Context, pt *oracle.Point) (bool, error) {
	if math.IsInf(pt.GradError, 0) {
		return false, nil
	}
	s := sampleOf(pt)
	for _, row := range pt.Undecided {
		jumps, err := r.ActiveSetChange(ctx, s, row)
		if err != nil {
			if Outside(err) {
				return false, nil
			}
			return false, err
		}
		// 1e-9 is the jump of the gradient, relative to it, that counts as one: well above the error of a gradient, well below what a
		// target asks for.
		if jumps == nil || linalg.Norm(jumps) > 4*pt.GradError+1e-9*linalg.Norm(pt.Grad) {
			return false, nil
		}
	}
	return true, nil
}
