package oracle

import (
	"context"
	"errors"
	"math"

	"bilevelc/internal/must"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// FaceSettings are the settings of the oracle `face`.
type FaceSettings struct {
	Reach float64 `setting:"reach" doc:"how far the perturbation moves y, relative to 1 + |y|, where g is not quadratic in y" min:"1e-8" max:"1"`
	Order int     `setting:"order" doc:"order of the difference where g is not quadratic in y: 2 (two lower solves) or 4 (four, with an error estimate)" min:"2" max:"4"`
}

// DefaultFace are the defaults. At order 4 the truncation error is of order
// reach^4 = 1e-8, where the residuals' share, about 1e-13/reach, is far below.
func DefaultFace() *FaceSettings { return &FaceSettings{Reach: 1e-2, Order: 4} }

func init() {
	register(Spec{
		Name:        "face",
		Summary:     "freezes the active rows as equalities, tilts g by the gradient of f, and differences the Lagrangians; exact to rounding where g is quadratic in y",
		Reference:   "eq:part-hypergrad-approx-lin-eq on the active face; the idea of FFOLayer (arXiv 2512.02494)",
		Assumes:     []problem.Assumption{problem.StronglyConvexG, problem.SmoothG, problem.StrictComplementarity},
		Multipliers: true,
	}, DefaultFace(), func(s FaceSettings) Oracle { return &Face{Settings: s} })
}

// Face is the oracle `face`. With I the active rows at y*, it solves
//
//	y_t = argmin { g(x, y) + t c'y : h_I(x, y) = 0 },  c = grad_y f(x, y*),
//
// and returns grad_x f + d/dt grad_x [g(x, y_t) + lambda_t'h(x, .)] at t = 0,
// which equals grad F where strict complementarity holds (the argument of
// lem:lineq-finitediff-equals-gradf, on the face). The perturbation is linear in
// y, not f itself: the limit is the same, f is not called again, and for a
// quadratic g the path y_t is a straight line, so that a difference is exact at
// any t. For others the derivative of (y_t, lambda_t) at 0 solves linear equations
// (lower.Rates); perturbed solves take their place where the follower is sparse, or
// differences of gradients leave too much of these equations open.
type Face struct {
	Settings FaceSettings
	solver   *lower.FaceSolver
}

// Gradient implements Oracle.
func (o *Face) Gradient(ctx context.Context, dst []float64, at *At) (float64, error) {
	return o.add(ctx, dst, at, newAdjointRHS(dst, at))
}

// add adds to dst (len Dx) what the follower's answer to x brings to a function that
// has that gradient in the answer, and returns an estimate of its error.
func (o *Face) add(ctx context.Context, dst []float64, at *At, v *adjointRHS) (_ float64, err error) {
	defer must.Catch(&err)
	p := at.Problem
	if error, ok, err := byAnswers(ctx, dst, at, v); ok || err != nil {
		return error, err
	}
	force := v.force(p, at.held())
	if o.solver == nil {
		o.solver = lower.NewFaceSolver()
	}
	d := &differences{at: at, rhs: v, face: o.solver, slope: linalg.Norm(force)}
	defer d.face.Release()
	if d.slope == 0 {
		return 0, nil
	}
	d.perturb = d.tilt
	scale, direct := at.size(), linalg.Norm(dst)
	part := make([]float64, len(dst))
	with := func(error float64) float64 { // dst with the part, which has that error
		linalg.Axpy(dst, 1, part)
		at.Terms = d.terms(direct, linalg.Norm(part))
		return error + tolerance.FewRoundings*linalg.Norm(dst)
	}
	if p.Facts.QuadraticInY {
		// y_t is a straight line. Along it grad_x g is affine where the Hessian
		// in y does not move with x, and quadratic where it does: a forward
		// difference is exact for the one, a central difference for the other.
		difference := d.central
		if p.Facts.FixedHessian {
			difference = d.forward
		}
		// The step is also as long as y would move if nothing held it, which sets the
		// scale where y is at a bound of 0.
		t := d.stepFor(scale, force)
		must.Get(difference(ctx, part, t+d.held/d.slope))
		return with(d.noise(linalg.Norm(part))), nil
	}
	off, size := d.linear(ctx, part)
	switch {
	case off <= tolerance.Target*size:
		return with(off), nil
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	}
	truncation := must.Get(o.extrapolate(ctx, part, d, d.stepFor(o.Settings.Reach*scale, force), scale))
	return with(truncation + d.noise(linalg.Norm(part))), nil
}

// extrapolate sets v to the central difference at t, or at order 4 to
// Richardson's extrapolation from t and t/2, and estimates the truncation error.
// Where y moves much more than asked for (an ill-conditioned g), where the error at
// order 2 is not small, or where the derivative of y has a defect, the step is
// reduced: by 8 while the difference is of y's way, by 64 where g is curved on a length
// that is far below the step; and one that is lost in the rounding of y is followed by one
// between it and the last that was too long. The best of the steps is kept.
func (o *Face) extrapolate(ctx context.Context, v []float64, d *differences, t, scale float64) (float64, error) {
	reach := o.Settings.Reach * scale
	whole, half, best := make([]float64, len(v)), make([]float64, len(v)), math.Inf(1)
	truncation, kept := math.Inf(1), *d
	long := math.Inf(1) // the last step that was reduced
	shorter := func(by float64) {
		long = t
		t /= by
	}
	better := func(by float64, now []float64) bool {
		total := by + d.noise(linalg.Norm(now))
		if !(total < best) {
			return false
		}
		best, truncation, kept = total, by, *d
		copy(v, now)
		return true
	}
	for attempt := 1; attempt <= tolerance.Halvings; attempt++ {
		d.force = 0
		speed, err := d.central(ctx, whole, t)
		if errors.As(err, new(*LowerError)) && attempt < tolerance.Halvings { // y has no business that far away
			shorter(64)
			continue
		}
		if err != nil {
			return 0, err
		}
		if d.against() { // beyond the end of the domain of g, as on the other side of a pole
			d.anew()
			shorter(64)
			continue
		}
		if moved := speed * t; moved > 10*reach && attempt < tolerance.Halvings {
			shorter(moved / reach)
			continue
		}
		var off float64
		var improved, rough bool
		if o.Settings.Order < 4 {
			// The error is of the order of the square of the relative step.
			off, _ = d.defect(d.moved, t, scale)
			improved = better(linalg.Norm(whole)*math.Max(math.Pow(speed*t/scale, 2), off), whole)
		} else {
			first := d.moved
			if _, err = d.central(ctx, half, t/2); err != nil {
				return 0, err
			}
			change := linalg.Distance(whole, half) // three quarters of the error at t
			size := linalg.Norm(half)
			if size == 0 && !math.IsInf(d.noise(linalg.Norm(half)), 1) {
				copy(v, half)
				return 0, nil
			}
			whole = extrapolated(whole, half)
			var uncertain float64
			off, uncertain = d.defect(derivative{extrapolated(first.y, d.moved.y), extrapolated(first.lambda, d.moved.lambda)}, t/2, scale)
			// The next term of the expansion, if it falls like the first, as the equation of
			// the derivative confirms. Where rounding hides what that would show the next
			// term may be as large as the first.
			next := math.Max(change*relativeChange(first.y, d.moved.y), off*size)
			if uncertain > tolerance.Target {
				next = math.Max(next, math.Min(change, uncertain*size))
			}
			improved = better(next, whole)
			rough = change > math.Sqrt(tolerance.Target)*size || off > tolerance.Target || uncertain > tolerance.Target && next > tolerance.Target*size
		}
		switch {
		case math.IsInf(d.noise(linalg.Norm(whole)), 1) && speed*t < tolerance.HalfDigits*linalg.Norm(d.at.Lower.Y) && long < math.Inf(1):
			t = math.Sqrt(t) * math.Sqrt(long)
		case off > gross || math.IsInf(d.noise(linalg.Norm(whole)), 1):
			shorter(64)
		case rough && improved:
			shorter(8)
		default:
			attempt = tolerance.Halvings
		}
	}
	*d = kept
	return truncation, nil
}

// relativeChange is the relative change of a derivative of y from a step to half of it, in the
// entries that change: those on which g is quadratic, of any size, say nothing of how
// fast the expansion of the others falls.
func relativeChange(whole, half []float64) float64 {
	weighted, change := 0.0, 0.0
	for i, v := range half {
		if by := math.Abs(whole[i] - v); by > 0 {
			weighted += by * math.Min(1, by/math.Abs(v))
			change += by
		}
	}
	if change == 0 {
		return 0
	}
	return weighted / change
}
