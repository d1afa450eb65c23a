package certify

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/runtime/tolerance"
)

// Sensitivities of the lower level's solution on a face, and gradients of F by them.

// sensitivity is the gradient in x of c'(y(x), -lambda(x)) on the face of at,
// where c = (cy, cv), cv in the order of at.active: with the adjoint p, q of the
// KKT system,
//
//	H p + B_I' q = cy,  B_I p = cv:  gradient = -(d/dy grad_x g) p + A_I' q,
//
// the derivative of grad_x g along p being a central difference, and H the curvature at the point itself.
func (d *deriver) sensitivity(at *derived, cy, cv []float64, adjoint func() (p, q []float64, err error)) ([]float64, error) {
	if grad := d.byAnswers(at, cy, cv); grad != nil {
		return grad, nil
	}
	if err := d.here(at); err != nil {
		return nil, err
	}
	p, q, err := adjoint()
	if err != nil {
		return nil, err
	}
	grad, _, _, err := d.products(at.x, at.y, p)
	if err != nil {
		return nil, err
	}
	grad = scaled(grad, -1)
	for k, i := range at.active {
		d.p.Rows.A.AddRow(grad, i, q[k])
	}
	return grad, nil
}

// here takes the curvature of g at the point itself for the system of its face, where that at hand is of a point near by.
func (d *deriver) here(at *derived) error {
	near := d.near
	if near == nil || !near.direct() || d.p.Facts.QuadraticInY && d.p.Facts.FixedHessian || slices.Equal(near.x, at.x) && slices.Equal(near.y, at.y) {
		return nil
	}
	h, err := d.curvature(at.x, at.y, true)
	if err != nil {
		return err
	}
	at.system, err = h.system(at.face)
	if err == nil && !slices.Equal(at.system.index, at.active) {
		err = errFace
	}
	return err
}

// gradient is the gradient of F on the face of at, with the penalty of the coupled
// constraints where the deriver has weights for them.
func (d *deriver) gradient(at *derived) ([]float64, error) {
	if d.coupling == nil {
		return d.gradientSigned(at, nil)
	}
	return d.gradientSigned(at, d.signed(at))
}

// gradientSigned is the gradient of F + signs'c on the face of at.
func (d *deriver) gradientSigned(at *derived, signs []float64) ([]float64, error) {
	fx, adjointGradient := gradXY(d.f, at.x, d.p.Signed(signs).Answer(at.y, at.lambda))
	if !isFinite(fx) || !isFinite(adjointGradient) {
		return nil, errors.New("the gradient of F is not finite")
	}
	rows := make([]float64, len(at.active)) // of multipliers that f reads
	for k, i := range at.active {
		for t, j := range d.p.Duals {
			if i == j {
				rows[k] -= adjointGradient[d.p.Dy+t]
			}
		}
	}
	inY := adjointGradient[:d.p.Dy]
	grad, err := d.sensitivity(at, inY, rows, func() (p, q []float64, err error) { return at.system.solve(inY, rows) })
	if err != nil {
		return nil, err
	}
	if grad = moved(grad, 1, fx); !isFinite(grad) {
		return nil, errors.New("the gradient of F is not finite")
	}
	return grad, nil
}

// byAnswers is sensitivity where the curvatures of g are so far apart: by differences of answers on
// the face of at, which are known to rounding, in each entry of x. Where g is quadratic in (x, y)
// they are exact over any step; nil where two steps show that it is not, or they are not to be had.
func (d *deriver) byAnswers(at *derived, cy, cv []float64) []float64 {
	// Where curvatures of g are further apart than 1/HalfDigits gradients of g along a steep direction, where y is a double, are off by more than the
	// tolerances allow along a flat one.
	if !d.p.Facts.QuadraticInY || d.near == nil || !(d.near.largest() > 1/tolerance.HalfDigits*at.system.least()) {
		return nil
	}
	size := 0.0
	value := func(j int, to float64) (float64, bool) {
		x := append([]float64(nil), at.x...)
		x[j] = to
		there, err := d.onFace(x, at.y, at.face)
		if err != nil {
			return 0, false
		}
		sum := floats.Dot(cy, there.y)
		for k, i := range at.active {
			sum -= cv[k] * there.lambda[i]
		}
		size = math.Max(size, math.Abs(sum))
		return sum, true
	}
	grad := make([]float64, d.p.Dx)
	for j := range grad {
		quotient := func(step float64) (float64, bool) {
			up, down := math.Min(at.x[j]+step, d.p.X.Hi[j]), math.Max(at.x[j]-step, d.p.X.Lo[j])
			if up == down {
				up, down = at.x[j]+step, at.x[j]-step
			}
			a, ok := value(j, up)
			b, also := value(j, down)
			return (a - b) / (up - down), ok && also
		}
		step := shares[1] * d.s.width[j]
		if step == 0 {
			step = shares[1] * d.s.x
		}
		long, ok := quotient(step)
		short, also := quotient(step / 2)
		if !ok || !also || math.Abs(long-short) > tolerance.Weak*math.Max(math.Abs(short), size/d.s.x) {
			return nil
		}
		grad[j] = short
	}
	return grad
}
