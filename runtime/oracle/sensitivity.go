package oracle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Sensitivity is how the follower's answer (y*, lambda*) moves with x at one point:
// the one place where its derivatives are made, from gradients of g alone. Forward
// multiplies by the Jacobian, Reverse by its transpose. Both solve the lower level
// on the face of its active rows, perturbed: the KKT matrix of the face is
// symmetric, so that the derivative along a direction is the answer to an adjoint right-hand side, too
// (see adjointRHS and Face).
//
// Where every row is decided (Point.Strict), the answer is differentiable. At a kink
// Forward is the one-sided derivative along the direction it is given, which is not
// linear in it, and Reverse is of the piece that Point.Face names, which may be none
// that the answer has near x. A row that is within the errors of y and lambda counts
// as being at its kink.
//
// A Sensitivity belongs to its Hyper, and is not safe for concurrent use either.
type Sensitivity struct {
	// Undecided are the rows of the lower level, ascending, that may change their
	// state at the point; none where the answer is differentiable.
	Undecided []int

	at   *At
	grad []float64   // grad_x f; nil until Forward asks for it
	rhs  *adjointRHS // grad of f in the answer
}

// Tangent is the derivative of the follower's answer along a direction dx, and of F
// without its penalty of coupled constraints.
type Tangent struct {
	Y, Lambda []float64 // len Dy, m
	F         float64
	// ErrorY, ErrorLambda are estimates of the errors in the Euclidean norm.
	ErrorY, ErrorLambda float64
	// Face is the rows that hold on the way, ascending.
	Face []int
}

// KinkError says that the follower's answer has no derivative that could be given at
// a point. Rows name those that meet there.
type KinkError struct {
	Rows   []string
	Reason string
}

func (e *KinkError) Error() string {
	return "the follower's answer is not differentiable at this x: " + strings.Join(e.Rows, ", ") + ": " + e.Reason
}

// Sensitivity readies the derivatives at a point that Value or Gradient has made.
func (h *Hyper) Sensitivity(ctx context.Context, pt *Point) (_ *Sensitivity, err error) {
	defer must.Catch(&err)
	at := h.at(pt.X, pt.Lower, pt.Face)
	at.Problem = h.p.Signed(nil)
	s := &Sensitivity{at: at}
	s.Undecided = append(s.Undecided, each.Where(pt.Undecided, func(i int) bool { return i < h.p.Rows.Len() })...)
	if len(s.Undecided) > 0 { // which are known to within their errors only
		on := must.Get(h.onFace(ctx, at))
		at.Lower = cmp.Or(on, at.Lower)
	}
	return s, nil
}

// Reverse sets dst (len Dx) to (dy*/dx)'dy + (dlambda*/dx)'dlambda and returns an
// estimate of its error in the Euclidean norm. dy is len Dy; dlambda len m, or nil.
// At a kink it returns a *KinkError beside the product for one piece.
func (s *Sensitivity) Reverse(ctx context.Context, dst, dy, dlambda []float64) (float64, error) {
	clear(dst)
	v := &adjointRHS{q: slices.Clone(dy)}
	if slices.ContainsFunc(dlambda, func(t float64) bool { return t != 0 }) {
		v.w = slices.Clone(dlambda)
	}
	e, err := (&Face{Settings: *DefaultFace()}).add(ctx, dst, s.at, v)
	if err == nil && len(s.Undecided) > 0 {
		err = s.kink(s.Undecided, "rows with neither slack nor multiplier; the product is of one of the pieces that meet")
	}
	return e, err
}

// Forward is the derivative along dx (len Dx), one-sided at a kink. A *KinkError says
// that there is none: that no y is feasible on that side, or that rows which depend on
// each other leave the multipliers open.
func (s *Sensitivity) Forward(ctx context.Context, dx []float64) (_ *Tangent, err error) {
	defer must.Catch(&err)
	cross, crossError := s.cross(dx)
	if math.IsInf(crossError, 1) {
		return nil, &LowerError{Status: lower.Failed, Reason: "the gradient of g is not finite next to this x"}
	}
	rates := each.Below(s.at.Problem.Rows.Len(), func(i int) float64 { return s.at.Problem.Rows.A.RowDot(i, dx) })
	// At a kink the rows that hold on the way solve a linear complementarity problem,
	// whose matrix is positive definite as the face's rows are independent. Changing
	// the violated row of least index then ends (Murty 1974).
	held := slices.Clone(s.at.held())
	for range murty(len(s.Undecided)) {
		t := must.Get(s.along(ctx, held, cross, crossError, rates))
		i := s.violated(t, rates)
		if i < 0 {
			s.finish(t, dx)
			return t, nil
		}
		if k, on := slices.BinarySearch(held, i); on {
			held = slices.Delete(slices.Clone(held), k, k+1)
		} else {
			held = slices.Insert(slices.Clone(held), k, i)
		}
	}
	return nil, s.kink(s.Undecided, "no choice of rows is consistent along this direction")
}

// murty bounds the changes: exponential in theory, about as many as there are rows in
// practice.
func murty(rows int) int {
	if rows <= 8 {
		return 1 << rows
	}
	return 32 * rows
}

// along is the derivative on the face of some rows.
func (s *Sensitivity) along(ctx context.Context, held []int, cross []float64, crossError float64, rates []float64) (*Tangent, error) {
	at, p := *s.at, s.at.Problem
	at.Face = held
	t := &Tangent{Y: make([]float64, p.Dy), Lambda: make([]float64, p.Rows.Len()), Face: held}
	v := &adjointRHS{q: cross, w: make([]float64, len(rates))}
	for _, i := range held {
		v.w[i] = rates[i]
	}
	force := v.force(p, held)
	d := &differences{at: &at, rhs: v, face: lower.NewFaceSolver(), slope: linalg.Norm(force), read: answerOf}
	defer d.face.Release()
	if d.slope == 0 {
		return t, nil
	}
	if r := d.face.Rates(ctx, p, at.X, held, at.Lower, cross, v.w, 0); r != nil {
		off := r.Left / d.slope
		if r.Before > 0 {
			off = math.Max(off, linalg.Norm(r.Change)/r.Before*r.Left/math.Max(linalg.Norm(r.Y), math.SmallestNonzeroFloat64))
		}
		if off <= tolerance.Target {
			off += crossError / d.slope
			t.Y, t.ErrorY, t.ErrorLambda = r.Y, off*linalg.Norm(r.Y), off*linalg.Norm(r.Lambda)
			for _, i := range held { // others have none
				t.Lambda[i] = r.Lambda[i]
			}
			return t, nil
		}
	}
	d.perturb = d.tilt
	scale := at.size()
	reach := scale
	if !p.Facts.QuadraticInY {
		reach *= DefaultFace().Reach
	}
	// Of the force, the tilt is one of g's gradient and the rest a way of y: in one
	// unit both say how far y is about to move.
	step := d.stepFor(reach, force)
	curvature := step * d.slope / reach
	tilt := linalg.Norm(cross)
	way := linalg.Distance(force, cross)
	d.slope = tilt + curvature*way
	step = reach * curvature / d.slope
	part := make([]float64, p.Dy+p.Rows.Len())
	speed, err := 0.0, error(nil)
	for range tolerance.Halvings {
		d.force = 0
		speed, err = d.forward(ctx, part, step)
		if failed, ok := errors.AsType[*LowerError](err); ok && failed.Status == lower.Failed && !p.Facts.QuadraticInY {
			step /= tolerance.Shorten // out of the domain of g
			continue
		}
		if err != nil {
			return nil, s.contradicted(err, held)
		}
		moved := speed * step
		if moved == 0 || moved > reach/tolerance.Shorten && (moved < tolerance.Shorten*reach || p.Facts.QuadraticInY) {
			break
		}
		step *= math.Min(math.Max(reach/moved, 1e-6), 1e6)
	}
	if err != nil {
		return nil, err
	}
	truncation := 0.0
	if !p.Facts.QuadraticInY && speed > 0 {
		if truncation, err = (&Face{Settings: *DefaultFace()}).extrapolate(ctx, part, d, step, scale); err != nil {
			return nil, s.contradicted(err, held)
		}
	}
	copy(t.Y, part[:p.Dy])
	for _, i := range held { // others have none, and rounding would make some
		t.Lambda[i] = part[p.Dy+i]
	}
	relative := (truncation+d.noise(linalg.Norm(part)))/math.Max(linalg.Norm(part), math.SmallestNonzeroFloat64) + crossError/d.slope
	t.ErrorY, t.ErrorLambda = relative*linalg.Norm(t.Y), relative*linalg.Norm(t.Lambda)
	return t, nil
}

// answerOf is the follower's answer as what is differenced.
func answerOf(dst []float64, _ *At, y, lambda []float64) float64 {
	copy(dst, y)
	copy(dst[len(y):], lambda)
	return linalg.Norm(dst)
}

// contradicted turns rows that cannot move together into the kink that they make.
func (s *Sensitivity) contradicted(err error, held []int) error {
	var failed *LowerError
	if errors.As(err, new(*InfeasibleError)) || errors.As(err, &failed) && failed.Status == lower.Dependent {
		return s.kink(held, "these rows depend on each other, and do not move together with x")
	}
	return err
}

// violated is the undecided row of least index whose state the derivative
// contradicts: one that holds and whose multiplier falls, or one that does not and is
// crossed, by more than the errors; -1 where there is none.
func (s *Sensitivity) violated(t *Tangent, rates []float64) int {
	rows := s.at.Problem.Rows
	for _, i := range s.Undecided {
		if rows.Kind[i] == problem.Equal {
			continue
		}
		if _, on := slices.BinarySearch(t.Face, i); on {
			if t.Lambda[i] < -tolerance.Margin*t.ErrorLambda {
				return i
			}
			continue
		}
		crossed := rates[i] - rows.B.RowDot(i, t.Y)
		size := linalg.RowNorm(rows.B, i)
		if crossed > tolerance.Margin*(size*t.ErrorY+tolerance.SumRounding*(math.Abs(rates[i])+size*linalg.Norm(t.Y))) {
			return i
		}
	}
	return -1
}

// finish adds the derivative of F.
func (s *Sensitivity) finish(t *Tangent, dx []float64) {
	if s.grad == nil {
		s.grad = make([]float64, s.at.Problem.Dx)
		s.rhs = newAdjointRHS(s.grad, s.at)
	}
	t.F = linalg.Dot(s.grad, dx) + linalg.Dot(s.rhs.q, t.Y)
	if s.rhs.w != nil {
		t.F += linalg.Dot(s.rhs.w, t.Lambda)
	}
}

// kink is the error that names rows.
func (s *Sensitivity) kink(rows []int, reason string) *KinkError {
	e := &KinkError{Reason: reason}
	for k, i := range rows {
		if k == tolerance.MostNamed {
			e.Rows = append(e.Rows, fmt.Sprintf("%d more", len(rows)-tolerance.MostNamed))
			break
		}
		e.Rows = append(e.Rows, s.at.Problem.Rows.RowName(i))
	}
	return e
}

// cross is d/dt grad_y g(x + t dx, y*) at 0, len Dy, by extrapolation of differences
// to step 0 (Ridders 1982), with an estimate of its error. Steps stay within the
// bounds of X: where x is at one, the difference is over one side.
func (s *Sensitivity) cross(dx []float64) (v []float64, err float64) {
	p, x, y := s.at.Problem, s.at.X, s.at.Lower.Y
	n := len(y)
	v = make([]float64, n)
	size, speed := 0.0, 0.0
	forward, backward := math.Inf(1), math.Inf(1) // how far t may go
	for j, d := range dx {
		if d == 0 {
			continue
		}
		speed = math.Max(speed, math.Abs(d))
		size = math.Max(size, math.Abs(x[j]))
		up, down := (p.X.Hi[j]-x[j])/math.Abs(d), (x[j]-p.X.Lo[j])/math.Abs(d)
		if d < 0 {
			up, down = down, up
		}
		forward, backward = math.Min(forward, up), math.Min(backward, down)
		if width := p.X.Hi[j] - p.X.Lo[j]; width > 0 && !math.IsInf(width, 1) {
			size = math.Max(size, width/2)
		}
	}
	if speed == 0 {
		return v, 0
	}
	if size == 0 {
		size = 1
	}
	step := size / speed / tolerance.Shorten // rounding is far below
	central := math.Min(forward, backward) >= step*0x1p-10
	side := 1.0
	switch {
	case central:
		step = math.Min(step, math.Min(forward, backward))
	case math.Max(forward, backward) < step*0x1p-10: // X leaves no room: g goes on outside
		central = true
	case forward >= backward:
		step = math.Min(step, forward)
	default:
		step, side = math.Min(step, backward), -1
	}
	z := make([]float64, len(x))
	grad := func(dst []float64, t float64) {
		copy(z, x)
		linalg.Axpy(z, side*t, dx)
		p.G.GradY(dst, z, y)
	}
	err = linalg.Derivative(v, grad, step, 0, central)
	floats.Scale(side, v)
	return v, err
}
